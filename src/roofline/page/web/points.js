// Measured points from a file: roofline.points/1, one JSON object a line.
// Whatever is in the file is data: numbers are checked, texts stay texts.

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
  if (!Array.isArray(value.parts) || value.parts.length === 0 || value.parts.length > 64)
    return null;
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
  for (const [name, check] of [
    ["layers", whole],
    ["devices", whole],
    ["weight_bytes", positive],
  ]) {
    const number = value[name];
    if (number === undefined || number === null) continue;
    if (!check(number, 1)) return null;
    point[name] = number;
  }
  point.devices ??= 1;
  // Whether its layers were divided over its devices, and nothing else was.
  point.tensor = ["pp", "ep", "dp"].every((name) => (value.layout?.[name] ?? 1) === 1);
  point.roof = readRoof(value.roof);
  const device = value.settings?.device;
  point.device = typeof device === "string" ? device.split(":")[0] : "cpu";
  return point;
}

// The ceilings that were measured with a point, where both kinds are there; or null.
function readRoof(roof) {
  if (roof === null || typeof roof !== "object" || !positive(roof.bandwidth)) return null;
  const compute = Object.entries(roof.compute ?? {}).filter(([, v]) => positive(v));
  if (!compute.length) return null;
  return {
    bandwidth: roof.bandwidth,
    compute: Object.fromEntries(compute.slice(0, 20)),
    spread: positive(roof.spread) ? roof.spread : 0,
    launch: positive(roof.overhead?.launch) ? roof.overhead.launch : null,
  };
}

// The points of a text. Of very many, evenly chosen ones; `lines` and `bad` count what was read.
export function readPoints(text) {
  const found = {
    points: [],
    lines: 0,
    bad: 0,
    thinned: false,
    tooLarge: text.length > LARGEST_FILE,
  };
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
