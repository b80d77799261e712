// @ts-check
// The same random numbers in JavaScript, WebAssembly, WGSL and Python: an integer hash of
// index and seed, its upper 24 bits as a number in [-1, 1).

/** @type {(index: number, seed: number) => number} */
export function hash(index, seed) {
  let x = (index + Math.imul(seed, 0x9e3779b9)) | 0;
  x ^= x >>> 16;
  x = Math.imul(x, 0x7feb352d);
  x ^= x >>> 15;
  x = Math.imul(x, 0x846ca68b);
  x ^= x >>> 16;
  return x >>> 0;
}

/** @type {(index: number, seed: number) => number} */
export const number = (index, seed) => (hash(index, seed) >>> 8) * 2 ** -23 - 1;

// As a 32-bit float times a 32-bit scale, which is what the kernels store.
/** @type {(index: number, seed: number, scale: number) => number} */
export const scaled = (index, seed, scale) => Math.fround(number(index, seed) * Math.fround(scale));

// Gains of a norm: near 1.
/** @type {(n: number, seed: number) => Float32Array<ArrayBuffer>} */
export const gains = (n, seed) =>
  Float32Array.from({ length: n }, (_, i) => 1 + number(i, seed) / 8);

// Which token a sequence feeds.
/** @type {(sequence: number, vocab: number) => number} */
export const tokenOf = (sequence, vocab) => (sequence * 7919 + 13) % vocab;

// Cosines, then sines, of one position for heads of width d.
/** @type {(position: number, d: number, theta: number) => Float32Array<ArrayBuffer>} */
export function turn(position, d, theta) {
  const half = d / 2;
  const angles = Array.from({ length: half }, (_, i) => position * theta ** ((-2 * i) / d));
  return Float32Array.from([...angles.map(Math.cos), ...angles.map(Math.sin)]);
}
