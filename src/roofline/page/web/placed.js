// @ts-check
// A measured point under a roof: its work, its share of the roof, and the verdict on the gap.
// The same as roofline/placing/placed.py and gap.py.

import { bound } from "./bound.js";
import { halfEven } from "./units.js";
import { fewest } from "./work.js";

/** @type {(keyof Summed)[]} */
const SUMMED = [
  "flops",
  "weights",
  "kv",
  "state",
  "compute_s",
  "memory_s",
  "communication_s",
  "overlapped_s",
];

// The steps of a part with how many times each is run: growing ones cost what their first and
// last do on average, in so many pieces at most: windows bend the line.
/** @type {(part: Part, most: number) => [times: number, groups: Group[]][]} */
function stepsOf(part, most) {
  if (!part.grows || part.count <= 1) return [[part.count, part.groups]];
  const pieces = Math.min(most, Math.trunc(part.count));
  const size = part.count / pieces;
  /** @type {(index: number) => Group[]} */
  const later = (index) => part.groups.map((g) => ({ ...g, past: g.past + index * g.new }));
  /** @type {[times: number, groups: Group[]][]} */
  const steps = [];
  for (let piece = 0; piece < pieces; piece += 1) {
    const first = halfEven(piece * size);
    const last = Math.max(halfEven((piece + 1) * size) - 1, 0);
    steps.push([size / 2, later(first)], [size / 2, later(last)]);
  }
  return steps;
}

const NOTHING = {
  ...{ flops: 0, weights: 0, kv: 0, state: 0 },
  ...{ compute_s: 0, memory_s: 0, communication_s: 0, overlapped_s: 0 },
};

/** @type {(v: number) => boolean} */
const positive = (v) => Number.isFinite(v) && v > 0;

// Whether anything that the case counts grows other than in proportion to the cache.
/** @type {(c: Case) => boolean} */
function isBent(c) {
  const counted = new Set(
    c.rows.flatMap((row) => [row.flops, ...row.parts].flat().map(([q]) => q)),
  );
  return c.table.quantities.some((q, i) => counted.has(i) && (q.window || (q.stride ?? 1) > 1));
}

// A point with its place: FLOP/byte, FLOP/s (of one of its devices, where there are several), and
// its share of the case's roof; or null. The case is of as many devices as the point.
/** @type {(point: Point, c: Case) => Under | null} */
export function putUnder(point, c) {
  const pieces = isBent(c) ? c.data.rules.place.segments : 1;
  /** @type {Summed} */
  const work = { ...NOTHING };
  const routed = c.table.quantities.some((q) => q.q === "touched");
  let [steps, least] = [0, 0]; // least: seconds of traffic with the fewest experts there can be
  let longest = point.parts[0];
  for (const part of point.parts) {
    for (const [count, groups] of stepsOf(part, pieces)) {
      const b = bound(c, groups);
      for (const name of SUMMED) work[name] += count * b[name];
      if (routed) least += count * bound(c, groups, fewest).memory_s;
      steps += count;
    }
    if (part.count > longest.count) longest = part;
  }
  const bytes = work.weights + work.kv + work.state;
  const [x, y] = [work.flops / bytes, work.flops / point.seconds];
  if (!positive(x) || !positive(y)) return null;
  return {
    ...point,
    x,
    y,
    ...shapeOf(longest),
    steps,
    step_s: point.seconds / steps,
    share: work.overlapped_s / point.seconds,
    bound_s: work.overlapped_s,
    least_s: routed
      ? Math.min(work.overlapped_s, Math.max(work.compute_s, least, work.communication_s))
      : work.overlapped_s,
    routed,
    exact: point.basis === "steps",
    binding: bindingOf(work),
    kernels: 2 * c.rows.reduce((n, row) => n + (row.flops.length ? row.op.count : 0), 0),
    c,
  };
}

// Batch and mean context of the part with the most steps.
/** @type {(part: Part) => { batch: number, context: number }} */
function shapeOf(part) {
  let [batch, seen] = [0, 0];
  for (const g of part.groups) {
    const grown = part.grows ? ((part.count - 1) / 2) * g.new : 0;
    batch += g.batch;
    seen += g.batch * (g.past + g.new + grown);
  }
  return { batch, context: seen / batch };
}

// The ceiling that binds.
/** @type {(work: Summed) => string} */
function bindingOf({ compute_s, memory_s, communication_s, weights, kv, state }) {
  if (communication_s > Math.max(memory_s, compute_s)) return "communication";
  if (memory_s < compute_s) return "compute";
  /** @type {[code: string, bytes: number][]} */
  const parts = [
    ["memory:weights", weights],
    ["memory:kv", kv],
    ["memory:state", state],
  ];
  return parts.reduce((most, part) => (part[1] > most[1] ? part : most))[0];
}

// Seconds per kernel that a point leaves beside its bound.
/** @type {(p: Under) => number} */
const beside = (p) => Math.max(0, p.seconds - p.bound_s) / (p.kernels * p.steps);

// The verdict on one placed point; fixed: seconds per step that points of its engine show, floor:
// the least seconds per kernel that they leave beside their bounds.
/** @type {(p: Under, fixed: number | null, floor: number | null) => string} */
function verdictOf(p, fixed, floor) {
  const rules = p.c.data.rules.place;
  const { kind, spread } = p.c.roof.bandwidth;
  const slack = Math.max(
    rules.slack,
    kind === "measured" ? 2 * Math.min(spread ?? 0, rules.wide) : 0,
  );
  if (p.share > 1 + slack)
    return p.routed && p.least_s / p.seconds <= 1 + slack ? "routing" : "suspect";
  if (p.share >= rules.wall[kind]) return p.binding;
  const { machine } = p.c;
  const measured = p.roof?.launch ?? machine.launch;
  const launch = measured ?? rules.launch[machine.kind] ?? rules.launch.gpu;
  const refuted =
    measured === undefined && launch > rules.refuted * Math.min(floor ?? Infinity, beside(p));
  const lost = (p.seconds - p.bound_s) / p.steps;
  return (fixed ?? (refuted ? 0 : launch * p.kernels)) >= rules.fixed * lost
    ? "overhead"
    : "kernel";
}

// Gives each placed point its verdict, by the fixed time that points of one engine show together.
/** @type {(points: Placed[]) => void} */
export function judgePoints(points) {
  /** @type {Map<string, Placed[]>} */
  const engines = new Map();
  for (const p of points) {
    p.group = JSON.stringify([p.engine, p.model, p.layers, p.weights, p.kv, p.c.machine.name]);
    const group = engines.get(p.group);
    if (group) group.push(p);
    else engines.set(p.group, [p]);
  }
  for (const group of engines.values()) {
    const decode = group.filter((p) => p.phase === "decode");
    const left = decode.filter((p) => p.share <= 1).map(beside);
    const [fixed, floor] = [fixedTime(decode), left.length ? Math.min(...left) : null];
    for (const p of group) p.verdict = verdictOf(p, fixed, floor);
  }
}

// Fixed seconds per step, where steps of different size are on one line; else null.
/** @type {(points: Under[]) => number | null} */
function fixedTime(points) {
  if (!points.length) return null;
  const { above, apart, scatter } = points[0].c.data.rules.place;
  const pairs = points
    .filter((p) => p.exact && p.bound_s > 0 && p.share <= above)
    .map((p) => [p.bound_s / p.steps, p.seconds / p.steps]);
  if (pairs.length < 2) return null;
  /** @type {(pick: (a: number, b: number) => number) => number} */
  const extreme = (pick) => pairs.reduce((n, [b]) => pick(n, b), pairs[0][0]);
  if (extreme(Math.max) < apart * extreme(Math.min)) return null;
  let [s, sx, sy, sxx, sxy] = [0, 0, 0, 0, 0];
  for (const [bounded, time] of pairs) {
    const weight = 1 / time ** 2;
    s += weight;
    sx += weight * bounded;
    sy += weight * time;
    sxx += weight * bounded * bounded;
    sxy += weight * bounded * time;
  }
  let slope = (s * sxy - sx * sy) / (s * sxx - sx * sx);
  if (slope < 1) {
    if (pairs.length < 3) return null; // faster than the roof from one to the next: no line
    slope = 1;
  }
  const fixed = (sy - slope * sx) / s;
  if (fixed <= 0) return 0;
  const errors = pairs.map(([b, time]) => Math.abs(fixed + slope * b - time) / time);
  errors.sort((one, other) => one - other);
  return errors[Math.floor(errors.length / 2)] < scatter ? fixed : null;
}
