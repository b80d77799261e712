// @ts-check
// Probes of the roof and the decode step on WebGPU, the same step as in programs.js.

import { FACTOR } from "./kernels.js";
import { gains, number, turn } from "./numbers.js";
import { CACHE_SCALE, HEAD_SEED, matrices, NORM_SEED, scaleOf, seedOf } from "./shape.js";
import { attend, count, embed, few, fill, gate, many, norm, read, rotate } from "./wgsl.js";

/** @type {(n: number, by: number) => number} */
const ceil = (n, by) => Math.ceil(n / by);
/** @type {(n: number) => number} */
const grid = (n) => Math.min(65535, ceil(n, 256));

// Reads a buffer of about `bytes`. {bytes, seconds, clock, correct}
/** @type {(gpu: Gpu, bytes: number, limits: GpuLimits) => Promise<GpuTimes & { bytes: number,
 *   correct: boolean }>} */
export async function readBuffer(gpu, bytes, limits) {
  // Many workgroups hide a GPU's latency; software runs them one after another.
  const groups = gpu.about.software ? 16 : 2048;
  const unit = 16 * 256 * groups * 4;
  const size = Math.max(1, Math.floor(Math.min(bytes, gpu.about.binding) / unit)) * unit;
  const made = await gpu.guarded(async () => {
    const buffer = gpu.buffer(size);
    const sums = gpu.buffer(4 * groups);
    const write = await gpu.pipeline("count", () => count(FACTOR));
    const take = await gpu.pipeline("read", () => read(groups));
    await gpu.run([gpu.call(write, [buffer], grid(size / 16))]);
    return { sums, calls: [gpu.call(take, [buffer, sums], groups)] };
  });
  const found = await gpu.windows(made.calls, limits);
  const parts = new Uint32Array((await gpu.bytes(made.sums, 4 * groups)).buffer);
  const sum = parts.reduce((n, x) => (n + x) >>> 0, 0);
  const n = BigInt(size / 4);
  const expected = Number(BigInt.asUintN(32, BigInt(FACTOR) * ((n * (n - 1n)) / 2n)));
  gpu.free();
  return { ...found, bytes: size, correct: sum === expected };
}

/** @type {(gpu: Gpu, f16: boolean) => Promise<GPUComputePipeline>} */
const filler = (gpu, f16) => gpu.pipeline(`fill ${f16}`, () => fill(f16));

// Products of n × n matrices. {flops, seconds, clock, correct}
/** @type {(gpu: Gpu, f16: boolean, n: number, limits: GpuLimits) =>
 *   Promise<GpuTimes & { flops: number, correct: boolean }>} */
export async function square(gpu, f16, n, limits) {
  const made = await gpu.guarded(async () => {
    const [x, y] = [gpu.buffer(4 * n * n), gpu.buffer(4 * n * n)];
    const w = gpu.buffer((f16 ? 2 : 4) * n * n);
    /** @type {(pipeline: GPUComputePipeline, to: GPUBuffer, seed: number) => GpuCall} */
    const set = (pipeline, to, seed) =>
      gpu.call(pipeline, [to, gpu.uniform(n * n, seed, { f: 1 }, 0, 0)], grid(n * n));
    await gpu.run([set(await filler(gpu, false), x, 1), set(await filler(gpu, f16), w, 2)]);
    const product = await gpu.pipeline(`many ${f16} 64`, () => many(f16, 64));
    const uniform = gpu.uniform(n / 4, n, n, 0, n / 4, n);
    return { y, calls: [gpu.call(product, [x, w, y, uniform], ceil(n, 64), ceil(n, 64))] };
  });
  const found = await gpu.windows(made.calls, limits);
  const y = new Float32Array((await gpu.bytes(made.y, 4 * n * n)).buffer);
  let correct = true;
  for (const [b, o] of [
    [0, 0],
    [n - 1, n - 1],
    [n >> 1, 7],
  ]) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += number(b * n + i, 1) * number(o * n + i, 2);
    correct &&= Math.abs(y[b * n + o] - sum) < (f16 ? 0.03 : 1e-4) * Math.sqrt(n);
  }
  gpu.free();
  return { ...found, flops: 2 * n ** 3, correct };
}

// A step's tensors on the adapter, and its list of dispatches for any batch up to `most`.
export class GpuStep {
  /** @type {(gpu: Gpu, of: StepOf) => Promise<GpuStep>} */
  static async make(gpu, of) {
    return gpu.guarded(async () => {
      const step = new GpuStep(gpu, of, await filler(gpu, of.f16));
      await gpu.run(step.fills);
      return step;
    });
  }

  /**
   * @param {Gpu} gpu
   * @param {StepOf} of
   * @param {GPUComputePipeline} pipeline that fills a tensor
   */
  constructor(gpu, { s, layers, most, context, f16 }, pipeline) {
    this.gpu = gpu;
    this.s = s;
    this.f16 = f16;
    this.context = context;
    const size = f16 ? 2 : 4;
    /** @type {GpuCall[]} */
    this.fills = [];
    /** @type {(n: number, seed: number, scale: number, inner?: number, width?: number) =>
     *   GPUBuffer} */
    const tensor = (n, seed, scale, inner = 0, width = 1) => {
      const made = gpu.buffer(size * n);
      const uniform = gpu.uniform(n, seed, { f: scale }, inner, width);
      this.fills.push(gpu.call(pipeline, [made, uniform], grid(n)));
      return made;
    };
    const entries = most * s.kv_heads * context * s.width;
    const m = matrices(s);
    /** @type {(layer: number, name: MatrixName) => GPUBuffer} */
    const matrix = (layer, name) =>
      tensor(m[name][0] * m[name][1], seedOf(layer, name), scaleOf(s, layers, name));
    /** @type {GpuLayer[]} */
    this.parts = Array.from({ length: layers }, (_, layer) => ({
      qkv: matrix(layer, "qkv"),
      out: matrix(layer, "out"),
      gate_up: matrix(layer, "gate_up"),
      down: matrix(layer, "down"),
      norm_in: gpu.of(gains(s.hidden, seedOf(layer, "norm_in"))),
      norm_mid: gpu.of(gains(s.hidden, seedOf(layer, "norm_mid"))),
      k: tensor(entries, seedOf(layer, "k"), CACHE_SCALE),
      v: tensor(entries, seedOf(layer, "v"), CACHE_SCALE, context, s.width),
    }));
    this.head = tensor(s.vocab * s.hidden, HEAD_SEED, scaleOf(s, layers, "head"));
    this.norm = gpu.of(gains(s.hidden, NORM_SEED));
    this.turn = gpu.of(turn(context - 1, s.width, s.theta));
    /** @type {(n: number) => GPUBuffer} */
    const floats = (n) => gpu.buffer(4 * most * n);
    this.x = floats(s.hidden);
    this.normed = floats(s.hidden);
    this.qkv = floats(m.qkv[0]);
    this.attended = floats(s.heads * s.width);
    this.inner = floats(2 * s.middle);
    this.logits = floats(s.vocab);
  }

  // y (+)= x · Wᵀ, the tile chosen by the batch: weights are read once for as many sequences as
  // a workgroup holds, 64 at most; beyond that the adapter's cache must keep them.
  /** @type {(batch: number, x: GPUBuffer, xs: number, w: GPUBuffer, size: Dims, y: GPUBuffer,
   *   ys: number, add?: number) => Promise<GpuCall>} */
  async product(batch, x, xs, w, [rows, columns], y, ys, add = 0) {
    const { gpu, f16 } = this;
    const uniform = gpu.uniform(columns / 4, rows, batch, add, xs / 4, ys);
    if (batch <= 4) {
      const nb = batch <= 2 ? batch : 4;
      const pipeline = await gpu.pipeline(`few ${f16} ${nb}`, () => few(f16, nb));
      return gpu.call(pipeline, [x, w, y, uniform], ceil(rows, 4));
    }
    const tb = batch <= 8 ? 8 : batch <= 16 ? 16 : batch <= 32 ? 32 : 64;
    const pipeline = await gpu.pipeline(`many ${f16} ${tb}`, () => many(f16, tb));
    return gpu.call(pipeline, [x, w, y, uniform], ceil(rows, 64), ceil(batch, tb));
  }

  // The dispatches of one step of `batch` sequences.
  /** @type {(batch: number) => Promise<GpuCall[]>} */
  async calls(batch) {
    const { gpu, s, f16, context } = this;
    const { hidden, heads, kv_heads: groups, width, middle, vocab } = s;
    const m = matrices(s);
    const own = heads / groups;
    const columns = m.qkv[0];
    const pipelines = {
      embed: await gpu.pipeline(`embed ${f16}`, () => embed(f16)),
      norm: await gpu.pipeline("norm", norm),
      rotate: await gpu.pipeline(`rotate ${f16}`, () => rotate(f16)),
      attend: await gpu.pipeline(`attend ${f16} ${width} ${own}`, () => attend(f16, width, own)),
      gate: await gpu.pipeline("gate", gate),
    };
    const uniforms = {
      embed: gpu.uniform(hidden, vocab, batch),
      norm: gpu.uniform(hidden, { f: s.epsilon }),
      rotate: gpu.uniform(batch, heads, groups, width / 2, context),
      attend: gpu.uniform(heads, groups, context, { f: 1 / Math.sqrt(width) }),
      gate: gpu.uniform(batch, middle),
    };
    /** @type {(name: keyof typeof pipelines, buffers: GPUBuffer[], n: number) => GpuCall} */
    const call = (name, buffers, n) => gpu.call(pipelines[name], [...buffers, uniforms[name]], n);
    /** @type {(gain: GPUBuffer) => GpuCall} */
    const normed = (gain) => call("norm", [this.x, gain, this.normed], batch);
    const rotations = ceil((batch * columns) / 2, 64);
    const list = [call("embed", [this.head, this.x], ceil(batch * hidden, 64))];
    for (const part of this.parts) {
      list.push(
        normed(part.norm_in),
        await this.product(batch, this.normed, hidden, part.qkv, m.qkv, this.qkv, columns),
        call("rotate", [this.qkv, part.k, part.v, this.turn], rotations),
        call("attend", [this.qkv, part.k, part.v, this.attended], batch * groups),
        await this.product(batch, this.attended, heads * width, part.out, m.out, this.x, hidden, 1),
        normed(part.norm_mid),
        await this.product(
          ...[batch, this.normed, hidden, part.gate_up, m.gate_up, this.inner, 2 * middle],
        ),
        call("gate", [this.inner], ceil(batch * middle, 64)),
        await this.product(batch, this.inner, 2 * middle, part.down, m.down, this.x, hidden, 1),
      );
    }
    list.push(
      normed(this.norm),
      await this.product(
        batch,
        this.normed,
        hidden,
        this.head,
        [vocab, hidden],
        this.logits,
        vocab,
      ),
    );
    return list;
  }

  // Times whole steps. {seconds, clock, wall}
  /** @type {(batch: number, limits: GpuLimits) => Promise<GpuTimes>} */
  async decode(batch, limits) {
    const calls = await this.gpu.guarded(() => this.calls(batch));
    return this.gpu.windows(calls, limits);
  }

  // One step; its logits, one array a sequence.
  /** @type {(batch: number) => Promise<Float32Array[]>} */
  async evaluate(batch) {
    const { gpu, s } = this;
    await gpu.guarded(async () => gpu.run(await this.calls(batch)));
    const all = new Float32Array((await gpu.bytes(this.logits, 4 * batch * s.vocab)).buffer);
    return Array.from({ length: batch }, (_, b) => all.slice(b * s.vocab, (b + 1) * s.vocab));
  }
}
