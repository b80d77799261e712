// @ts-check
// Logarithmic axes: from values to pixels, and where the ticks are.

/** @type {(values: Span, pixels: Span) => Scale} */
export function logScale([low, high], [from, to]) {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  /** @type {Scale} */
  const scale = (value) => from + ((Math.log10(value) - a) / (b - a)) * (to - from);
  scale.low = low;
  scale.high = high;
  return scale;
}

// Powers of ten within a stretch; with 2 and 5 between them where there are few.
/** @type {(values: Span) => number[]} */
export function ticksOf([low, high]) {
  /** @type {number[]} */
  const whole = [];
  /** @type {number[]} */
  const between = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p += 1) {
    for (const m of [1, 2, 5]) {
      const value = m * 10 ** p;
      if (value < low * 0.999 || value > high * 1.001) continue;
      (m === 1 ? whole : between).push(Number(value.toPrecision(1)));
    }
  }
  return whole.length >= 3 ? whole : [...whole, ...between].sort((a, b) => a - b);
}
