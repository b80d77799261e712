// Measured points from a file (roofline.points/1, one JSON object a line), put under the roof.
// Whatever is in the file is data: numbers are checked, texts stay texts.

import { bound } from "./bound.js";

const LARGEST_FILE = 256 * 2 ** 20;
export const MOST_POINTS = 20000;
const TEXTS = ["basis", "phase", "model", "machine", "engine", "weights", "kv", "compute"];
const BASES = ["steps", "token", "first", "run"];

const positive = (v) => typeof v === "number" && Number.isFinite(v) && v > 0;
const whole = (v, least) => Number.isInteger(v) && v >= least && v <= 2 ** 40;

// A point as it is in a file, or null if it is none.
export function readPoint(value) {
  if (value === null || typeof value !== "object" || value.schema !== "roofline.points/1") {
    return null;
  }
  const point = { phase: "decode", basis: "steps" };
  for (const name of TEXTS) {
    const text = value[name];
    if (text === undefined || text === null) continue;
    if (typeof text !== "string") return null;
    point[name] = text.slice(0, 120);
  }
  if (!BASES.includes(point.basis) || !positive(value.seconds?.median)) return null;
  point.seconds = value.seconds.median;
  if (!Array.isArray(value.parts) || value.parts.length === 0 || value.parts.length > 64) return null;
  point.parts = [];
  for (const part of value.parts) {
    const count = part?.count ?? 1;
    if (!positive(count) || count > 2 ** 40 || !Array.isArray(part.groups)) return null;
    if (part.groups.length === 0 || part.groups.length > 64) return null;
    const groups = [];
    for (const g of part.groups) {
      if (!whole(g?.batch, 1) || !whole(g.new_tokens, 1) || !whole(g.past, 0)) return null;
      groups.push({ batch: g.batch, new: g.new_tokens, past: g.past, all: false });
    }
    point.parts.push({ count, grows: part.grows === true, groups });
  }
  const { roof } = value;
  if (roof && typeof roof === "object" && positive(roof.bandwidth)) {
    const compute = Object.entries(roof.compute ?? {}).filter(([, v]) => positive(v));
    point.roof = { bandwidth: roof.bandwidth, compute: Object.fromEntries(compute) };
  }
  if (whole(value.devices, 1)) point.devices = value.devices;
  return point;
}

// The points of a text. Of very many, evenly chosen ones; `lines` and `bad` count what was read.
export function readPoints(text) {
  const found = { points: [], lines: 0, bad: 0, thinned: false, tooLarge: text.length > LARGEST_FILE };
  if (found.tooLarge) return found;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  found.lines = lines.length;
  const every = Math.max(1, lines.length / MOST_POINTS);
  found.thinned = every > 1;
  for (let i = 0; i < lines.length; i += every) {
    let point = null;
    try {
      point = readPoint(JSON.parse(lines[Math.floor(i)]));
    } catch {
      // not JSON: counted below
    }
    if (point) found.points.push(point);
    else found.bad += 1;
  }
  return found;
}

// A name as it is compared: lower case, the organisation left out, words joined by hyphens.
const key = (name) =>
  name.split("/").at(-1).toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "");

export function sameName(entry, name) {
  const wanted = key(name);
  return [entry.id, entry.name, ...(entry.aliases ?? [])].some((one) => key(one) === wanted);
}

// The groups of a part at a few of its steps: work is linear in the past but for windows, so the
// middle alone is exact where there are none.
function stepsOf(part, exactInMiddle) {
  if (!part.grows || part.count <= 1) return [[part.count, part.groups]];
  const samples = exactInMiddle ? 1 : Math.min(16, Math.ceil(part.count));
  const found = [];
  for (let i = 0; i < samples; i += 1) {
    const at = ((i + 0.5) * part.count) / samples - 0.5;
    const grown = part.groups.map((g) => ({ ...g, past: Math.round(g.past + at * g.new) }));
    found.push([part.count / samples, grown]);
  }
  return found;
}

// Where a point lies under a case: FLOP/byte, FLOP/s, and its share of the roof; or null.
export function putUnder(point, c) {
  const linear = c.table.quantities.every((q) => !q.window && (q.stride ?? 1) === 1);
  let [flops, bytes, best, steps, batch, context] = [0, 0, 0, 0, 0, 0];
  let longest = 0;
  for (const part of point.parts) {
    for (const [count, groups] of stepsOf(part, linear)) {
      const b = bound(c, groups);
      flops += count * b.flops;
      bytes += count * b.bytes;
      best += count * bestTime(b, point.roof, c);
      steps += count;
    }
    if (part.count > longest) {
      longest = part.count;
      batch = part.groups.reduce((n, g) => n + g.batch, 0);
      const grown = part.grows ? (part.count - 1) / 2 : 0;
      context = part.groups[0].past + part.groups[0].new * (1 + grown);
    }
  }
  const [x, y] = [flops / bytes, flops / point.seconds];
  if (!positive(x) || !positive(y)) return null;
  return {
    ...point,
    x,
    y,
    batch,
    context,
    step_s: point.seconds / steps,
    share: best / point.seconds,
    exact: point.basis === "steps",
  };
}

// The overlapped bound under the roof measured with the point, where it came with one.
function bestTime(b, roof, c) {
  if (!roof) return b.overlapped_s;
  // Peaks measured with the point stand in for those of the case, in proportion.
  const ratios = Object.values(c.used)
    .filter((precision) => roof.compute[precision])
    .map((precision) => c.roof.compute[precision].value / roof.compute[precision]);
  const slower = ratios.length ? Math.max(...ratios) : 1;
  return Math.max(b.compute_s * slower, b.bytes / roof.bandwidth);
}
