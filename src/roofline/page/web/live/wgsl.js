// @ts-check
// The kernels of the decode step and of the probes in WGSL. E is the element that weights and
// cache are stored in, f32 or f16; activations are f32.

/** @type {(n: number) => number[]} */
const range = (n) => Array.from({ length: n }, (_, i) => i);
/** @type {(n: number, of: (i: number) => string) => string} */
const lines = (n, of) => range(n).map(of).join("\n");

/** @type {(f16: boolean) => string} */
const head = (f16) => `${f16 ? "enable f16;\n" : ""}alias E = ${f16 ? "f16" : "f32"};\n`;

const HASH = `
fn hash(index: u32, seed: u32) -> u32 {
  var x = index + seed * 0x9e3779b9u;
  x ^= x >> 16u;
  x *= 0x7feb352du;
  x ^= x >> 15u;
  x *= 0x846ca68bu;
  return x ^ (x >> 16u);
}
fn number(index: u32, seed: u32) -> f32 {
  return f32(hash(index, seed) >> 8u) * ${2 ** -23} - 1.0;
}`;

// Random numbers. Where inner > 0 the element (row, t, j) of rows × inner × width has the index
// of (row, j, t): values are numbered as the transposed cache of the other engine holds them.
/** @type {(f16: boolean) => string} */
export const fill = (f16) => `${head(f16)}${HASH}
struct P { count: u32, seed: u32, scale: f32, inner: u32, width: u32 }
@group(0) @binding(0) var<storage, read_write> to: array<E>;
@group(0) @binding(1) var<uniform> p: P;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) n: vec3u) {
  for (var i = id.x; i < p.count; i += n.x * 256u) {
    var index = i;
    if (p.inner > 0u) {
      let j = i % p.width;
      let t = (i / p.width) % p.inner;
      index = (i / (p.width * p.inner) * p.width + j) * p.inner + t;
    }
    to[i] = E(number(index, p.seed) * p.scale);
  }
}`;

// Integers whose sum is known, and their sum: reads every word once.
/** @type {(factor: number) => string} */
export const count = (factor) => `
@group(0) @binding(0) var<storage, read_write> to: array<vec4<u32>>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) n: vec3u) {
  for (var i = id.x; i < arrayLength(&to); i += n.x * 256u) {
    to[i] = (vec4<u32>(0u, 1u, 2u, 3u) + 4u * i) * ${factor}u;
  }
}`;

/** @type {(groups: number) => string} */
export const read = (groups) => `
@group(0) @binding(0) var<storage, read> words: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
var<workgroup> shared_sums: array<u32, 256>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32,
        @builtin(workgroup_id) w: vec3u) {
  let stride = ${groups}u * 256u;
  var a = vec4<u32>(); var b = vec4<u32>(); var c = vec4<u32>(); var d = vec4<u32>();
  let n = arrayLength(&words);
  for (var i = id.x; i < n; i += 4u * stride) {
    a += words[i]; b += words[i + stride]; c += words[i + 2u * stride]; d += words[i + 3u * stride];
  }
  let s = a + b + c + d;
  shared_sums[l] = s.x + s.y + s.z + s.w;
  for (var half = 128u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (l < half) { shared_sums[l] += shared_sums[l + half]; }
  }
  if (l == 0u) { sums[w.x] = shared_sums[0]; }
}`;

/** @type {(f16: boolean) => string} */
const PRODUCT = (f16) => `${head(f16)}
struct P { k4: u32, rows: u32, batch: u32, add: u32, xs4: u32, ys: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> w: array<vec4<E>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> p: P;
fn put(b: u32, row: u32, value: f32) {
  if (b < p.batch && row < p.rows) {
    let at = b * p.ys + row;
    if (p.add == 1u) { y[at] += value; } else { y[at] = value; }
  }
}`;

// Y[b][row] = Σ_i X[b][i]·W[row][i] for up to nb sequences: a workgroup takes four rows of
// weights and runs along them, 64 vectors at a time; each weight is read once.
/** @type {(f16: boolean, nb: number) => string} */
export const few = (f16, nb) => `${PRODUCT(f16)}
var<workgroup> parts: array<f32, ${64 * nb * 4}>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
  let first = g.x * 4u;
${lines(4, (r) => `  let w${r} = min(first + ${r}u, p.rows - 1u) * p.k4;`)}
${lines(nb, (b) => `  var s${b} = vec4<f32>();`)}
  for (var i = l; i < p.k4; i += 64u) {
${lines(4, (r) => `    let v${r} = vec4<f32>(w[w${r} + i]);`)}
${lines(
  nb,
  (b) => `    { let a = x[min(${b}u, p.batch - 1u) * p.xs4 + i];
      s${b} += vec4<f32>(dot(a, v0), dot(a, v1), dot(a, v2), dot(a, v3)); }`,
)}
  }
${lines(nb, (b) => lines(4, (r) => `  parts[l * ${4 * nb}u + ${4 * b + r}u] = s${b}[${r}];`))}
  workgroupBarrier();
  // 64 partial sums of each result: eight, then one; few barriers.
  for (var i = l; i < ${32 * nb}u; i += 64u) {
    let at = i / ${4 * nb}u * ${32 * nb}u + i % ${4 * nb}u;
    var sum = 0.0;
    for (var k = 0u; k < 8u; k += 1u) { sum += parts[at + k * ${4 * nb}u]; }
    parts[at] = sum;
  }
  workgroupBarrier();
  if (l < ${4 * nb}u) {
    var sum = 0.0;
    for (var k = 0u; k < 8u; k += 1u) { sum += parts[l + k * ${32 * nb}u]; }
    put(l / 4u, first + l % 4u, sum);
  }
}`;

// The same for many: a workgroup makes 64 rows × tb sequences from tiles held close by. With
// f16, four products are added in f16 and then to a sum in f32.
const DEPTH = 4; // vectors of a tile
/** @type {(f16: boolean, tb: number) => string} */
export const many = (f16, tb) => {
  const each = tb / 8;
  return `${PRODUCT(f16)}
var<workgroup> ws: array<vec4<E>, ${64 * (DEPTH + 1)}>;
var<workgroup> xs: array<vec4<E>, ${tb * (DEPTH + 1)}>;
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
  let first = g.x * 64u;
  let before = g.y * ${tb}u;
  let to = l % 16u;
  let tb = l / 16u;
${lines(each, (b) => `  var s${b} = vec4<f32>();`)}
  for (var start = 0u; start < p.k4; start += ${DEPTH}u) {
    for (var i = l; i < ${64 * DEPTH}u; i += 128u) {
      let row = first + i / ${DEPTH}u;
      let at = start + i % ${DEPTH}u;
      var v = vec4<E>();
      if (row < p.rows && at < p.k4) { v = w[row * p.k4 + at]; }
      ws[i / ${DEPTH}u * ${DEPTH + 1}u + i % ${DEPTH}u] = v;
    }
    for (var i = l; i < ${tb * DEPTH}u; i += 128u) {
      let b = before + i / ${DEPTH}u;
      let at = start + i % ${DEPTH}u;
      var v = vec4<E>();
      if (b < p.batch && at < p.k4) { v = vec4<E>(x[b * p.xs4 + at]); }
      xs[i / ${DEPTH}u * ${DEPTH + 1}u + i % ${DEPTH}u] = v;
    }
    workgroupBarrier();
    for (var i = 0u; i < ${DEPTH}u; i += 1u) {
${lines(4, (r) => `      let v${r} = ws[(to + ${16 * r}u) * ${DEPTH + 1}u + i];`)}
${lines(
  each,
  (b) => `      { let a = xs[(tb * ${each}u + ${b}u) * ${DEPTH + 1}u + i];
        s${b} += vec4<f32>(vec4<E>(dot(a, v0), dot(a, v1), dot(a, v2), dot(a, v3))); }`,
)}
    }
    workgroupBarrier();
  }
${lines(each, (b) => lines(4, (r) => `  put(before + tb * ${each}u + ${b}u, first + to + ${16 * r}u, s${b}[${r}]);`))}
}`;
};

// x[b] = head[token of b]
/** @type {(f16: boolean) => string} */
export const embed = (f16) => `${head(f16)}
struct P { hidden: u32, vocab: u32, batch: u32 }
@group(0) @binding(0) var<storage, read> table: array<E>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= p.batch * p.hidden) { return; }
  let b = id.x / p.hidden;
  x[id.x] = f32(table[(b * 7919u + 13u) % p.vocab * p.hidden + id.x % p.hidden]);
}`;

// y = x / sqrt(mean(x²) + epsilon) · gain, a workgroup a sequence.
/** @type {() => string} */
export const norm = () => `
struct P { hidden: u32, epsilon: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> gain: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> p: P;
var<workgroup> parts: array<f32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
  let at = g.x * p.hidden;
  var sum = 0.0;
  for (var i = l; i < p.hidden; i += 64u) { sum += x[at + i] * x[at + i]; }
  parts[l] = sum;
  for (var half = 32u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (l < half) { parts[l] += parts[l + half]; }
  }
  workgroupBarrier();
  let scale = 1.0 / sqrt(parts[0] / f32(p.hidden) + p.epsilon);
  for (var i = l; i < p.hidden; i += 64u) { y[at + i] = x[at + i] * scale * gain[i]; }
}`;

// Rotates queries in place; rotates keys into the cache; copies values into it.
/** @type {(f16: boolean) => string} */
export const rotate = (f16) => `${head(f16)}
struct P { batch: u32, heads: u32, groups: u32, half: u32, context: u32 }
@group(0) @binding(0) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> keys: array<E>;
@group(0) @binding(2) var<storage, read_write> values: array<E>;
@group(0) @binding(3) var<storage, read> turn: array<f32>;
@group(0) @binding(4) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let all = p.heads + 2u * p.groups;
  if (id.x >= p.batch * all * p.half) { return; }
  let i = id.x % p.half;
  let h = id.x / p.half % all;
  let b = id.x / p.half / all;
  let width = 2u * p.half;
  let low = (b * all + h) * width + i;
  let high = low + p.half;
  let a = qkv[low];
  let c = qkv[high];
  let cos = turn[i];
  let sin = turn[p.half + i];
  if (h < p.heads) {
    qkv[low] = a * cos - c * sin;
    qkv[high] = c * cos + a * sin;
    return;
  }
  let g = (h - p.heads) % p.groups;
  let to = ((b * p.groups + g) * p.context + p.context - 1u) * width + i;
  if (h < p.heads + p.groups) {
    keys[to] = E(a * cos - c * sin);
    keys[to + p.half] = E(c * cos + a * sin);
  } else {
    values[to] = E(a);
    values[to + p.half] = E(c);
  }
}`;

// Attention of one sequence's group of heads, a workgroup each: 64 entries at a time are
// scored, weighed against the greatest score so far, and added up; the cache is read once.
/** @type {(f16: boolean, width: number, own: number) => string} */
export const attend = (f16, width, own) => {
  const dims = Math.ceil(width / 64);
  /** @type {(of: (i: number) => string) => string} */
  const heads = (of) => lines(own, of);
  return `${head(f16)}
struct P { heads: u32, groups: u32, context: u32, scale: f32 }
@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> values: array<E>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> p: P;
var<workgroup> q: array<f32, ${own * width}>;
var<workgroup> scores: array<f32, ${own * 64}>;
var<workgroup> most: array<f32, ${own}>;
var<workgroup> shrink: array<f32, ${own}>;
var<workgroup> total: array<f32, ${own}>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
  let b = g.x / p.groups;
  let group = g.x % p.groups;
  let first = (b * (p.heads + 2u * p.groups) + group * ${own}u) * ${width}u;
  for (var i = l; i < ${own * width}u; i += 64u) { q[i] = qkv[first + i] * p.scale; }
  if (l < ${own}u) { most[l] = -1e30; total[l] = 0.0; }
${heads((h) => lines(dims, (d) => `  var o${h}_${d} = 0.0;`))}
  let base = g.x * p.context;
  for (var start = 0u; start < p.context; start += 64u) {
    workgroupBarrier();
    let n = min(64u, p.context - start);
${heads((h) => `    var s${h} = -1e30;`)}
    if (l < n) {
${heads((h) => `      s${h} = 0.0;`)}
      for (var i = 0u; i < ${width / 4}u; i += 1u) {
        let k = vec4<f32>(keys[(base + start + l) * ${width / 4}u + i]);
${heads(
  (h) => `        { let j = ${h * width}u + 4u * i;
          s${h} += dot(vec4<f32>(q[j], q[j + 1u], q[j + 2u], q[j + 3u]), k); }`,
)}
      }
    }
${heads((h) => `    scores[${h * 64}u + l] = s${h};`)}
    workgroupBarrier();
    if (l < ${own}u) {
      var m = most[l];
      for (var i = 0u; i < n; i += 1u) { m = max(m, scores[l * 64u + i]); }
      shrink[l] = exp(most[l] - m);
      most[l] = m;
    }
    workgroupBarrier();
${heads((h) => `    scores[${h * 64}u + l] = exp(s${h} - most[${h}]);`)}
    workgroupBarrier();
    if (l < ${own}u) {
      var sum = total[l] * shrink[l];
      for (var i = 0u; i < n; i += 1u) { sum += scores[l * 64u + i]; }
      total[l] = sum;
    }
${heads((h) => lines(dims, (d) => `    o${h}_${d} *= shrink[${h}];`))}
    for (var i = 0u; i < n; i += 1u) {
${lines(dims, (d) => `      let v${d} = f32(values[(base + start + i) * ${width}u + min(l + ${64 * d}u, ${width - 1}u)]);`)}
${heads((h) => lines(dims, (d) => `      o${h}_${d} += scores[${h * 64}u + i] * v${d};`))}
    }
  }
  workgroupBarrier();
  let to = (b * p.heads + group * ${own}u) * ${width}u + l;
${lines(
  dims,
  (d) => `  if (l + ${64 * d}u < ${width}u) {
${heads((h) => `    y[to + ${h * width + 64 * d}u] = o${h}_${d} / total[${h}];`)}
  }`,
)}
}`;
};

// y[b][i] = a / (1 + e^-a) · c over a row of 2·middle numbers, a first
/** @type {() => string} */
export const gate = () => `
struct P { batch: u32, middle: u32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= p.batch * p.middle) { return; }
  let at = id.x / p.middle * 2u * p.middle + id.x % p.middle;
  let a = x[at];
  x[at] = a / (1.0 + exp(-a)) * x[at + p.middle];
}`;
