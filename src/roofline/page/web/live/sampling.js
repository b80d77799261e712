// @ts-check
// Many short windows rather than one long: best, median and spread.

/** @type {(values: number[]) => Summary} */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  /** @type {(q: number) => number} */
  const at = (q) => {
    const x = q * (sorted.length - 1);
    const low = Math.floor(x);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (x - low);
  };
  const median = at(0.5);
  return {
    ...{ least: sorted[0], most: sorted[sorted.length - 1], median, samples: sorted.length },
    spread: sorted.length > 1 ? (at(0.9) - at(0.1)) / 2 / median : null,
  };
}

// Whether to take another window: at least `least`, then until `seconds` are over, `most` at most.
/** @type {(taken: number, spent: number, limits: Limits) => boolean} */
export const another = (taken, spent, { least, most, seconds }) =>
  taken < least || (taken < most && spent < seconds);
