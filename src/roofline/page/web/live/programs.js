// @ts-check
// What a team of WebAssembly threads runs: probes of the roof, and the decode step.
//
// A program is called on every thread with the same options and meets the others at barriers;
// the first thread's result is the result.

import { FACTOR } from "./kernels.js";
import { gains, tokenOf, turn } from "./numbers.js";
import { another } from "./sampling.js";
import { CACHE_SCALE, HEAD_SEED, matrices, NORM_SEED, scaleOf, seedOf } from "./shape.js";

const now = () => performance.now() / 1000;

// Runs `once` again and again, limits.turns times a window; seconds of a turn, one number a
// window, as the first thread sees it.
/** @type {(t: Thread, limits: Limits, once: () => void) => number[]} */
function windows(t, limits, once) {
  const { turns = 1 } = limits;
  const seconds = [];
  const start = now();
  while (t.decide(() => !t.stopped && another(seconds.length, now() - start, limits))) {
    const before = now();
    for (let i = 0; i < turns; i++) {
      once();
      t.barrier();
    }
    seconds.push((now() - before) / turns);
  }
  return seconds;
}

// Reads `bytes` at `at`, each thread its part. {seconds, bytes, correct}
/** @type {(t: Thread, job: { at: number, bytes: number, limits: Limits }) => Timed} */
function readMemory(t, { at, bytes, limits }) {
  const each = Math.floor(bytes / t.count / 4096) * 4096;
  const from = at + t.index * each;
  const first = (t.index * each) / 4;
  t.kernels.count(from, each / 4, first);
  const n = BigInt(each / 4);
  const sum = BigInt(FACTOR) * (n * BigInt(first) + (n * (n - 1n)) / 2n);
  const expected = Number(BigInt.asUintN(32, sum));
  t.kernels.read(from, each); // once unmeasured: pages mapped, code compiled
  let correct = true;
  const seconds = windows(t, limits, () => {
    correct &&= t.kernels.read(from, each) >>> 0 === expected;
  });
  t.words[at / 4] = 1;
  t.barrier();
  if (!correct) t.words[at / 4] = 0;
  t.barrier();
  return { seconds, flops: 0, bytes: each * t.count, correct: t.words[at / 4] === 1 };
}

// Products of X (rows × k) with W (k × k, held in cache), each thread its own.
/** @type {(t: Thread, job: MultiplyJob) => Timed} */
function multiply(t, { at, rows, k, products, limits }) {
  const x = at + t.index * 4 * k * (k + 2 * rows);
  const w = x + 4 * k * rows;
  const y = w + 4 * k * k;
  t.kernels.fill(x, rows * k, 0, 1, 1);
  t.kernels.fill(w, k * k, 0, 2, 1);
  /** @type {(n: number) => void} */
  const go = (n) => t.kernels.repeat(n, x, 4 * k, rows, w, 4 * k, k, k, y, 4 * k);
  go(1);
  let correct = true;
  for (const [b, o] of [
    [0, 0],
    [rows - 1, k - 1],
    [rows >> 1, 7],
  ]) {
    let sum = 0;
    for (let i = 0; i < k; i++) sum += t.floats[x / 4 + b * k + i] * t.floats[w / 4 + o * k + i];
    correct &&= Math.abs(t.floats[y / 4 + b * k + o] - sum) < 1e-3 * Math.sqrt(k);
  }
  const seconds = windows(t, limits, () => go(products));
  return { seconds, flops: 2 * rows * k * k * products * t.count, bytes: 0, correct };
}

/** @type {MatrixName[]} */
const MATRICES = ["qkv", "out", "gate_up", "down"];
const NORMS = /** @type {const} */ (["norm_in", "norm_mid"]);
const BLOCK = 16; // sequences that pass through the weights together
const PANEL = 128 << 10; // bytes of weights that a cache keeps meanwhile
/** @type {(n: number) => number} */
const align = (n) => Math.ceil(n / 64) * 64;
/** @type {(context: number) => number} */
export const padded = (context) => Math.ceil(context / 8) * 8;

// Where everything of a step lies in memory, from `at` on; `end` is the first byte after it.
/** @type {(s: Shape, layers: number, batch: number, context: number, threads: number,
 *   at: number) => Places} */
export function layout(s, layers, batch, context, threads, at) {
  let end = at;
  /** @type {(floats: number) => number} */
  const take = (floats) => {
    const here = end;
    end = align(end + 4 * floats);
    return here;
  };
  const m = matrices(s);
  const rows = padded(context);
  const own = s.heads / s.kv_heads;
  const places = {
    turn: take(s.width),
    norm: take(s.hidden),
    x: take(batch * s.hidden),
    qkv: take(batch * m.qkv[0]),
    attended: take(batch * s.heads * s.width),
    inner: take(batch * 2 * s.middle),
    logits: take(batch * s.vocab),
    normed: Array.from({ length: threads }, () => take(batch * s.hidden)),
    scores: Array.from({ length: threads }, () => take(own * rows)),
    head: take(s.vocab * s.hidden),
  };
  /** @type {(size: Dims) => number} */
  const matrix = ([r, c]) => take(r * c);
  /** @type {LayerPlaces[]} */
  const each = Array.from({ length: layers }, () => ({
    qkv: matrix(m.qkv),
    out: matrix(m.out),
    gate_up: matrix(m.gate_up),
    down: matrix(m.down),
    norm_in: take(s.hidden),
    norm_mid: take(s.hidden),
    k: take(batch * s.kv_heads * context * s.width),
    v: take(batch * s.kv_heads * s.width * rows),
  }));
  return { ...places, layers: each, end };
}

// Writes weights, cache and tables of a step.
/** @type {(t: Thread, job: StepJob) => number} */
function prepare(t, { s, layers, batch, context, at }) {
  const p = layout(s, layers, batch, context, t.count, at);
  const m = matrices(s);
  /** @type {(to: number, size: Dims, seed: number, scale: number) => void} */
  const matrix = (to, [rows, columns], seed, scale) => {
    const [from, until] = t.part(rows);
    const here = to + 4 * from * columns;
    t.kernels.fill(here, (until - from) * columns, from * columns, seed, scale);
  };
  const [first, last] = t.part(batch * s.kv_heads);
  for (let layer = 0; layer < layers; layer++) {
    const of = p.layers[layer];
    for (const name of MATRICES) {
      matrix(of[name], m[name], seedOf(layer, name), scaleOf(s, layers, name));
    }
    matrix(of.k, [batch * s.kv_heads, context * s.width], seedOf(layer, "k"), CACHE_SCALE);
    for (let row = first * s.width; row < last * s.width; row++) {
      const to = of.v + 4 * row * padded(context);
      t.kernels.fill(to, context, row * context, seedOf(layer, "v"), CACHE_SCALE);
      // Beyond the context weights are 0, but 0 · NaN is none.
      t.floats.fill(0, to / 4 + context, to / 4 + padded(context));
    }
    if (t.index === 0) {
      for (const name of NORMS) {
        t.floats.set(gains(s.hidden, seedOf(layer, name)), of[name] / 4);
      }
    }
  }
  matrix(p.head, [s.vocab, s.hidden], HEAD_SEED, scaleOf(s, layers, "head"));
  if (t.index === 0) {
    t.floats.set(turn(context - 1, s.width, s.theta), p.turn / 4);
    t.floats.set(gains(s.hidden, NORM_SEED), p.norm / 4);
  }
  t.barrier();
  return p.end;
}

// One step of `batch` sequences, each with one new token. Threads share the rows of every
// matrix, so that each weight is read once for the whole batch, and the sequences' caches.
/** @type {(t: Thread, s: Shape, p: Places, layers: number, batch: number, context: number) =>
 *   boolean} */
function step(t, s, p, layers, batch, context) {
  const { kernels } = t;
  const { hidden, width, heads, kv_heads: groups, middle, vocab, epsilon } = s;
  const normed = p.normed[t.index];
  const columns = (heads + 2 * groups) * width;
  // x, y: [address, numbers a row]; rows [from, to) of w, `k` numbers each. Large batches pass in
  // blocks through panels of weights small enough for a cache: from memory each comes once.
  /** @type {(x: View2, w: number, k: number, from: number, to: number, y: View2, add: number) =>
   *   void} */
  const rows = (x, w, k, from, to, y, add) => {
    const panel = batch > BLOCK ? 4 * Math.max(1, Math.floor(PANEL / (16 * k))) : to - from;
    for (let row = from; row < to; row += panel) {
      for (let b = 0; b < batch; b += BLOCK) {
        kernels.product(
          ...[x[0] + 4 * b * x[1], 4 * x[1], Math.min(BLOCK, batch - b)],
          ...[w + 4 * row * k, 4 * k, Math.min(panel, to - row), k],
          ...[y[0] + 4 * (b * y[1] + row), 4 * y[1], add],
        );
      }
    }
  };
  /** @type {(x: View2, w: number, k: number, n: number, y: View2, add: number) => void} */
  const product = (x, w, k, n, y, add) =>
    t.share(n, 4, (from, to) => rows(x, w, k, from, to, y, add));
  /** @type {(gain: number) => void} */
  const norm = (gain) => {
    for (let b = 0; b < batch; b++) {
      kernels.norm(p.x + 4 * b * hidden, gain, normed + 4 * b * hidden, hidden, epsilon);
    }
  };
  /** @type {View2} */
  const x = [p.x, hidden];
  for (let b = 0; b < batch; b++) {
    if (b % t.count === t.index) {
      const from = p.head / 4 + tokenOf(b, vocab) * hidden;
      t.floats.copyWithin(p.x / 4 + b * hidden, from, from + hidden);
    }
  }
  t.barrier();
  for (let layer = 0; layer < layers; layer++) {
    const of = p.layers[layer];
    norm(of.norm_in);
    product([normed, hidden], of.qkv, hidden, columns, [p.qkv, columns], 0);
    if (!t.decide(() => !t.stopped)) return false;
    t.share(batch * groups, 1, (first, last) => {
      for (let at = first; at < last; at++) attend(t, s, p, of, at, context);
    });
    t.barrier();
    product([p.attended, heads * width], of.out, heads * width, hidden, x, 1);
    t.barrier();
    norm(of.norm_mid);
    /** @type {View2} */
    const y = [p.inner, 2 * middle];
    t.share(middle, 4, (from, to) => {
      rows([normed, hidden], of.gate_up, hidden, from, to, y, 0);
      rows([normed, hidden], of.gate_up, hidden, middle + from, middle + to, y, 0);
      for (let b = 0; b < batch; b++) {
        const a = p.inner + 4 * (2 * b * middle + from);
        kernels.gate(a, a + 4 * middle, to - from);
      }
    });
    t.barrier();
    product(y, of.down, middle, hidden, x, 1);
    t.barrier();
  }
  norm(p.norm);
  product([normed, hidden], p.head, hidden, vocab, [p.logits, vocab], 0);
  t.barrier();
  return true;
}

// Attention of one sequence's group of heads: rotate, append to the cache, score every entry,
// weigh, sum. Values lie transposed, so that both products run along rows.
/** @type {(t: Thread, s: Shape, p: Places, of: LayerPlaces, at: number, context: number) =>
 *   void} */
function attend(t, s, p, of, at, context) {
  const { kernels } = t;
  const { width, heads, kv_heads: groups } = s;
  const [b, g] = [Math.floor(at / groups), at % groups];
  const own = heads / groups;
  const row = p.qkv + 4 * b * (heads + 2 * groups) * width;
  const q = row + 4 * g * own * width;
  const k = row + 4 * (heads + g) * width;
  const v = row + 4 * (heads + groups + g) * width;
  const [keys, values] = [of.k + 4 * at * context * width, of.v + 4 * at * width * padded(context)];
  const [wide, n] = [4 * width, padded(context)];
  const scores = p.scores[t.index];
  kernels.rotate(q, own, width, p.turn);
  kernels.rotate(k, 1, width, p.turn);
  kernels.scatter(k, keys + wide * (context - 1), width, 4);
  kernels.scatter(v, values + 4 * (context - 1), width, 4 * n);
  kernels.product(q, wide, own, keys, wide, context, width, scores, 4 * n, 0);
  for (let h = 0; h < own; h++) {
    kernels.softmax(scores + 4 * h * n, context, n, 1 / Math.sqrt(width));
  }
  const out = p.attended + 4 * (b * heads + g * own) * width;
  kernels.product(scores, 4 * n, own, values, 4 * n, width, n, out, wide, 0);
}

// Times whole steps: seconds of those that were finished.
/** @type {(t: Thread, job: DecodeJob) => Timed} */
function decode(t, { s, layers, batch, most, context, at, limits }) {
  const p = layout(s, layers, most, context, t.count, at);
  let finished = step(t, s, p, layers, batch, context); // once unmeasured
  const seconds = finished
    ? windows(t, limits, () => {
        finished = step(t, s, p, layers, batch, context);
      })
    : [];
  return { seconds: finished ? seconds : seconds.slice(0, -1), flops: 0, bytes: 0, correct: true };
}

// One step; its logits, one array a sequence.
/** @type {(t: Thread, job: Omit<DecodeJob, "limits">) => Float32Array[]} */
function evaluate(t, { s, layers, batch, most, context, at }) {
  const p = layout(s, layers, most, context, t.count, at);
  step(t, s, p, layers, batch, context);
  return Array.from({ length: batch }, (_, b) =>
    t.floats.slice(p.logits / 4 + b * s.vocab, p.logits / 4 + (b + 1) * s.vocab),
  );
}

export const programs = { readMemory, multiply, prepare, decode, evaluate };
