// @ts-check
// What the reader has chosen, and its form in the address: a link reproduces the view.

import { stepsFor } from "./steps.js";
import { step } from "./work.js";

/** @type {Phase[]} */
export const PHASES = ["decode", "prefill", "verify", "mixed"];
export const MOST_MACHINES = 4;
export const MOST = {
  batch: 2 ** 20,
  context: 2 ** 24,
  prompt: 2 ** 24,
  drafted: 64,
};

/** @type {Record<string, "devices" | "batch" | "context" | "prompt" | "drafted">} */
const NUMBERS = { tp: "devices", b: "batch", c: "context", s: "prompt", k: "drafted" };
/** @type {Record<string, Kind>} */
const FORMATS = { w: "weights", kv: "kv", x: "compute" };

/** @type {Record<string, number>} */
const SUFFIXES = { "": 1, k: 1024, m: 1024 ** 2 };

// The state that a page starts with.
/** @type {(data: PageData) => State} */
export function startOf(data) {
  return {
    model: data.models[0].id,
    machines: [data.machines[0].id],
    phase: "decode",
    batch: 1,
    context: 2048,
    prompt: 2048,
    drafted: data.rules.levers.drafted,
    devices: 1,
    weights: "",
    kv: "",
    compute: "",
    ceilings: "",
    engine: "",
    operators: false,
    story: 0,
    lang: "",
    ...data.start,
  };
}

// What a fragment need not say: the start, or within the story what its step sets.
/** @type {(data: PageData, story: number) => State} */
function saidBefore(data, story) {
  return { ...startOf(data), ...stepsFor(data)[story - 1]?.set };
}

// A whole number within its limits, or null. Text such as 2k and 1m is understood.
/** @type {(text: string, most: number) => number | null} */
export function wholeNumber(text, most) {
  const match = /^\s*(\d{1,9})\s*([km]?)\s*$/i.exec(String(text).replace(/[,_\s]/g, ""));
  if (!match) return null;
  const value = Number(match[1]) * SUFFIXES[match[2].toLowerCase()];
  return value >= 1 && value <= most ? value : null;
}

// The state that a fragment describes; what it does not say, or says wrongly, is as at the start,
// or as the step of the story that it names sets it.
/** @type {(hash: string, data: PageData) => State} */
export function readHash(hash, data) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const story = Number(given.get("story"));
  const told = Number.isInteger(story) && story >= 0 && story < 100 ? story : 0;
  const state = { ...saidBefore(data, told), story: told };
  const said = (/** @type {string} */ key) => given.get(key);
  /** @type {<T extends string>(key: string, allowed: readonly T[], otherwise: T) => T} */
  const oneOf = (key, allowed, otherwise) =>
    allowed.find((one) => one === given.get(key)) ?? otherwise;
  const ids = (/** @type {{ id: string }[]} */ list) => list.map((x) => x.id);
  state.model = oneOf("m", ids(data.models), state.model);
  const known = new Set(ids(data.machines));
  const machines = [...new Set((said("on") ?? "").split(","))];
  const some = machines.filter((id) => known.has(id)).slice(0, MOST_MACHINES);
  if (some.length) state.machines = some;
  state.phase = oneOf("p", PHASES, state.phase);
  const most = { ...MOST, devices: data.rules.devices };
  for (const [key, name] of Object.entries(NUMBERS)) {
    state[name] = wholeNumber(said(key) ?? "", most[name]) ?? state[name];
  }
  for (const [key, name] of Object.entries(FORMATS)) {
    state[name] = oneOf(key, ["", ...data.choices[name]], state[name]);
  }
  state.ceilings = oneOf("at", ["", "datasheet", "measured"], state.ceilings);
  const engines = ids(data.engines ?? (data.predicted ?? []).map((p) => p.engine));
  state.engine = oneOf("e", ["", ...engines], state.engine);
  if (given.has("ops")) state.operators = said("ops") === "1";
  if (/^[a-z]{2}$/.test(said("lang") ?? "")) state.lang = said("lang") ?? "";
  return state;
}

// The fragment of a state: model and machines always, the rest where it is not as `readHash` takes
// it to be when nothing is said.
/** @type {(state: State, data: PageData) => string} */
export function writeHash(state, data) {
  const start = saidBefore(data, state.story);
  const out = new URLSearchParams({ m: state.model, on: state.machines.join(",") });
  /** @type {(key: string, name: keyof State, value?: string) => void} */
  const changed = (key, name, value = String(state[name])) => {
    if (state[name] !== start[name]) out.set(key, value);
  };
  changed("p", "phase");
  for (const [key, name] of Object.entries({ ...NUMBERS, ...FORMATS })) changed(key, name);
  changed("at", "ceilings");
  changed("e", "engine");
  changed("ops", "operators", state.operators ? "1" : "0");
  changed("story", "story");
  changed("lang", "lang");
  return `#${out.toString().replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
}

// The groups of the step that a state describes, with another batch where one is given.
/** @type {(state: State, batch?: number) => Group[]} */
export function groupsOf(state, batch = state.batch) {
  const { context, prompt, drafted } = state;
  if (state.phase === "prefill") return step.prefill(batch, prompt);
  if (state.phase === "verify") return step.verify(batch, drafted, context);
  if (state.phase === "mixed") {
    return step.mixed(step.decode(batch, context), step.prefill(1, prompt));
  }
  return step.decode(batch, context);
}
