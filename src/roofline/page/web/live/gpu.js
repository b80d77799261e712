// @ts-check
// WebGPU: an adapter, its buffers and pipelines, and time taken on it.

import { another } from "./sampling.js";
import { textOf } from "./trusted.js";

/** @type {("maxBufferSize" | "maxStorageBufferBindingSize")[]} */
const WANTED = ["maxBufferSize", "maxStorageBufferBindingSize"];
/** @type {GPUFeatureName[]} */
const WISHED = ["shader-f16", "timestamp-query"];
const LARGEST = 2 ** 31 - 4;
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|basic render|warp|cpu/i;

export class GpuError extends Error {
  // code: the key of the sentence that tells what happened
  /**
   * @param {string} code
   * @param {string} [detail]
   */
  constructor(code, detail = "") {
    super(detail || code);
    this.code = code;
    this.detail = detail;
  }
}

// Opens the adapter that the browser prefers.
//
// Raises GpuError: gpu.missing (no WebGPU), gpu.adapter (none offered), gpu.device (refused).
/** @type {(gpu: GPU | undefined) => Promise<Gpu>} */
export async function openGpu(gpu) {
  if (!gpu) throw new GpuError("gpu.missing");
  const adapter = await gpu
    .requestAdapter({ powerPreference: "high-performance" })
    .catch(() => null);
  if (!adapter) throw new GpuError("gpu.adapter");
  const features = WISHED.filter((f) => adapter.features.has(f));
  /** @type {Record<string, number>} */
  const limits = {};
  for (const name of WANTED) limits[name] = Math.min(adapter.limits[name], LARGEST);
  let device;
  try {
    device = await adapter.requestDevice({ requiredFeatures: features, requiredLimits: limits });
  } catch (error) {
    throw new GpuError("gpu.device", textOf(error));
  }
  /** @type {Partial<GPUAdapterInfo>} */
  const info = adapter.info ?? {};
  const name = [info.vendor, info.architecture, info.device, info.description]
    .filter(Boolean)
    .join(" ");
  const older = /** @type {{ isFallbackAdapter?: boolean }} */ (adapter);
  const fallback = info.isFallbackAdapter ?? older.isFallbackAdapter ?? false;
  return new Gpu(device, {
    name: name || "unnamed",
    software: Boolean(fallback) || SOFTWARE.test(name),
    f16: features.includes("shader-f16"),
    timestamps: features.includes("timestamp-query"),
    binding: device.limits.maxStorageBufferBindingSize,
  });
}

export class Gpu {
  /**
   * @param {GPUDevice} device
   * @param {Adapter} about
   */
  constructor(device, about) {
    this.device = device;
    this.about = about;
    /** @type {Map<string, GPUComputePipeline>} */
    this.pipelines = new Map();
    /** @type {GPUBuffer[]} */
    this.buffers = [];
    /** @type {GpuError | null} */
    this.problem = null;
    /** @type {{ queries: GPUQuerySet, resolved: GPUBuffer } | null} */
    this.timer = null;
    device.lost.then((lost) => {
      this.problem ??= new GpuError("gpu.lost", lost.message);
    });
    device.onuncapturederror = ({ error }) => {
      this.problem ??= new GpuError("gpu.error", error.message);
    };
    if (about.timestamps) {
      const queries = device.createQuerySet({ type: "timestamp", count: 2 });
      const usage = GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC;
      this.timer = { queries, resolved: this.buffer(16, usage) };
    }
  }

  // Raises what has gone wrong since, if anything.
  check() {
    if (this.problem) throw this.problem;
  }

  /** @type {(size: number, usage?: number) => GPUBuffer} */
  buffer(size, usage = 0) {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const made = this.device.createBuffer({
      size: Math.max(16, Math.ceil(size / 4) * 4),
      usage: usage || STORAGE | COPY_SRC | COPY_DST,
    });
    this.buffers.push(made);
    return made;
  }

  // A buffer that holds these numbers (a typed array).
  /** @type {(values: ArrayBufferView<ArrayBuffer>, usage?: number) => GPUBuffer} */
  of(values, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST) {
    const made = this.buffer(values.byteLength, usage);
    this.device.queue.writeBuffer(made, 0, values);
    return made;
  }

  // Uniforms: whole numbers, and floats as {f: number}.
  /** @type {(...values: (number | { f: number })[]) => GPUBuffer} */
  uniform(...values) {
    const view = new DataView(new ArrayBuffer(Math.ceil(values.length / 4) * 16));
    values.forEach((v, i) => {
      if (typeof v === "object") view.setFloat32(4 * i, v.f, true);
      else view.setUint32(4 * i, v, true);
    });
    return this.of(new Uint8Array(view.buffer), GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
  }

  // Everything made inside `work` must have had room and been valid.
  /** @type {<T>(work: () => Promise<T>) => Promise<T>} */
  async guarded(work) {
    this.device.pushErrorScope("validation");
    this.device.pushErrorScope("out-of-memory");
    const [done] = await Promise.allSettled([work()]);
    const memory = await this.device.popErrorScope();
    const invalid = await this.device.popErrorScope();
    this.check();
    if (memory) throw new GpuError("gpu.memory", memory.message);
    if (done.status === "rejected") throw done.reason;
    if (invalid) throw new GpuError("gpu.error", invalid.message);
    return done.value;
  }

  /** @type {(key: string, code: () => string) => Promise<GPUComputePipeline>} */
  async pipeline(key, code) {
    const known = this.pipelines.get(key);
    if (known) return known;
    const module = this.device.createShaderModule({ code: code() });
    const compute = { module, entryPoint: "main" };
    const made = await this.device
      .createComputePipelineAsync({ layout: "auto", compute })
      .catch(async (error) => {
        const { messages } = await module.getCompilationInfo();
        const all = messages.map((m) => `${m.lineNum}: ${m.message}`);
        throw new GpuError("gpu.error", `${key}: ${[...all, error.message].join("; ")}`);
      });
    this.pipelines.set(key, made);
    return made;
  }

  // One dispatch, ready to be encoded any number of times.
  /** @type {(pipeline: GPUComputePipeline, buffers: GPUBuffer[], x: number, y?: number) =>
   *   GpuCall} */
  call(pipeline, buffers, x, y = 1) {
    const group = this.device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
    return { pipeline, group, x, y };
  }

  // Runs calls `times` over; seconds by the adapter's own clock where it has one, else by ours
  // around submission and completion.
  /** @type {(calls: GpuCall[], times?: number) => Promise<{ seconds: number, wall: number,
   *   clock: string }>} */
  async run(calls, times = 1) {
    this.check();
    const { device, timer } = this;
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass(
      timer
        ? {
            timestampWrites: {
              querySet: timer.queries,
              beginningOfPassWriteIndex: 0,
              endOfPassWriteIndex: 1,
            },
          }
        : {},
    );
    let last = null;
    for (let i = 0; i < times; i++) {
      for (const { pipeline, group, x, y } of calls) {
        if (pipeline !== last) pass.setPipeline(pipeline);
        last = pipeline;
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(x, y);
      }
    }
    pass.end();
    if (timer) encoder.resolveQuerySet(timer.queries, 0, 2, timer.resolved, 0);
    const commands = encoder.finish();
    const start = performance.now();
    device.queue.submit([commands]);
    await Promise.race([device.queue.onSubmittedWorkDone(), device.lost]);
    const wall = (performance.now() - start) / 1000;
    this.check();
    /** @type {number | null} */
    let own = null;
    if (timer) {
      const [from, to] = new BigUint64Array((await this.bytes(timer.resolved, 16)).buffer);
      own = Number(to - from) * 1e-9;
      if (!(own > 0 && own < wall * 1.05)) own = null; // clocks that stand still or run wild
    }
    return { seconds: own ?? wall, wall, clock: own === null ? "wall" : "gpu" };
  }

  // Windows of calls long enough to time, until the limits say that it is enough.
  // {seconds: [of one turn], clock}
  /** @type {(calls: GpuCall[], limits: GpuLimits) => Promise<GpuTimes>} */
  async windows(calls, { stopped, window = 0.05, ...limits }) {
    const first = await this.run(calls); // unmeasured: compiles, warms up
    let turns = Math.max(1, Math.min(1000, Math.round(window / Math.max(first.wall, 1e-5))));
    /** @type {GpuTimes} */
    const found = { seconds: [], wall: [], clock: "gpu" };
    const start = performance.now();
    const spent = () => (performance.now() - start) / 1000;
    while (!stopped() && another(found.seconds.length, spent(), limits)) {
      const { seconds, wall, clock } = await this.run(calls, turns);
      if (found.seconds.length === 0 && wall < window / 2 && turns < 1000) {
        turns = Math.min(1000, Math.ceil((turns * window) / Math.max(wall, 1e-5)));
        if (wall * 4 < window) continue; // the first guess was far too short to keep
      }
      found.seconds.push(seconds / turns);
      found.wall.push(wall / turns);
      if (clock === "wall") found.clock = "wall";
    }
    return found;
  }

  // The bytes of a buffer, copied out.
  /** @type {(buffer: GPUBuffer, size: number) => Promise<Uint8Array<ArrayBuffer>>} */
  async bytes(buffer, size) {
    const { device } = this;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const copy = device.createBuffer({ size, usage });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
    device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const found = new Uint8Array(copy.getMappedRange().slice(0));
    copy.destroy();
    return found;
  }

  // Gives back all buffers made so far but those of the clock.
  free() {
    const kept = this.timer?.resolved;
    for (const made of this.buffers) if (made !== kept) made.destroy();
    this.buffers = kept ? [kept] : [];
  }

  close() {
    this.free();
    this.device.destroy();
  }
}
