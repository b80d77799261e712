// The shapes that the page's modules hand to each other, for the type checker; no part of a page.
// Numbers are in SI base units: FLOP, bytes, seconds, and these per second.

// What Python writes into the page: roofline/page/data.py says what each field means.

interface Figure {
  value: number;
  source?: string;
  kind?: string;
  note?: string;
  accumulate?: string;
  date?: string;
  spread?: number;
}
type Source = { title: string; url?: string; date?: string };
type Figures = Record<string, Figure>;
type Ceilings = { bandwidth?: Figures; compute?: Figures };

interface Link {
  name: string;
  bandwidth: Figure;
  latency: Figure | null;
  devices: number;
  scope?: string;
  topology?: string;
}

interface Machine {
  id: string;
  name: string;
  kind: string;
  aliases?: string[];
  memory?: { capacity?: Figure | null; usable?: Figure | null; type?: string; unified?: boolean };
  datasheet?: Ceilings;
  measured?: Ceilings;
  ceilings?: string;
  links?: Link[];
  launch?: number;
}

interface Format {
  name: string;
  size: number;
  compute: string;
  note?: string;
}

// A quantity of a step, with the fields that its kind has (roofline/step.py).
interface Quantity {
  q: string;
  window: number; // or null
  stride: number;
  costs: [number, number, number, number];
  experts: number;
  active: number;
  over: number;
  most: number;
}

// Open coefficients (roofline/page/factors.py): how much, of the bytes of what, scaled how.
type OpenSize = [coefficient: number, factor?: Factor, scale?: number];
type OpenTerm = [quantity: number, coefficient: number, factor?: Factor, scale?: number];
type Factor = "" | "w" | "c" | "a";

interface OpenOperator {
  name: string;
  kind: string;
  count: number;
  compute: string;
  flops: OpenTerm[];
  bytes: Record<string, OpenTerm[]>;
  collective?: string;
  in?: Record<string, number>;
}
interface OpenTable {
  resident: OpenSize[];
  quantities: Quantity[];
  operators: OpenOperator[];
  scales: number[][];
}
interface Tables {
  devices: number[];
  uniform: OpenTable;
  own?: OpenTable;
  cast?: OpenTable;
}

interface Model {
  id: string;
  name: string;
  aliases?: string[];
  parameters: number;
  active: number;
  longest: number | null;
  dtype: string;
  kv: string | null;
  stored: string | null;
  scheme: string;
  matrix: number;
  notes: string[];
  source: Source;
  tables: Tables;
  others: Tables[];
  layers?: { kinds: string; parameters: Record<string, number> };
}

type Kind = "weights" | "kv" | "compute";
type Engine = { id: string; title: string; versions: string };

// Predictions at the stops of the sliders (roofline/page/predicted.py).
type Grid = { tokens: number[]; seconds: number[][] };
interface Predictions {
  model: string;
  machine: string;
  devices: number;
  weights: string;
  kv: string;
  compute: string;
  engine: Engine;
  level: number;
  rows: number;
  batch: number[];
  like: [low: number, high: number, widen: number, ...strangers: string[]][];
  decode: Grid;
  prefill: Grid;
}

// What Python and the page both go by (roofline/page/rules.py).
interface Rules {
  devices: number;
  usable: number;
  batch: number;
  ticks: number[];
  wider: Record<string, string[]>;
  wide: string[];
  precisions: string[];
  multiplied: Record<string, string>;
  levers: {
    weights: string[];
    kv: string[];
    compute: string;
    narrow: string[];
    smaller: number;
    least: number;
    drafted: number;
  };
  say: { apart: number; share: number; waited: number; copies: number; routed: number };
  place: {
    segments: number;
    wall: Record<string, number>;
    slack: number;
    wide: number;
    launch: Record<string, number>;
    refuted: number;
    fixed: number;
    above: number;
    apart: number;
    scatter: number;
  };
}

interface PageData {
  version: string;
  date: string;
  formats: Record<string, Format>;
  spelled: Record<string, string>;
  endings: string[];
  choices: Record<Kind, string[]>;
  models: Model[];
  machines: Machine[];
  latencies: [word: string, least: Figure][];
  sources: Record<string, Source>;
  points: unknown[];
  rules: Rules;
  start?: Partial<State>;
  predicted?: Predictions[];
  live?: boolean;
  engines?: Engine[];
  known?: string[];
  browser: { shapes: LiveShape[]; file: LiveFile | null };
}

// What the reader has chosen (state.js).

type Phase = "decode" | "prefill" | "verify" | "mixed";
interface State {
  model: string;
  machines: string[];
  phase: Phase;
  batch: number;
  context: number;
  prompt: number;
  drafted: number;
  devices: number;
  weights: string;
  kv: string;
  compute: string;
  ceilings: string;
  engine: string;
  operators: boolean;
  story: number;
  lang: string;
}
type Patch = Partial<State>;
type SetState = (change: Patch | ((state: State) => Patch), commit?: boolean) => void;

// A step of the walk: what it sets, and what it lets one try.
type Try = { key: string; values?: Values; set: Patch };
type StoryStep = { key: string; set: Patch; tries: Try[] };

type Values = Record<string, string | number | boolean | null | undefined>;
interface Words {
  (key: string, values?: Values): string;
  language: string;
  has(key: string): boolean;
  list: string;
  clauses: string;
  sides: string;
  /** A note of the data, which is English, in this language. */
  note: (text: string) => string;
}

// A step, and a model's work on it (work.js).

interface Group {
  batch: number;
  new: number;
  past: number;
  all: boolean;
}
type Term = [quantity: number, coefficient: number];
interface Operator {
  name: string;
  kind: string;
  count: number;
  compute: string;
  flops: Term[];
  bytes: Record<string, Term[]>;
  collective?: string;
}
interface Work {
  schema: string;
  resident: number;
  quantities: Quantity[];
  operators: Operator[];
}
interface Cost {
  op: Operator;
  flops: number;
  bytes: number;
  weights: number;
  kv_read: number;
  kv_write: number;
  state: number;
}

interface Options {
  weights?: string;
  kv?: string;
  compute?: string;
  ceilings?: string;
  usable?: number;
  devices?: number;
  perfect?: boolean;
}

// What the formulas need of a page's data.
type Known = Pick<PageData, "formats" | "rules">;

// A model under a machine's roof, and what is asked of it (bound.js, devices.js, verdict.js).

type Ceiling = Figure & { kind: string };
interface Roof {
  kind: string;
  bandwidth: Ceiling;
  compute: Record<string, Ceiling>;
}

interface LinkShare {
  link: Link;
  inner: number;
  domain: number;
  carries: number;
  bandwidth: number;
}
interface Level {
  inner: number;
  shares: LinkShare[];
  crosses: number;
  bandwidth: number;
  per_byte: number;
}
interface Wire {
  group: number;
  shares: LinkShare[];
  levels: Level[];
  latency: Figure | null;
  per_byte: number;
  per_message: number;
}

interface Row {
  op: Operator;
  precision: string;
  peak: number;
  flops: Term[];
  parts: Term[][];
  talk: Term[][] | null;
}
interface Case {
  model: Model;
  machine: Machine;
  options: Options;
  data: Known;
  roof: Roof;
  table: Work;
  rows: Row[];
  used: Record<string, string>;
  borrowed: string[];
  devices: number;
  wire: Wire | null;
  chosen: Format | null;
  cache: Format;
  activations: Format;
  bandwidth: number;
  memory: number | null;
  usable: number;
  others: Map<string, Case | null>;
}

type Binds = "memory" | "compute" | "communication";
interface Bound {
  flops: number;
  weights: number;
  kv_read: number;
  kv_write: number;
  kv: number;
  state: number;
  bytes: number;
  sent: number;
  messages: number;
  compute_s: number;
  memory_s: number;
  communication_s: number;
  overlapped_s: number;
  serial_s: number;
  memory_bound: boolean;
  communication_bound: boolean;
  binds: Binds;
  intensity: number;
  ridge: number;
  tokens: number;
  sequences: number;
  tokens_per_s: number;
  attainable: number;
  shares: Record<string, number>;
}

// One kind of operator of a step; sent and messages only where it is an exchange.
interface Operated {
  name: string;
  kind: string;
  count: number;
  compute: string;
  flops: number;
  bytes: number;
  intensity: number | null;
  seconds: number;
  bound: Binds;
  sent?: number;
  messages?: number;
  collective?: string;
}

interface Climb {
  limit: number | null;
  crossing: number | null;
  reason: string | null;
  ridge: number;
  linear_crossing: number | null;
  kv_outweighs: number | null;
}
interface Fit {
  weights: number;
  kv: number;
  workspace: number;
  memory: number | null;
  usable: number;
  most: number | null;
}
type Verdict = { code: string; memory_bound: boolean; shares: Record<string, number> };
type Lever = { code: string; gain: number; values: LeverValues };
type LeverValues = {
  to?: string;
  batch?: number;
  step_s?: number;
  drafted?: number;
  devices?: number;
  tp?: number;
  serial_gain?: number;
  tokens_per_s?: number;
};

// A prediction, or why there is none; in the plane, beside the step that it is of.
interface Forecast {
  value: number;
  low: number;
  high: number;
  level: number;
  engine: Engine;
  rows: number;
  strangers: string[];
  widen: number;
}
type NoForecast = { value?: undefined; none?: string; error?: string };
type Placing = { x: number; y: number; lowest: number; highest: number; of: Bound };
type Predicted = (Forecast & Placing) | NoForecast;

// Measured points (points.js), and where they lie (placed.js).

type Part = { count: number; grows: boolean; groups: Group[] };
interface PointRoof {
  bandwidth: number;
  compute: Record<string, number>;
  spread: number;
  launch: number | null;
}
interface Point {
  basis: string;
  phase: string;
  seconds: number;
  parts: Part[];
  devices: number;
  tensor: boolean;
  device: string;
  roof: PointRoof | null;
  model?: string;
  machine?: string;
  engine?: string;
  weights?: string;
  kv?: string;
  compute?: string;
  layers?: number;
  weight_bytes?: number;
}
interface Placed extends Point {
  x: number;
  y: number;
  batch: number;
  context: number;
  steps: number;
  step_s: number;
  share: number;
  bound_s: number;
  least_s: number;
  routed: boolean;
  exact: boolean;
  binding: string;
  kernels: number;
  c: Case;
  known: boolean;
  verdict: string;
  group: string;
}

// What the picture shows (scene.js, view.js) and how it is drawn (plot.js, place.js).

type Spot = { x: number; y: number };
type Stop = Spot & { bound: Bound; batch?: number; prompt?: number };
type Tick = Stop & { batch: number };
interface RoofLines {
  kind: string;
  bandwidth: number | null;
  peaks: { precision: string; value: number }[];
}
// All of one machine but the step itself, and with it.
interface Scene {
  used: string[];
  roofs: RoofLines[];
  others: { value: number; names: string[] }[];
  path: Tick[];
  talk: Spot[];
  ticks: Tick[];
  limit: Spot | null;
  full: Tick | null;
  room: Fit;
  climbed: Climb;
  prefill: Stop & { prompt: number };
  lowest: number;
}
interface Series extends Scene {
  c: Case;
  here: Tick;
  ridge: Spot;
  ghost: (Spot & { batch: number })[];
  predicted: Predicted | null;
}
type Dot = Operated & Spot & { share: number };
type Span = [low: number, high: number];

interface Main {
  c: Case;
  groups: Group[];
  b: Bound;
  climbed: Climb;
  f: Fit;
  verdict: Verdict;
  notes: string[];
  predicted: Predicted | null;
  levers: Lever[];
  operators: Operated[];
}
interface View {
  state: State;
  model: Model;
  list: Series[];
  main: Main;
  refusals: string[];
  counts: number[];
  dots: Dot[];
  points: Placed[];
  hiddenPoints: number;
  pointsKey: string;
  domain: { x: Span; y: Span };
  said: string;
}

type Measure = (text: string, weight?: number) => number;
type Box = { x0: number; y0: number; x1: number; y1: number };
type Segment = [x0: number, y0: number, x1: number, y1: number];
type Crossed = [x0: number, y0: number, x1: number, y1: number, weight: number];
type Direction = "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw";
type Around = [x: number, y: number, directions: Direction[]];
interface Label {
  rank: number;
  key: string;
  spots: Around[];
  gap: number;
  reach: number;
  texts: { text: string; width: number }[];
  height: number;
  className: string;
}
type PlacedLabel = Box & { label: Label; text: string; leader: Segment | null };

type Attributes = Record<string, string | number>;
type Drawn = [key: string, tag: string, attributes: Attributes, text?: string];
type LayerName = "grid" | "roofs" | "paths" | "dots" | "marks" | "labels";
interface Scale {
  (value: number): number;
  low: number;
  high: number;
}
// A mark that one can point at; text: what it says then.
interface Mark extends Spot {
  kind: string;
  text: () => string[];
  s?: Series;
  i?: number;
  r?: number;
}
interface Plot {
  area: Box;
  X: Scale;
  Y: Scale;
  narrow: boolean;
  several: boolean;
  nodes: Record<LayerName, Drawn[]>;
  lines: Crossed[];
  boxes: Box[];
  labels: Label[];
  marks: Mark[];
  placed: PlacedLabel[];
  stops?: Mark[];
}
interface Chart {
  element: HTMLElement;
  update(view: View, t: Words): void;
  resize(): void;
  redraw(): void;
  svgs(): SVGElement[];
}

// A cell: its text for people, its value for files.
type Cell = [text: string, value: string | number];
type Rows = { head: string[]; rows: Cell[][] };

interface App {
  set: SetState;
  readonly state: State;
  readonly view: View | null;
  readonly points: Point[];
  say(text: string): void;
  redraw(): void;
  refresh(): void;
  unfold(): void;
  addPoints(more: Point[]): { shown: number; hidden: number };
}
interface MountOptions {
  state?: Patch;
  points?: Point[];
  compact?: boolean;
  onChange?: (state: State, commit: boolean) => void;
}

// Set above element.js when it is put together.
declare const ROOFLINE: {
  data: PageData;
  words: Record<string, Record<string, string>>;
  style: string;
};

// Within dom.js, svg.js, points.js, predicted.js, placed.js, resolve.js.

type OneChild = Node | string | null | undefined;
type Child = OneChild | OneChild[];
type Kept = {
  tag: string;
  element: SVGElement;
  attributes: Record<string, string>;
  text: string | undefined;
};
type Read = { points: Point[]; lines: number; bad: number; thinned: boolean; tooLarge: boolean };

type Interval = { value: number; low: number; high: number; level: number };
type Answer = Omit<Forecast, keyof Interval> & { seconds: Interval; error?: string };
interface Predictor {
  engines: Engine[];
  begin(): void;
  of(c: Case, state: State, groups: Group[]): Forecast | NoForecast | null;
}

type Summed = Pick<
  Bound,
  | "flops"
  | "weights"
  | "kv"
  | "state"
  | "compute_s"
  | "memory_s"
  | "communication_s"
  | "overlapped_s"
>;
type Under = Omit<Placed, "known" | "verdict" | "group">;
type Resolved = { model: Model; machine: Machine; options: Options; known: boolean };
type Resolve = (
  point: Point,
  shown: { model: Model; machine: Machine; state: State },
) => Resolved | null;
type Exchange = { sent: number; messages: number; seconds: number };

// Within say.js, marks.js, plot.js and what stands around the picture.

type Sources = Record<string, Source>;
type Asked = Omit<Main, "verdict" | "notes" | "predicted" | "levers">;
type MarkKind = "here" | "tick" | "full" | "prefill" | "limit" | "ridge" | "ghost";
type Marked = Spot & { bound?: Bound; batch?: number; prompt?: number };
type Pixel = [x: number, y: number];
type Size = { width: number; height: number };
type Drawing = { out: Plot; t: Words; ruler: Measure; view: View; s: Series; i: number };
type Option = [value: string, text: string];
interface Slider {
  element: HTMLElement;
  update(value: number, text: string): void;
  stretch(to: number): void;
}
interface Controls {
  top: HTMLElement;
  toggle: HTMLElement;
  sliders: HTMLElement;
  update(state: State, view: View): void;
}
interface Panel {
  element: HTMLElement;
  update(view: View): void;
  finish(view: View): void;
  explain(main: Main, always?: boolean): void;
  onOpen(listener: () => void): void;
}
interface Story {
  element: HTMLElement;
  steps: number;
  start(): void;
  update(state: State, valuesOf: () => Values): void;
}
interface Twin {
  element: HTMLDetailsElement;
  buttons: HTMLElement;
  update(view: View, always?: boolean): void;
}
type TakenMachine =
  | { error: string; machine?: undefined; sources?: undefined }
  | { error?: undefined; machine: Machine; sources: Sources };
