// @ts-check
// The worker that measures: told what to measure, it tells what it finds as it finds it.
//
//   in   {type: "measure", options}, {type: "stop"}; {type: "join", start} to one of its threads
//   out  {type: "ready", control} once; then progress, note, roof, plan, point; done or error
//
// Nothing here touches the page. Codes of notes and errors are keys of sentences.

import { GpuError, openGpu } from "./gpu.js";
import { GpuStep, readBuffer, square } from "./gpu_step.js";
import { abilities, kernels } from "./kernels.js";
import { difference, plainStep, SMALL } from "./plain.js";
import { programs } from "./programs.js";
import { summary } from "./sampling.js";
import { ledger, plan, totals } from "./shape.js";
import { makeMemory, serve, stop, Team } from "./team.js";
import { makeWorker, textOf } from "./trusted.js";

const START = 65536; // what lies below is never touched
const LEAST_MEMORY = 128 << 20;
/** @type {Record<string, number>} */
const TOLERANCE = { fp32: 1e-4, fp16: 5e-2 };
const now = () => performance.now() / 1000;
/** @type {(type: string, message: object) => void} */
const send = (type, message) => self.postMessage({ type, ...message });
const own = () => makeWorker(self.location.href);
// The page draws what it was told, on processors that are idle then; and a stop is heard.
const breathe = () => new Promise((resolve) => setTimeout(resolve, 60));

// What one measurement has at hand: options, the way to stop it, the time it may take.
class Run {
  /** @param {MeasureOptions} options */
  constructor(options) {
    this.options = options;
    this.end = now() + options.seconds;
    /** @type {Int32Array | null} */
    this.control = null;
    this.halted = false;
    this.clock = resolution();
    if (this.clock > 2e-3) send("note", { code: "clock", values: { ms: this.clock * 1e3 } });
  }

  get stopped() {
    return this.halted || (this.control !== null && Atomics.load(this.control, 2) === 1);
  }

  halt() {
    this.halted = true;
    if (this.control) stop(this.control);
  }

  get left() {
    return this.end - now();
  }

  // Of two parts the first leaves a third of the time to the second.
  /** @type {(part: string) => number} */
  leftFor(part) {
    return part === "wasm" && this.options.gpu ? this.left - this.options.seconds / 3 : this.left;
  }

  // A window must be long beside the clock's step.
  get window() {
    return Math.max(0.01, 50 * this.clock);
  }
}

// Seconds between two readings of the clock that differ.
function resolution() {
  const steps = [];
  const end = performance.now() + 300;
  let before = performance.now();
  while (steps.length < 5 && before < end) {
    const after = performance.now();
    if (after > before) steps.push(after - before);
    before = after;
  }
  return steps.length ? Math.min(...steps) / 1000 : 0.3;
}

// A team with as much memory as asked for, or half, or a quarter, …
/** @type {(run: Run, able: Abilities) => Promise<{ team: Team, bytes: number }>} */
async function makeTeam(run, able) {
  const count = able.threads ? run.options.threads : 1;
  for (let bytes = run.options.memory; ; bytes /= 2) {
    let made;
    try {
      made = makeMemory(Math.min(bytes, 2 ** 32 - 2 ** 20), able.threads);
    } catch (error) {
      if (bytes / 2 < LEAST_MEMORY) throw new GpuError("wasm.memory", textOf(error));
      send("note", { code: "memory", values: { bytes: bytes / 2 } });
      continue;
    }
    run.control = made.control;
    send("ready", { control: able.threads ? made.control : null });
    const code = kernels(made.limits, able.fused);
    return { team: await Team.make({ count, ...made, code, makeWorker: own }), bytes };
  }
}

// Runs a program once to learn how long it takes, then in windows that the clock can time.
/** @type {(run: Run, team: Team, name: "readMemory" | "multiply" | "decode", options: object, limits: Limits,
 *   count: number) => Timed} */
function timed(run, team, name, options, limits, count) {
  const program = /** @type {(t: Thread, job: object) => Timed} */ (programs[name]);
  /** @type {(own: Limits) => Timed} */
  const go = (own) => team.run(program, name, { ...options, limits: own }, count);
  const once = go({ least: 1, most: 1, seconds: 0 });
  if (run.stopped || once.seconds.length === 0) return { ...once, seconds: [] };
  const turns = Math.max(1, Math.ceil(run.window / Math.max(once.seconds[0], run.clock)));
  return go({ ...limits, turns });
}

/** @type {(amount: number, seconds: number[]) => Rate} */
const rate = (amount, seconds) => {
  const { least, median, spread, samples } = summary(seconds);
  return { best: amount / least, median: amount / median, spread, samples };
};

/** @type {(code: string, fraction: number, values?: Values) => void} */
const stage = (code, fraction, values = {}) => send("progress", { code, fraction, values });

// Read bandwidth with 1, 2, 4, … threads; the best of them, and its number of threads.
/** @type {(run: Run, team: Team, bytes: number) => (Rate & { threads: number }) | null} */
function readRoof(run, team, bytes) {
  const counts = [];
  for (let n = 1; n < team.size; n *= 2) counts.push(n);
  counts.push(team.size);
  const found = [];
  for (const [i, threads] of counts.entries()) {
    stage("read", (0.1 * i) / counts.length, { threads });
    const limits = { least: 5, most: 200, seconds: run.options.probe };
    const options = { at: START, bytes: bytes - START - 65536 };
    const {
      seconds,
      bytes: read,
      correct,
    } = timed(run, team, "readMemory", options, limits, threads);
    if (run.stopped || seconds.length === 0) return null;
    if (!correct) throw new GpuError("wrong", "read");
    found.push({ threads, ...rate(read, seconds) });
    send("read", { threads, ...found.at(-1) });
  }
  // More threads, unless fewer are clearly faster: a busy machine blurs small differences.
  const most = Math.max(...found.map((f) => f.best));
  return found.findLast((f) => f.best >= 0.95 * most) ?? null;
}

/** @type {(run: Run) => Promise<void>} */
async function measureWasm(run) {
  const able = abilities();
  if (!able.simd) {
    send("note", { code: "wasm.simd" });
    return;
  }
  if (!able.fused) send("note", { code: "wasm.fused" });
  if (!able.threads) send("note", { code: "wasm.threads" });
  stage("start", 0);
  const { team, bytes } = await makeTeam(run, able);
  const { shape: s, context, batches } = run.options;

  if (!checkWasm(run, team)) return;
  const bandwidth = readRoof(run, team, Math.min(bytes, run.options.read));
  if (!bandwidth) return;
  const { threads } = bandwidth;
  stage("multiply", 0.1);
  const work = { at: START, rows: 64, k: 256, products: 4 };
  const limits = { least: 5, most: 200, seconds: run.options.probe };
  const found = timed(run, team, "multiply", work, limits, threads);
  if (run.stopped) return;
  if (!found.correct) throw new GpuError("wrong", "multiply");
  const compute = rate(found.flops, found.seconds);
  send("roof", { engine: "wasm", threads, able, bandwidth, compute: { fp32: compute } });

  await breathe();
  const room = { memory: bytes - START - (1 << 20), flops: compute.best * run.options.climb };
  const chosen = plan(s, context, batches, room);
  send("plan", { engine: "wasm", ...chosen, wanted: batches, of: s.layers, bytes, format: "fp32" });
  if (chosen.layers === 0) return;
  await breathe();
  const most = Math.max(...chosen.batches);
  const job = { s, layers: chosen.layers, context, at: START, most };
  stage("fill", 0.15, { layers: chosen.layers });
  team.run(programs.prepare, "prepare", { ...job, batch: most }, threads);
  let [step, before] = [0, 1];
  for (const [i, batch] of chosen.batches.entries()) {
    await breathe();
    if (run.stopped) return;
    // Four steps as long as the last, or twice that: is there time?
    if (4 * step * (batch / before) > run.leftFor("wasm")) {
      send("note", { code: "time", values: { batch: before } });
      return;
    }
    stage("decode", 0.2 + (0.4 * i) / chosen.batches.length, { batch });
    const limits = { least: 3, most: 60, seconds: run.options.probe / 2 };
    const took = timed(run, team, "decode", { ...job, batch }, limits, threads);
    if (run.stopped || took.seconds.length === 0) return;
    [step, before] = [summary(took.seconds).median, batch];
    point("wasm", run, batch, chosen.layers, 4, took.seconds, { threads });
  }
}

// The kernels against plain JavaScript, on a step small enough for that; false where stopped.
/** @type {(run: Run, team: Team) => boolean} */
function checkWasm(run, team) {
  const most = 5;
  for (const [batch, context] of [
    [1, 1],
    [5, 13],
  ]) {
    const job = { s: SMALL, layers: SMALL.layers, most, context, at: START };
    team.run(programs.prepare, "prepare", { ...job, batch: most });
    const logits = team.run(programs.evaluate, "evaluate", { ...job, batch });
    if (run.stopped) return false;
    judge("wasm", difference(logits, plainStep(SMALL, SMALL.layers, batch, context)), "fp32");
  }
  return true;
}

/** @type {(engine: string, off: number, format: string) => void} */
function judge(engine, off, format) {
  send("check", { engine, off, format });
  if (!(off < TOLERANCE[format])) throw new GpuError("wrong", `${engine} ${format} ${off}`);
}

/** @type {(engine: string, run: Run, batch: number, layers: number, size: number,
 *   seconds: number[], extra: object) => void} */
function point(engine, run, batch, layers, size, seconds, extra) {
  const { shape: s, context } = run.options;
  const { least, median, spread, samples } = summary(seconds);
  send("point", {
    ...{ engine, batch, context, layers, format: size === 2 ? "fp16" : "fp32" },
    seconds: { median, best: least, spread, samples },
    ...totals(ledger(s, layers, batch, context, size)),
    ...extra,
  });
}

/** @type {(run: Run) => Promise<void>} */
async function measureGpu(run) {
  stage("gpu.start", 0.6);
  let gpu;
  try {
    gpu = await openGpu(self.navigator.gpu);
  } catch (error) {
    if (!(error instanceof GpuError)) throw error;
    send("note", { code: error.code, values: { detail: error.detail } });
    return;
  }
  try {
    await climbGpu(run, gpu);
  } catch (error) {
    // A lost device or a full memory ends this part, not the page.
    const known = error instanceof GpuError ? error : new GpuError("gpu.error", textOf(error));
    send("note", { code: known.code, values: { detail: known.detail } });
  } finally {
    gpu.close();
  }
}

/** @type {(run: Run, gpu: Gpu) => Promise<void>} */
async function climbGpu(run, gpu) {
  const { about } = gpu;
  const { shape: s, context, batches } = run.options;
  if (about.software) send("note", { code: "gpu.software", values: { name: about.name } });
  if (!about.timestamps) send("note", { code: "gpu.clock" });
  if (!about.f16) send("note", { code: "gpu.f16" });
  const stopped = () => run.stopped || run.left < 0;
  const seconds = run.options.probe * (about.software ? 0.3 : 0.7);
  const limits = { least: 3, most: 40, seconds, window: Math.max(0.05, run.window), stopped };

  const formats = about.f16 ? ["fp32", "fp16"] : ["fp32"];
  for (const format of formats) {
    stage("gpu.check", 0.62, { format });
    const f16 = format === "fp16";
    const step = await GpuStep.make(gpu, {
      s: SMALL,
      layers: SMALL.layers,
      most: 5,
      context: 13,
      f16,
    });
    // Few and many sequences run different kernels; a software adapter has time for one.
    for (const batch of about.software ? [2] : [1, 2, 5]) {
      const plain = plainStep(SMALL, SMALL.layers, batch, 13);
      judge("webgpu", difference(await step.evaluate(batch), plain), format);
    }
    gpu.free();
    if (stopped()) return;
  }
  stage("gpu.read", 0.66);
  const size = about.software ? 64 << 20 : 512 << 20;
  const read = await readBuffer(gpu, size, limits);
  if (stopped()) return;
  if (!read.correct) throw new GpuError("wrong", "webgpu read");
  const bandwidth = { ...rate(read.bytes, read.seconds), clock: read.clock };
  /** @type {Record<string, Rate & { clock: string }>} */
  const compute = {};
  for (const format of formats) {
    stage("gpu.multiply", 0.7, { format });
    const found = await square(gpu, format === "fp16", about.software ? 128 : 2048, limits);
    if (stopped()) return;
    if (!found.correct) throw new GpuError("wrong", `webgpu multiply ${format}`);
    compute[format] = { ...rate(found.flops, found.seconds), clock: found.clock };
  }
  send("roof", { engine: "webgpu", about, bandwidth, compute });
  await breathe();

  const format = formats[formats.length - 1];
  const bytes = format === "fp16" ? 2 : 4;
  const room = {
    ...{ memory: run.options.memory, size: bytes, binding: about.binding },
    // Software has time for the fewest layers only.
    flops: about.software ? 0 : compute[format].best * Math.min(run.options.climb, run.left / 2),
  };
  const chosen = plan(s, context, about.software ? [1, 2, 4] : batches, room);
  send("plan", {
    engine: "webgpu",
    ...chosen,
    wanted: batches,
    of: s.layers,
    bytes: room.memory,
    format,
  });
  if (chosen.layers === 0) return;
  await breathe();
  const most = Math.max(...chosen.batches);
  stage("gpu.fill", 0.75, { layers: chosen.layers });
  const step = await GpuStep.make(gpu, {
    s,
    layers: chosen.layers,
    most,
    context,
    f16: bytes === 2,
  });
  let [before, last] = [0, 0];
  for (const [i, batch] of chosen.batches.entries()) {
    await breathe();
    if (stopped() || 3 * last > run.left) break;
    stage("gpu.decode", 0.8 + (0.2 * i) / chosen.batches.length, { batch });
    const took = await step.decode(batch, { ...limits, least: 2, seconds: seconds * 0.7 });
    if (took.seconds.length < 2) break;
    [before, last] = [batch, summary(took.wall).median];
    point("webgpu", run, batch, chosen.layers, bytes, took.wall, {
      clock: took.clock,
      own: summary(took.seconds),
    });
  }
  if (before < most && !run.stopped)
    send("note", { code: before ? "time" : "time.none", values: { batch: before } });
}

/** @type {Run | null} */
let run = null;

/** @type {(options: MeasureOptions) => Promise<void>} */
async function measure(options) {
  try {
    run = new Run(options);
    if (options.wasm) await measureWasm(run);
    if (options.gpu && !run.stopped) await measureGpu(run);
    send("done", { stopped: run.stopped });
  } catch (error) {
    const known = error instanceof GpuError;
    send("error", {
      code: known ? error.code : error instanceof RangeError ? "wasm.memory" : "failed",
      values: { detail: known ? error.detail : textOf(error) },
    });
  }
}

self.onmessage = ({ data }) => {
  if (data.type === "join") serve(self, programs, data.start);
  else if (data.type === "stop") run?.halt();
  else if (data.type === "measure") measure(data.options);
};
