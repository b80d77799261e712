// @ts-check
// Numbers with units, for people: the same rules as roofline/units.py.

/** @type {[factor: number, prefix: string][]} */
const PREFIXES = [
  [1e18, "E"],
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
/** @type {[factor: number, prefix: string][]} */
const SMALL = [
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];

// Significant figures, exact halves to even as Python rounds them.
/** @type {(value: number, figures: number) => string} */
function figuresOf(value, figures) {
  const text = value.toPrecision(figures);
  const places = figures - 1 - Math.floor(Math.log10(Math.abs(value)));
  const over = (Math.abs(value) * 10 ** places) % 1;
  if (over < 0.499999 || over > 0.500001) return text; // far from a half
  if (
    String(value)
      .replace(/e.*|[^\d]/g, "")
      .replace(/^0+/, "").length <= figures
  )
    return text;
  const exact = value.toPrecision(100).replace(/e.*/, "").replace(/[^\d]/g, "").replace(/^0+/, "");
  if (!/^50*$/.test(exact.slice(figures)) || Number(exact[figures - 1]) % 2 === 1) return text;
  const scale = 10 ** (figures - 1 - Math.floor(Math.log10(Math.abs(value))));
  return (Math.trunc(value * scale) / scale).toPrecision(figures);
}

// A number to so many significant figures, never in powers of ten below 10^15.
/** @type {(value: number, figures?: number) => string} */
export function digits(value, figures = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value);
  const number = Number(figuresOf(value, figures));
  const size = Math.abs(number);
  if (size >= 1e15 || size < 1e-6) {
    return number.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  if (size >= 1) return String(number);
  return number.toFixed(figures + 5).replace(/0+$/, "");
}

// A number with the SI prefix that suits it: 3.35 TB/s.
/** @type {(value: number, unit: string, figures?: number) => string} */
export function si(value, unit, figures = 3) {
  const rounded = Math.abs(Number(value.toPrecision(figures)));
  for (const [factor, prefix] of PREFIXES) {
    if (rounded >= factor) return `${digits(value / factor, figures)} ${prefix}${unit}`;
  }
  return `${digits(value, figures)} ${unit}`;
}

// A time: 4.56 ms.
/** @type {(value: number) => string} */
export function seconds(value) {
  for (const [factor, prefix] of SMALL) {
    if (Number(Math.abs(value).toPrecision(3)) >= factor) {
      return `${digits(value / factor)} ${prefix}s`;
    }
  }
  return value ? `${digits(value / 1e-9)} ns` : "0 s";
}

// A share: whole per cents, one or two figures below ten.
/** @type {(fraction: number) => string} */
export function percent(fraction) {
  const value = 100 * fraction;
  return value >= 9.95 ? `${halfEven(value)} %` : `${digits(value, 2)} %`;
}

// A factor: 1.94×.
/** @type {(value: number) => string} */
export function gain(value) {
  if (value >= 10) return `${digits(value)}×`;
  // Only multiples of an eighth lie exactly between two hundredths.
  const exact = Number.isInteger(value * 8) ? halfEven(value * 100) / 100 : value;
  return `${exact.toFixed(2)}×`;
}

// The nearest whole number, halves to even as Python rounds them.
/** @type {(value: number) => number} */
export function halfEven(value) {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

// A whole number with its thousands set apart: 131,072.
/** @type {(value: number) => string} */
export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

// A tick of an axis: 0.5, 10, 1,000; or with a prefix: 100 T.
/** @type {(value: number, prefixed: boolean) => string} */
export function tick(value, prefixed) {
  if (prefixed) return si(value, "", 2).trim();
  return value >= 1 ? count(Number(value.toPrecision(2))) : String(Number(value.toPrecision(2)));
}

// The value of a figure, or of one that is only a number.
/** @type {(figure: Figure | number) => number} */
export const numberOf = (figure) => (typeof figure === "object" ? figure.value : figure);
