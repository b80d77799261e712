// @ts-check
// A decode step's shape: which tensors it has, what they cost, and what fits.
//
// shape: {id, name, hidden, layers, heads, kv_heads, width, middle, vocab, theta, epsilon};
// a decoder with grouped-query attention and a gated MLP, as Llama has them. Weights and cache
// hold `size` bytes an element. Everything is per sequence and step; see roofline/step.py.

// Seeds of the random numbers: of a layer's tensors, and of those outside the layers.
/** @type {Record<string, number>} */
const SEED = { qkv: 0, out: 1, gate_up: 2, down: 3, k: 4, v: 5, norm_in: 6, norm_mid: 7 };
export const HEAD_SEED = 0x10000;
export const NORM_SEED = 0x10001;
/** @type {(layer: number, tensor: string) => number} */
export const seedOf = (layer, tensor) => layer * 8 + SEED[tensor];

// The matrices of one layer, [rows, columns] as stored, and the head.
/** @type {(s: Shape) => Record<MatrixName, Dims>} */
export function matrices(s) {
  const queries = s.heads * s.width;
  return {
    qkv: [queries + 2 * s.kv_heads * s.width, s.hidden],
    out: [s.hidden, queries],
    gate_up: [2 * s.middle, s.hidden],
    down: [s.hidden, s.middle],
  };
}

// Scales that keep every activation near 1.
/** @type {(s: Shape, layers: number, tensor: MatrixName | "head") => number} */
export function scaleOf(s, layers, tensor) {
  const columns = tensor === "head" ? s.hidden : matrices(s)[tensor][1];
  const residual = tensor === "out" || tensor === "down" ? 2 * layers : 1;
  return Math.fround(Math.sqrt(3 / columns / residual));
}
export const CACHE_SCALE = Math.fround(Math.sqrt(3));

/** @type {(size: Dims) => number} */
const elements = ([rows, columns]) => rows * columns;
/** @type {(s: Shape) => number} */
const layerElements = (s) => Object.values(matrices(s)).reduce((n, m) => n + elements(m), 0);
/** @type {(s: Shape) => number} */
const entry = (s) => 2 * s.kv_heads * s.width;

// Bytes of weights held and read in a step, of `layers` layers and the head.
/** @type {(s: Shape, layers: number, size: number) => number} */
export const weightBytes = (s, layers, size) =>
  size * (layers * layerElements(s) + s.vocab * s.hidden);

// Bytes of cache a sequence holds at a context.
/** @type {(s: Shape, layers: number, context: number, size: number) => number} */
export const cacheBytes = (s, layers, context, size) => size * layers * entry(s) * context;

// What a step costs, operator by operator: FLOPs (two a multiply-add of every product) and
// compulsory bytes, all layers together.
/** @type {(s: Shape, layers: number, batch: number, context: number, size: number) => Ledger[]} */
export function ledger(s, layers, batch, context, size) {
  const m = matrices(s);
  /** @type {(name: string, matrix: Dims, count: number) => Ledger} */
  const linear = (name, matrix, count) => ({
    name,
    flops: count * 2 * elements(matrix) * batch,
    weights: count * elements(matrix) * size,
    kv_read: 0,
    kv_write: 0,
  });
  return [
    linear("attention.qkv", m.qkv, layers),
    {
      name: "attention",
      flops: layers * 4 * s.heads * s.width * batch * context,
      weights: 0,
      kv_read: layers * entry(s) * size * batch * context,
      kv_write: layers * entry(s) * size * batch,
    },
    linear("attention.out", m.out, layers),
    linear("mlp.gate_up", m.gate_up, layers),
    linear("mlp.down", m.down, layers),
    linear("head", [s.vocab, s.hidden], 1),
  ];
}

/** @type {(rows: Ledger[]) => Totals} */
export function totals(rows) {
  /** @type {(key: "flops" | "weights" | "kv_read" | "kv_write") => number} */
  const sum = (key) => rows.reduce((n, row) => n + row[key], 0);
  const [flops, weights] = [sum("flops"), sum("weights")];
  const kv = sum("kv_read") + sum("kv_write");
  return { flops, weights, kv, bytes: weights + kv, intensity: flops / (weights + kv) };
}

// Bytes of activations of a step, all of them held at once.
/** @type {(s: Shape, batch: number) => number} */
export const activationBytes = (s, batch) =>
  4 * batch * (3 * s.hidden + (2 * s.heads + 2 * s.kv_heads) * s.width + 2 * s.middle + s.vocab);

// How many layers, and which batches, fit.
//
//   memory:  bytes for weights, cache and activations
//   flops:   FLOPs there is time for, a warm-up and three steps of every batch together
//   binding: bytes that one buffer may have (WebGPU), for weights and for cache
// Returns {layers, batches, reason}: reason tells why layers were cut ("memory", "time" or ""),
// layers 0 where not even one and batch 1 fit.
/** @type {(s: Shape, context: number, batches: number[], room: Room) => Plan} */
export function plan(
  s,
  context,
  batches,
  { memory, flops = Infinity, size = 4, binding = Infinity },
) {
  /** @type {(layers: number, batch: number) => number} */
  const heldFor = (layers, batch) =>
    weightBytes(s, layers, size) +
    batch * cacheBytes(s, layers, context, size) +
    activationBytes(s, batch);
  const largest = Math.max(...Object.values(matrices(s)).map(elements), s.vocab * s.hidden) * size;
  if (largest > binding) return { layers: 0, batches: [], reason: "memory" };
  /** @type {(batch: number) => number} */
  const half = (batch) => (batch * cacheBytes(s, 1, context, size)) / 2;
  const turns = 4 * batches.reduce((n, b) => n + b, 0);
  /** @type {(layers: number) => number} */
  const flopsOf = (layers) => turns * totals(ledger(s, layers, 1, context, size)).flops;
  // All batches with fewer layers, rather than all layers with fewer batches; two at least.
  const least = Math.min(2, s.layers);
  let chosen = batches.filter((b) => heldFor(least, b) <= memory && half(b) <= binding);
  if (chosen.length === 0 && heldFor(1, 1) <= memory) chosen = [1];
  if (chosen.length === 0) return { layers: 0, batches: [], reason: "memory" };
  const most = Math.max(...chosen);
  let layers = s.layers;
  while (layers > 1 && heldFor(layers, most) > memory) layers -= 1;
  const roomy = layers;
  while (layers > least && flopsOf(layers) > flops) layers -= 1;
  const reason = layers < roomy ? "time" : layers < s.layers ? "memory" : "";
  return { layers, batches: chosen, reason };
}
