// The shapes within the page's live part: what it measures, in which messages it tells.

type Gpu = import("./gpu.js").Gpu;
type Thread = import("./team.js").Thread;
type Team = import("./team.js").Team;
type Abilities = ReturnType<typeof import("./kernels.js").abilities>;

// A decoder whose step a browser runs (shape.js), and what is offered of them.
interface Shape {
  id: string;
  name: string;
  hidden: number;
  layers: number;
  heads: number;
  kv_heads: number;
  width: number;
  middle: number;
  vocab: number;
  theta: number;
  epsilon: number;
}
type LiveShape = { shape: Shape; model: Model };
type LiveFile = { name: string; size: number; model: Model; engine: string; version: string };

type Dims = [rows: number, columns: number];
type MatrixName = "qkv" | "out" | "gate_up" | "down";
type Numbers = ArrayLike<number>;
type Tensor = { row: (r: number) => Float64Array; rows: number };
type Ledger = { name: string; flops: number; weights: number; kv_read: number; kv_write: number };
type Totals = { flops: number; weights: number; kv: number; bytes: number; intensity: number };
type Room = { memory: number; flops?: number; size?: number; binding?: number };
type Plan = { layers: number; batches: number[]; reason: string };

// Windows of time: how many, how long.
type Limits = { least: number; most: number; seconds: number; turns?: number };
type Summary = {
  least: number;
  most: number;
  median: number;
  samples: number;
  spread: number | null;
};
type Rate = {
  best: number;
  median: number;
  spread: number | null;
  samples: number;
  clock?: string;
};
// What a probe took: seconds of each window, and what was done in one turn.
type Timed = { seconds: number[]; bytes: number; flops: number; correct: boolean };
type Moment = [seconds: number, tokens: number];

// WebAssembly (assemble.js, kernels.js, team.js, programs.js).

type ValueType = "i32" | "f32" | "v128";
type Code = number[];
type Instructions = (number | Code)[]; // instructions, some of them as expressions

type MemoryLimits = { initial: number; maximum: number; shared: boolean };
type Local = { get: Code; set: (value: Code) => Code; add: (value: Code) => Code };
type Frame = { local: (type: ValueType) => Local };
type Func = {
  name: string;
  parameters: ValueType[];
  result: ValueType | null;
  body: Instructions;
  locals: ValueType[];
};
// What a tile of a product works with, beside the product's own parameters.
type TileLocals = Record<
  "vx" | "py" | "end" | "xrow" | "yrow" | "wrow" | "wgap" | "ygap",
  Local
> & { sums: Local[]; px: Local[]; pw: Local[]; vw: Local[] };
type Tile = Frame & TileLocals & Record<"xs" | "ys" | "k" | "add", Local>;

type Kernel = (...operands: number[]) => number;
type Kernels = Record<
  | "product"
  | "fill"
  | "count"
  | "read"
  | "norm"
  | "rotate"
  | "scatter"
  | "softmax"
  | "gate"
  | "repeat",
  Kernel
>;
interface ThreadOf {
  index: number;
  count: number;
  memory: WebAssembly.Memory;
  kernels: Kernels;
  control: Int32Array;
}
interface TeamOf extends Pick<ThreadOf, "count" | "memory" | "control"> {
  code: Uint8Array<ArrayBuffer>;
  makeWorker: () => Worker;
}
// biome-ignore lint/suspicious/noExplicitAny: each program has a job of its own
type Program = (t: Thread, job: any) => unknown;
interface WorkerPort {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
}

// Addresses in memory, in bytes.
type LayerPlaces = Record<MatrixName | "norm_in" | "norm_mid" | "k" | "v", number>;
interface Places
  extends Record<
    "turn" | "norm" | "x" | "qkv" | "attended" | "inner" | "logits" | "head" | "end",
    number
  > {
  normed: number[];
  scores: number[];
  layers: LayerPlaces[];
}
type View2 = [address: number, width: number];
type MultiplyJob = { at: number; rows: number; k: number; products: number; limits: Limits };
type StepJob = { s: Shape; layers: number; batch: number; context: number; at: number };
type DecodeJob = StepJob & { most: number; limits: Limits };

// WebGPU (gpu.js, gpu_step.js).

interface Adapter {
  name: string;
  software: boolean;
  f16: boolean;
  timestamps: boolean;
  binding: number;
}
type GpuCall = { pipeline: GPUComputePipeline; group: GPUBindGroup; x: number; y: number };
type GpuLimits = Limits & { stopped: () => boolean; window?: number };
type GpuTimes = { seconds: number[]; wall: number[]; clock: string };
type StepOf = { s: Shape; layers: number; most: number; context: number; f16: boolean };
type GpuLayer = Record<MatrixName | "norm_in" | "norm_mid" | "k" | "v", GPUBuffer>;

// What is measured, and what the worker tells of it.

interface MeasureOptions {
  shape: Shape;
  context: number;
  batches: number[];
  memory: number;
  read: number;
  threads: number;
  wasm: boolean;
  gpu: boolean;
  probe: number;
  climb: number;
  seconds: number;
}
interface RoofFound {
  type: "roof";
  engine: string;
  threads?: number;
  able?: Abilities;
  about?: Adapter;
  bandwidth: Rate;
  compute: Record<string, Rate>;
}
interface PlanFound extends Plan {
  type: "plan";
  engine: string;
  wanted: number[];
  of: number;
  bytes: number;
  format: string;
}
interface PointFound extends Totals {
  type: "point";
  engine: string;
  batch: number;
  context: number;
  layers: number;
  format: string;
  seconds: { median: number; best: number; spread: number | null; samples: number };
  threads?: number;
  clock?: string;
  hidden?: boolean;
}
type Message =
  | RoofFound
  | PlanFound
  | PointFound
  | { type: "done"; stopped: boolean }
  | { type: "error"; code: string; values?: Values }
  | { type: "note"; code: string; values?: Values }
  | { type: "progress"; code: string; fraction: number; values?: Values }
  | { type: "ready"; control: Int32Array | null };
type About = { browser: string; version: string; date: string };

// The panel (panel.js), and the model that writes (writer.js).

interface LiveApi {
  shapes: LiveShape[];
  file: LiveFile | null;
  formats: Record<string, Format>;
  rules: Rules;
  version: string;
  worker: string;
  options?: Partial<MeasureOptions>;
  take?: (text: string) => unknown;
  addModel?: (model: Model) => void;
  show?: (changes: Patch) => void;
}
type LiveChosen = { model: string; context: string; memory: string; part: string };
interface LiveKept {
  messages: Message[];
  roofs: Record<string, RoofFound>;
  plans: Record<string, PlanFound & { model: string }>;
  machines: Record<string, { id: string; name: string }>;
  points: object[];
  took: number;
}
interface LiveOf {
  api: LiveApi;
  chosen: LiveChosen;
  kept: LiveKept;
  begin: () => void;
  session: { running: boolean; stop: () => void };
  planValues: (plan: PlanFound) => Values;
}
interface LiveView {
  t: Words;
  clear: () => void;
  busy: (on: boolean) => void;
  tell: (message: Message) => void;
}
interface LivePanel {
  draw: (element: HTMLElement, t: Words) => void;
  kept: LiveKept;
  stop: () => void;
}

// null: not yet chosen
type WriterChosen = {
  prompt: string | null;
  tokens: string;
  count: string;
  threads: string | null;
};
interface WriterApi extends LiveApi {
  file: LiveFile;
  about: About;
  roofOf: () => RoofFound | undefined;
  machineOf: () => [id: string | null, name: string | undefined];
}
interface WriterJob {
  prompt: string;
  tokens: number;
  count: number;
  marks: Moment[][];
  start: number;
  read?: number; // tokens of the prompt, as the engine counts them
  own: (number | undefined)[]; // tokens a second, as the engine counts them
}
interface Written {
  count: number;
  rate: number;
  each: number;
  engine?: number;
  threads: string | null;
  flops: number;
  bytes: number;
  intensity: number;
}
interface WriterKept {
  texts: string[];
  results: Written[];
  note: { code: string; values: Values } | null;
  status: { key: string; values: Values } | null;
}
interface WriterOf {
  file: LiveFile;
  api: WriterApi;
  chosen: WriterChosen;
  kept: WriterKept;
  begin: () => void;
  stop: () => void;
}
interface WriterView {
  busy(on: boolean): void;
  status(): void;
  note(): void;
  texts(): void;
  text(i: number): void;
  results(): void;
}
type EngineJob = { prompt: string; tokens: number; count: number };
type AgentData = { brands?: { brand: string; version: string }[]; platform?: string };
// What is shown of each message.
type Tellers = { [T in Message["type"]]?: (message: Extract<Message, { type: T }>) => void };

// WebGPU's flags, which the library of types leaves out.
declare const GPUBufferUsage: Record<
  "MAP_READ" | "COPY_SRC" | "COPY_DST" | "STORAGE" | "UNIFORM" | "QUERY_RESOLVE",
  number
>;
declare const GPUMapMode: Record<"READ", number>;
