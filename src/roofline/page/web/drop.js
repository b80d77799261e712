// @ts-check
// Files of the reader's: points (JSON Lines), a machine, a model's config; dropped, picked, pasted.

import { MOST_POINTS, readPoints } from "./points.js";
import { count } from "./units.js";

/** @type {(v: any) => boolean} */
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
/** @type {Record<string, [least: number, most: number]>} */
const UNITS = {
  bandwidth: [1e6, 1e16],
  compute: [1e6, 1e19],
  capacity: [1e6, 1e16],
  latency: [1e-9, 10],
};
const MOST_LINKS = 20;
/** @type {("datasheet" | "measured")[]} */
const SECTIONS = ["datasheet", "measured"];

// A machine of a machine file with its numbers checked, or a sentence that says what is wrong.
/** @type {(given: any, data: PageData, t: Words) => TakenMachine} */
export function readMachine(given, data, t) {
  /** @type {(what: string) => { error: string }} */
  const wrong = (what) => ({ error: t("drop.machine.wrong", { what }) });
  /** @type {(v: unknown) => string} */
  const text = (v) => (typeof v === "string" ? v.slice(0, 120) : "");
  /** @type {(of: any, parts: string[]) => Record<string, string>} */
  const worded = (of, parts) =>
    Object.fromEntries(parts.map((part) => [part, text(of[part])]).filter(([, said]) => said));
  const name = text(given.name);
  if (!name) return wrong("name");
  /** @type {Sources} */
  const sources = {};
  /** @type {(value: any, unit: string, kind: string) => Figure | null} */
  const figure = (value, unit, kind) => {
    const f = isObject(value) ? value : { value };
    const [least, most] = UNITS[unit];
    if (typeof f.value !== "number" || !(f.value >= least && f.value <= most)) return null;
    const found = { value: f.value, ...worded(f, ["note", "accumulate", "date"]) };
    const source = isObject(given.sources) ? given.sources[f.source] : null;
    const title = isObject(source) ? text(source.title) : text(f.source);
    if (title) {
      const key = `file:${title}`;
      sources[key] = { title, url: "", date: text(source?.date) };
      Object.assign(found, { source: key });
    }
    return { ...found, kind };
  };
  const id = `file-${(text(given.id) || name).toLowerCase().replace(/[^a-z0-9]+/g, "-")}`.slice(
    0,
    60,
  );
  /** @type {Machine["memory"]} */
  const memory = { type: text(given.memory?.type) };
  for (const part of /** @type {const} */ (["capacity", "usable"])) {
    const value = given.memory?.[part];
    if (value === undefined || value === null) continue;
    memory[part] = figure(value, "capacity", "datasheet");
    if (!memory[part]) return wrong(`memory.${part}`);
  }
  /** @type {Machine & { links: Link[] }} */
  const machine = { id, name, kind: text(given.kind), memory, links: [] };
  for (const section of SECTIONS) {
    /** @type {Ceilings} */
    const ceilings = {};
    machine[section] = ceilings;
    for (const unit of /** @type {const} */ (["bandwidth", "compute"])) {
      const table = given[section]?.[unit];
      if (table === undefined || table === null) continue;
      if (!isObject(table)) return wrong(`${section}.${unit}`);
      /** @type {Figures} */
      const figures = {};
      ceilings[unit] = figures;
      for (const [key, value] of Object.entries(table).slice(0, 40)) {
        const found = figure(value, unit, section);
        if (!found) return wrong(`${section}.${unit}.${text(key)}`);
        figures[text(key)] = found;
      }
    }
  }
  if (SECTIONS.includes(given.ceilings)) machine.ceilings = given.ceilings;
  for (const link of Array.isArray(given.links) ? given.links.slice(0, MOST_LINKS) : []) {
    const bandwidth = figure(link?.bandwidth, "bandwidth", "datasheet");
    const devices = link?.devices ?? 2;
    const whole = Number.isInteger(devices) && devices >= 1 && devices <= 2 ** 20;
    if (!bandwidth || !whole) return wrong("links");
    const called = text(link.name) || "link";
    const known = link.latency ?? null;
    const least = (data.latencies ?? []).find(([word]) => called.toLowerCase().includes(word));
    const latency = known === null ? (least?.[1] ?? null) : figure(known, "latency", "datasheet");
    if (known !== null && !latency) return wrong("links");
    const more = worded(link, ["scope", "topology"]);
    machine.links.push({ name: called, bandwidth, devices, latency, ...more });
  }
  return { machine, sources };
}

// Takes a file's text for what it is. app: as mount() gives it; live: where Python answers.
/** @type {(text: string, app: App, data: PageData, t: Words) => Promise<void>} */
export async function take(text, app, data, t) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Not one JSON value: perhaps a file of points, one a line.
  }
  if (isObject(value) && value.schema !== "roofline.points/1") {
    if (value.datasheet || value.measured) return takeMachine(value, app, data, t);
    if (typeof value.model_type === "string" || value.architectures)
      return takeConfig(text, app, data, t);
    return app.say(t("drop.unknown"));
  }
  return takePoints(text, app, t);
}

/** @type {(value: any, app: App, data: PageData, t: Words) => void} */
function takeMachine(value, app, data, t) {
  const found = readMachine(value, data, t);
  if (!found.machine) return app.say(found.error);
  Object.assign(data.sources, found.sources);
  data.machines = [...data.machines.filter((m) => m.id !== found.machine.id), found.machine];
  app.set({ machines: [found.machine.id], ceilings: "" });
  return app.say(t("drop.machine", { machine: found.machine.name }));
}

/** @type {(text: string, app: App, data: PageData, t: Words) => Promise<void>} */
async function takeConfig(text, app, data, t) {
  if (!data.live) return app.say(t("drop.config.serve"));
  try {
    const answer = await fetch("api/model", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    });
    const found = await answer.json();
    if (!answer.ok) return app.say(found.error);
    Object.assign(data.formats, found.formats);
    data.models = [...data.models.filter((m) => m.id !== found.model.id), found.model];
    app.set({ model: found.model.id, weights: "", kv: "", compute: "" });
    return app.say(t("drop.config", { model: found.model.name }));
  } catch {
    return app.say(t("drop.config.gone"));
  }
}

/** @type {(text: string, app: App, t: Words) => void} */
function takePoints(text, app, t) {
  const found = readPoints(text);
  if (found.tooLarge) return app.say(t("drop.large"));
  if (!found.points.length) return app.say(t(found.lines ? "drop.unknown" : "drop.empty"));
  const { shown, hidden } = app.addPoints(found.points);
  const parts = [t("drop.points", { shown: count(shown) })];
  if (hidden) parts.push(t("drop.points.hidden", { hidden: count(hidden) }));
  if (found.bad) parts.push(t("drop.points.bad", { bad: count(found.bad) }));
  if (found.thinned)
    parts.push(t("drop.points.thinned", { lines: count(found.lines), most: count(MOST_POINTS) }));
  return app.say(parts.join(t.sides));
}
