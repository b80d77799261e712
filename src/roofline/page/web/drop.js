// Files of the reader's: points (JSON Lines), a machine, a model's config; dropped, picked, pasted.

import { MOST_POINTS, readPoints } from "./points.js";
import { count } from "./units.js";

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const UNITS = {
  bandwidth: [1e6, 1e16],
  compute: [1e6, 1e19],
  capacity: [1e6, 1e16],
  latency: [1e-9, 10],
};
const MOST_LINKS = 20;
const SECTIONS = ["datasheet", "measured"];

// A machine of a machine file with its numbers checked, or a sentence that says what is wrong.
export function readMachine(given, data, t) {
  const wrong = (what) => ({ error: t("drop.machine.wrong", { what }) });
  const text = (v) => (typeof v === "string" ? v.slice(0, 120) : "");
  const name = text(given.name);
  if (!name) return wrong("name");
  const sources = {};
  const figure = (value, unit, kind) => {
    const f = isObject(value) ? value : { value };
    const [least, most] = UNITS[unit];
    if (typeof f.value !== "number" || !(f.value >= least && f.value <= most)) return null;
    const found = { value: f.value };
    const source = isObject(given.sources) ? given.sources[f.source] : null;
    const title = isObject(source) ? text(source.title) : text(f.source);
    if (title) {
      const key = `file:${title}`;
      sources[key] = { title, url: "", date: text(source?.date) };
      found.source = key;
    }
    for (const part of ["note", "accumulate", "date"])
      if (text(f[part])) found[part] = text(f[part]);
    return { ...found, kind };
  };
  const id = `file-${(text(given.id) || name).toLowerCase().replace(/[^a-z0-9]+/g, "-")}`.slice(
    0,
    60,
  );
  const machine = {
    id,
    name,
    kind: text(given.kind),
    memory: { type: text(given.memory?.type) },
    notes: [],
  };
  for (const part of ["capacity", "usable"]) {
    const value = given.memory?.[part];
    if (value === undefined || value === null) continue;
    machine.memory[part] = figure(value, "capacity", "datasheet");
    if (!machine.memory[part]) return wrong(`memory.${part}`);
  }
  for (const section of SECTIONS) {
    machine[section] = {};
    for (const unit of ["bandwidth", "compute"]) {
      const table = given[section]?.[unit];
      if (table === undefined || table === null) continue;
      if (!isObject(table)) return wrong(`${section}.${unit}`);
      machine[section][unit] = {};
      for (const [key, value] of Object.entries(table).slice(0, 40)) {
        const found = figure(value, unit, section);
        if (!found) return wrong(`${section}.${unit}.${text(key)}`);
        machine[section][unit][text(key)] = found;
      }
    }
  }
  if (SECTIONS.includes(given.ceilings)) machine.ceilings = given.ceilings;
  machine.links = [];
  for (const link of Array.isArray(given.links) ? given.links.slice(0, MOST_LINKS) : []) {
    const bandwidth = figure(link?.bandwidth, "bandwidth", "datasheet");
    const devices = link?.devices ?? 2;
    const whole = Number.isInteger(devices) && devices >= 1 && devices <= 2 ** 20;
    if (!bandwidth || !whole) return wrong("links");
    const found = { name: text(link.name) || "link", bandwidth, devices };
    for (const part of ["scope", "topology"]) if (text(link[part])) found[part] = text(link[part]);
    const known = link.latency ?? null;
    const least = (data.latencies ?? []).find(([word]) => found.name.toLowerCase().includes(word));
    found.latency = known === null ? (least?.[1] ?? null) : figure(known, "latency", "datasheet");
    if (known !== null && !found.latency) return wrong("links");
    machine.links.push(found);
  }
  return { machine, sources };
}

// Takes a file's text for what it is. app: as mount() gives it; live: where Python answers.
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

function takeMachine(value, app, data, t) {
  const found = readMachine(value, data, t);
  if (found.error) return app.say(found.error);
  Object.assign(data.sources, found.sources);
  data.machines = [...data.machines.filter((m) => m.id !== found.machine.id), found.machine];
  app.set({ machines: [found.machine.id], ceilings: "" });
  return app.say(t("drop.machine", { machine: found.machine.name }));
}

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
  return app.say(parts.join(t.semicolon));
}
