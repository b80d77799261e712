// @ts-check
// The decode step in plain JavaScript and double precision: what the kernels must agree with.
// Slow and short on purpose; the same as tests/page/live/reference.py, which is held against a
// real model class.

import { gains, scaled, tokenOf, turn } from "./numbers.js";
import { CACHE_SCALE, HEAD_SEED, matrices, NORM_SEED, scaleOf, seedOf } from "./shape.js";

/** @type {(size: Dims, seed: number, scale: number) => Tensor} */
const tensor = ([rows, columns], seed, scale) => ({
  row: (r) =>
    Float64Array.from({ length: columns }, (_, i) => scaled(r * columns + i, seed, scale)),
  rows,
});

/** @type {(a: Numbers, b: Numbers) => number} */
const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

/** @type {(x: Float64Array, gain: Numbers, epsilon: number) => Float64Array} */
function norm(x, gain, epsilon) {
  const scale = 1 / Math.sqrt(dot(x, x) / x.length + epsilon);
  return x.map((v, i) => v * scale * gain[i]);
}

// One row of weights at a time, for all sequences.
/** @type {(xs: Float64Array[], w: Tensor) => Float64Array[]} */
function times(xs, w) {
  const out = xs.map(() => new Float64Array(w.rows));
  for (let r = 0; r < w.rows; r++) {
    const row = w.row(r);
    xs.forEach((x, b) => {
      out[b][r] = dot(x, row);
    });
  }
  return out;
}

/** @type {(x: Float64Array, d: number, table: Numbers) => void} */
function rotate(x, d, table) {
  const half = d / 2;
  for (let h = 0; h < x.length; h += d) {
    for (let i = 0; i < half; i++) {
      const [a, b] = [x[h + i], x[h + half + i]];
      x[h + i] = a * table[i] - b * table[half + i];
      x[h + half + i] = b * table[i] + a * table[half + i];
    }
  }
}

// A sequence's attention over a cache of random entries, the last its own.
/** @type {(s: Shape, layer: number, b: number, context: number, qkv: Float64Array) =>
 *   Float64Array} */
function attend(s, layer, b, context, qkv) {
  const { heads, kv_heads: groups, width: d } = s;
  const own = heads / groups;
  const out = new Float64Array(heads * d);
  for (let g = 0; g < groups; g++) {
    const at = b * groups + g;
    /** @type {(t: number, i: number) => number} */
    const key = (t, i) =>
      t === context - 1
        ? qkv[(heads + g) * d + i]
        : scaled((at * context + t) * d + i, seedOf(layer, "k"), CACHE_SCALE);
    /** @type {(t: number, i: number) => number} */
    const value = (t, i) =>
      t === context - 1
        ? qkv[(heads + groups + g) * d + i]
        : scaled((at * d + i) * context + t, seedOf(layer, "v"), CACHE_SCALE);
    for (let h = g * own; h < (g + 1) * own; h++) {
      const weights = new Float64Array(context);
      for (let t = 0; t < context; t++) {
        for (let i = 0; i < d; i++) weights[t] += qkv[h * d + i] * key(t, i);
        weights[t] /= Math.sqrt(d);
      }
      const most = Math.max(...weights);
      const shares = weights.map((w) => Math.exp(w - most));
      const total = shares.reduce((n, w) => n + w, 0);
      for (let t = 0; t < context; t++) {
        for (let i = 0; i < d; i++) out[h * d + i] += (shares[t] / total) * value(t, i);
      }
    }
  }
  return out;
}

// Logits of a step: an array of vocab numbers for each sequence.
/** @type {(s: Shape, layers: number, batch: number, context: number) => Float64Array[]} */
export function plainStep(s, layers, batch, context) {
  const m = matrices(s);
  const head = tensor([s.vocab, s.hidden], HEAD_SEED, scaleOf(s, layers, "head"));
  const table = turn(context - 1, s.width, s.theta);
  const rotated = (s.heads + s.kv_heads) * s.width;
  /** @type {(xs: Float64Array[], ys: Float64Array[]) => void} */
  const add = (xs, ys) => xs.forEach((x, b) => x.forEach((_, i) => (x[i] += ys[b][i])));
  const xs = Array.from({ length: batch }, (_, b) => head.row(tokenOf(b, s.vocab)));
  for (let layer = 0; layer < layers; layer++) {
    /** @type {(name: MatrixName) => Tensor} */
    const of = (name) => tensor(m[name], seedOf(layer, name), scaleOf(s, layers, name));
    /** @type {(name: "norm_in" | "norm_mid") => Float64Array[]} */
    const normed = (name) => {
      const gain = gains(s.hidden, seedOf(layer, name));
      return xs.map((x) => norm(x, gain, s.epsilon));
    };
    const qkv = times(normed("norm_in"), of("qkv"));
    for (const row of qkv) rotate(row.subarray(0, rotated), s.width, table);
    add(
      xs,
      times(
        qkv.map((row, b) => attend(s, layer, b, context, row)),
        of("out"),
      ),
    );
    const inner = times(normed("norm_mid"), of("gate_up")).map((row) =>
      row.subarray(0, s.middle).map((v, i) => (v / (1 + Math.exp(-v))) * row[s.middle + i]),
    );
    add(xs, times(inner, of("down")));
  }
  const gain = gains(s.hidden, NORM_SEED);
  return times(
    xs.map((x) => norm(x, gain, s.epsilon)),
    head,
  );
}

// A shape small enough to evaluate plainly, with every awkward remainder in it.
export const SMALL = {
  ...{ id: "small", name: "small", hidden: 72, layers: 2, heads: 6, kv_heads: 2, width: 16 },
  ...{ middle: 88, vocab: 101, theta: 10000, epsilon: 1e-5 },
};

// The largest difference of two sets of logits, relative to the root mean square of the second.
/** @type {(found: Numbers[], expected: Numbers[]) => number} */
export function difference(found, expected) {
  let [worst, square, n] = [0, 0, 0];
  expected.forEach((row, b) => {
    for (let i = 0; i < row.length; i++) {
      const off = Math.abs(found[b][i] - row[i]);
      // biome-ignore lint/complexity/useMathMinMax: a NaN is the worst
      worst = off <= worst ? worst : off;
      square += row[i] ** 2;
      n += 1;
    }
  });
  return worst / Math.sqrt(square / n);
}
