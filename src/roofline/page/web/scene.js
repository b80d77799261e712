// @ts-check
// What the picture shows, as data in FLOP/byte and FLOP/s; roofline/chart/picture.py shows the
// same in a terminal and in print.

import { bound, climb, fit } from "./bound.js";
import { groupsOf } from "./state.js";
import { numberOf } from "./units.js";
import { step } from "./work.js";

const DOUBLINGS = 20;

/** @type {<T extends object>(c: Case, groups: Group[], more: T) => Stop & T} */
const pointOf = (c, groups, more) => {
  const b = bound(c, groups);
  return { x: b.intensity, y: b.attainable, bound: b, ...more };
};

const SHOWN = ["fp32", "bf16", "fp16", "fp8", "int8", "fp4", "int4"];

// The precisions that the products of a case run in, the matrices' first.
/** @type {(c: Case) => string[]} */
function precisionsOf(c) {
  const flops = c.rows.filter((row) => row.flops.length);
  const matrices = flops.filter((row) => row.op.kind !== "attention" && row.op.kind !== "state");
  return [...new Set([...matrices, ...flops].map((row) => row.precision))];
}

// The other peaks of a machine, one for each value.
/** @type {(c: Case, used: string[]) => Scene["others"]} */
function otherPeaks(c, used) {
  /** @type {Map<number, string[]>} */
  const peaks = new Map();
  const taken = used.map((precision) => c.roof.compute[precision].value);
  for (const [precision, { value }] of Object.entries(c.roof.compute)) {
    if (!SHOWN.includes(precision) || taken.includes(value)) continue;
    peaks.set(value, [...(peaks.get(value) ?? []), precision]);
  }
  return [...peaks].map(([value, names]) => ({ value, names }));
}

// Both kinds of ceilings of a machine, as far as they are known, in the precisions used.
/** @type {(c: Case, used: string[]) => RoofLines[]} */
function roofsOf(c, used) {
  /** @type {RoofLines[]} */
  const found = [];
  /** @type {(f: Figure | null | undefined) => number | null} */
  const value = (f) => (f === undefined || f === null ? null : numberOf(f));
  for (const kind of /** @type {const} */ (["datasheet", "measured"])) {
    const bandwidth = value(c.machine[kind]?.bandwidth?.memory);
    const peaks = used.flatMap((precision) => {
      const peak = value(c.machine[kind]?.compute?.[precision]);
      return peak ? { precision, value: peak } : [];
    });
    if (bandwidth || peaks.length) found.push({ kind, bandwidth, peaks });
  }
  return found;
}

/** @type {WeakMap<Case, { key: string, scene: Scene }>} */
const kept = new WeakMap();

// Everything about one machine. `state` says which step; the path is its climb with the batch,
// or that of decode where the step has a prefill in it. All but the step itself is the same for
// every batch, and kept with the case while the batch is dragged.
/** @type {(c: Case, state: State) => Series} */
export function seriesOf(c, state) {
  const key = [
    state.phase,
    state.phase === "verify" ? state.drafted : "",
    state.context,
    state.prompt,
  ].join();
  let known = kept.get(c);
  if (known?.key !== key) {
    known = { key, scene: climbOf(c, state) };
    kept.set(c, known);
  }
  const { scene } = known;
  const here = pointOf(c, groupsOf(state), { batch: state.batch });
  // The ridge of the step's own mix of arithmetic: where all runs in one precision, that one's.
  const ridge = { x: here.bound.ridge, y: here.bound.ridge * c.bandwidth };
  const ghost = c.data.rules.ticks.map((n) => {
    const x = scene.path[0].x * n;
    return { batch: n, x, y: Math.min(ridge.y, c.bandwidth * x) };
  });
  return { ...scene, c, here, ridge, ghost, predicted: null };
}

// What is the same for every batch.
/** @type {(c: Case, state: State) => Scene} */
function climbOf(c, state) {
  /** @type {State} */
  const climbing = state.phase === "verify" ? state : { ...state, phase: "decode" };
  /** @type {(batch: number) => Tick} */
  const at = (batch) => pointOf(c, groupsOf(climbing, batch), { batch });
  const groups = groupsOf(climbing, 1);
  const used = precisionsOf(c);
  const climbed = climb(c, groups);
  const room = fit(c, groupsOf(state, 1)); // what is full is said of the step itself
  /** @type {Tick[]} */
  const path = [];
  // Over devices the path may bend anywhere: half steps, and the ceiling that bends it.
  const halves = c.wire ? [1, Math.SQRT2] : [1];
  for (let i = 0; i <= DOUBLINGS; i += 1) {
    for (const batch of new Set(halves.map((half) => Math.round(half * 2 ** i)))) {
      if (batch > (path.at(-1)?.batch ?? 0)) path.push(at(batch));
    }
  }
  const talk = c.wire?.per_byte
    ? path.map(({ x, bound: b }) => ({ x, y: b.flops / b.communication_s }))
    : [];
  const { limit } = climbed;
  return {
    used,
    roofs: roofsOf(c, used),
    others: otherPeaks(c, used),
    path,
    talk,
    ticks: c.data.rules.ticks.map(at),
    limit:
      limit === null
        ? null
        : { x: limit, y: Math.min(path[path.length - 1].y, c.bandwidth * limit) },
    full: room.most ? at(Math.min(room.most, 2 ** DOUBLINGS)) : null,
    room,
    climbed,
    prefill: pointOf(c, step.prefill(1, state.prompt), { prompt: state.prompt }),
    lowest: pointOf(c, groupsOf({ ...climbing, context: 1, prompt: 1 }, 1), {}).x,
  };
}

// One dot per operator under the roof, with its share of the serial bound's time.
/** @type {(all: Operated[]) => Dot[]} */
export function dotsOf(all) {
  const time = all.reduce((n, op) => n + op.seconds, 0);
  return all
    .flatMap((op) =>
      op.flops && op.intensity
        ? { ...op, x: op.intensity, y: op.flops / op.seconds, share: op.seconds / time }
        : [],
    )
    .sort((one, other) => other.share - one.share);
}

const STEPS = [1, 2, 5, 10];
/** @type {(v: number) => number} */
const down = (v) => {
  const size = 10 ** Math.floor(Math.log10(v));
  return (STEPS.findLast((s) => s * size <= v * (1 + 1e-12)) ?? 1) * size;
};
/** @type {(v: number) => number} */
const up = (v) => {
  const size = 10 ** Math.floor(Math.log10(v));
  return (STEPS.find((s) => s * size >= v * (1 - 1e-12)) ?? 10) * size;
};

// The stretch of both axes that shows all series, dots and points; it moves in steps, so that
// dragging a slider seldom moves it.
/** @type {(list: Series[], dots: Dot[], points: Placed[]) => { x: Span, y: Span }} */
export function domainOf(list, dots, points) {
  /** @type {number[]} */
  const xs = [];
  /** @type {number[]} */
  const ys = [];
  for (const s of list) {
    xs.push(s.lowest / 1.6, s.here.x, s.prefill.x * 1.5, s.ridge.x * 3);
    ys.push(s.ridge.y * 1.5, s.here.y, s.prefill.y, s.path[0].y);
    if (s.predicted?.value) ys.push(s.predicted.lowest / 1.3);
    for (const roof of s.roofs) ys.push(...roof.peaks.map((peak) => peak.value * 1.5));
  }
  for (const other of list[0].others) ys.push(other.value * 1.3);
  for (const dot of dots) xs.push(dot.x * 1.3, dot.x / 1.3);
  const x = [down(Math.min(...xs)), up(Math.max(...xs))];
  for (const s of list) {
    for (const roof of s.roofs) ys.push((roof.bandwidth ?? s.c.bandwidth) * x[0]);
    ys.push(s.c.bandwidth * x[0]);
  }
  /** @type {Span} */
  const y = [Math.min(...ys), Math.max(...ys)];
  for (const p of points) {
    // A point far outside (a mistaken unit) must not squeeze everything else together.
    if (p.x > x[0] / 100 && p.x < x[1] * 100) {
      x[0] = Math.min(x[0], p.x / 1.2);
      x[1] = Math.max(x[1], p.x * 1.2);
    }
    if (p.y > y[0] / 1e4 && p.y < y[1] * 100) {
      y[0] = Math.min(y[0], p.y / 1.3);
      y[1] = Math.max(y[1], p.y * 1.3);
    }
  }
  return { x: [down(x[0]), up(x[1])], y: [down(y[0]), up(y[1])] };
}
