// @ts-check
// Measured points from a file: roofline.points/1, one JSON object a line.
// Whatever is in the file is data: numbers are checked, texts stay texts.

const LARGEST_FILE = 256 * 2 ** 20;
export const MOST_POINTS = 20000;
const TEXTS = /** @type {const} */ ([
  "basis",
  "phase",
  "model",
  "machine",
  "engine",
  "weights",
  "kv",
  "compute",
]);
const BASES = ["steps", "token", "first", "run"];

/** @type {(v: unknown) => boolean} */
const positive = (v) => typeof v === "number" && Number.isFinite(v) && v > 0;
/** @type {(v: any, least: number) => boolean} */
const whole = (v, least) => Number.isInteger(v) && v >= least && v <= 2 ** 40;

// A point as it is in a file, or null if it is none.
/** @type {(value: any) => Point | null} */
export function readPoint(value) {
  if (value === null || typeof value !== "object" || value.schema !== "roofline.points/1") {
    return null;
  }
  /** @type {Partial<Record<(typeof TEXTS)[number], string>> & { phase: string, basis: string }} */
  const texts = { phase: "decode", basis: "steps" };
  for (const name of TEXTS) {
    const text = value[name];
    if (text === undefined || text === null) continue;
    if (typeof text !== "string") return null;
    texts[name] = text.slice(0, 120);
  }
  if (!BASES.includes(texts.basis) || !positive(value.seconds?.median)) return null;
  if (!Array.isArray(value.parts) || value.parts.length === 0 || value.parts.length > 64)
    return null;
  /** @type {Part[]} */
  const parts = [];
  for (const part of value.parts) {
    const count = part?.count ?? 1;
    if (!positive(count) || count > 2 ** 40 || !Array.isArray(part.groups)) return null;
    if (part.groups.length === 0 || part.groups.length > 64) return null;
    const groups = [];
    for (const g of part.groups) {
      if (!whole(g?.batch, 1) || !whole(g.new_tokens, 1) || !whole(g.past, 0)) return null;
      groups.push({ batch: g.batch, new: g.new_tokens, past: g.past, all: false });
    }
    parts.push({ count, grows: part.grows === true, groups });
  }
  const layers = value.layers ?? undefined;
  const devices = value.devices ?? 1;
  const weight_bytes = value.weight_bytes ?? undefined;
  if ((layers !== undefined && !whole(layers, 1)) || !whole(devices, 1)) return null;
  if (weight_bytes !== undefined && !positive(weight_bytes)) return null;
  const device = value.settings?.device;
  return {
    ...texts,
    seconds: value.seconds.median,
    parts,
    devices,
    // Whether its layers were divided over its devices, and nothing else was.
    tensor: ["pp", "ep", "dp"].every((name) => (value.layout?.[name] ?? 1) === 1),
    roof: readRoof(value.roof),
    device: typeof device === "string" ? device.split(":")[0] : "cpu",
    ...(layers === undefined ? {} : { layers }),
    ...(weight_bytes === undefined ? {} : { weight_bytes }),
  };
}

// The ceilings that were measured with a point, where both kinds are there; or null.
/** @type {(roof: any) => PointRoof | null} */
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
/** @type {(text: string) => Read} */
export function readPoints(text) {
  /** @type {Read} */
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
