// @ts-check
// A real model that writes: its tokens as they come, and beside them what each costs, from the
// file's own tensors, against this browser's measured roof.

import { h, setText } from "../dom.js";
import { digits, percent, si } from "../units.js";
import { bind, costs, step } from "../work.js";
import { pace } from "./pace.js";
import { makeWorker, textOf } from "./trusted.js";

const COUNTS = [1, 2, 4, 8];
const CONTEXT = 4096; // tokens of all conversations together
// A module with a 64-bit memory, which the engine needs.
const WIDE = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 4, 1]);

// What a step of n conversations costs, at a context. file.model: as the page has it.
/** @type {(file: LiveFile, known: Known, count: number, context: number) =>
 *   { flops: number, bytes: number, intensity: number }} */
function costOf(file, known, count, context) {
  const table = bind(file.model, {}, known);
  if (!table) throw new Error("one device has tables of every model");
  const rows = costs(table, step.decode(count, Math.max(1, Math.round(context))));
  const flops = rows.reduce((n, r) => n + r.flops, 0);
  const bytes = rows.reduce((n, r) => n + r.bytes, 0);
  return { flops, bytes, intensity: flops / bytes };
}

// api.file: {name, size, model, engine, version}; api.roofOf(): this browser's roof or undefined,
// api.machineOf(): [the page's id, the name] of its machine, or nulls.
/** @type {(api: WriterApi) => { draw: (element: HTMLElement, t: Words) => void,
 *   kept: WriterKept }} */
export function makeWriter(api) {
  const { file } = api;
  /** @type {WriterChosen} */
  const chosen = { prompt: null, tokens: "48", count: "1", threads: null };
  /** @type {WriterKept} */
  const kept = { texts: [], results: [], note: null, status: null };
  /** @type {Worker | null} */
  let worker = null;
  /** @type {string | null} */
  let loaded = null;
  /** @type {WriterJob | null} */
  let job = null;
  /** @type {WriterView} */
  let view; // from the first drawing on

  const ask = () => ({
    prompt: chosen.prompt ?? "",
    tokens: Number(chosen.tokens),
    count: Number(chosen.count),
  });

  function begin() {
    kept.note = null;
    const able = WebAssembly.validate(WIDE)
      ? globalThis.crossOriginIsolated
        ? null
        : "isolated"
      : "memory64";
    if (able) {
      problem(able);
      return;
    }
    const asked = ask();
    job = { ...asked, marks: [], own: [], start: performance.now() };
    kept.texts = Array.from({ length: asked.count }, () => "");
    view.texts();
    view.busy(true);
    if (worker && loaded === chosen.threads) {
      worker.postMessage({ type: "write", ...asked });
      return;
    }
    worker?.terminate();
    loaded = null;
    /** @type {Worker} */
    let made;
    try {
      made = makeWorker("live/engine.js", { type: "module" });
    } catch (error) {
      problem("engine", { detail: textOf(error) });
      return;
    }
    worker = made;
    worker.onmessage = ({ data }) => heard[data.type](data);
    worker.onerror = (event) => {
      event.preventDefault();
      drop();
      problem("engine", { detail: event.message ?? "" });
    };
    const parallel = Math.max(...COUNTS);
    const { threads } = chosen;
    return worker.postMessage({
      type: "load",
      threads: Number(threads),
      parallel,
      context: CONTEXT,
    });
  }

  function drop() {
    worker?.terminate();
    [worker, loaded] = [null, null];
  }

  /** @type {(code: string, values?: Values) => void} */
  function problem(code, values = {}) {
    job = null;
    kept.note = { code, values };
    say(null);
    view.busy(false);
    view.note();
  }

  /** @type {(key: string | null, values?: Values) => void} */
  function say(key, values = {}) {
    kept.status = key ? { key, values } : null;
    view.status();
  }

  /** @type {Record<string, (data: any) => void>} */
  const heard = {
    loading: ({ loaded: n, total }) =>
      say("loading", { part: percent(n / total), size: si(total, "B") }),
    loaded: ({ threads }) => {
      loaded = chosen.threads;
      say("reading", { threads });
      worker?.postMessage({ type: "write", ...ask() });
    },
    token: ({ conversation, text, count }) => {
      if (!job) return;
      job.marks[conversation] ??= [];
      job.marks[conversation].push([(performance.now() - job.start) / 1000, count]);
      kept.texts[conversation] += text;
      view.text(conversation);
      const found = pace(Object.values(job.marks));
      if (found) say("writing", { speed: digits(found.rate), count: found.steps.toFixed(0) });
    },
    finished: ({ conversation, timings }) => {
      // The engine's own count of the prompt's tokens.
      if (!job) return;
      if (timings) job.read = timings.prompt_n + (timings.cache_n ?? 0);
      job.own[conversation] = timings?.predicted_per_second;
    },
    idle: ({ stopped }) => {
      finish(stopped);
    },
    failed: ({ detail }) => {
      drop();
      problem("engine", { detail });
    },
  };

  /** @type {(stopped: boolean) => void} */
  function finish(stopped) {
    const found = job && job.marks.filter(Boolean).length === job.count ? pace(job.marks) : null;
    if (job && found && found.steps >= 4) record(found, job);
    say(stopped ? "stopped" : "done");
    job = null;
    view.busy(false);
    view.results();
  }

  /** @type {(found: { rate: number, steps: number, seconds: number, past: number },
   *   job: WriterJob) => void} */
  function record(found, { count, read = 0, own: [engine] }) {
    const past = read + found.past;
    const cost = costOf(file, api, count, past + found.steps / 2);
    const each = found.seconds / found.steps;
    const at = kept.results.findIndex((r) => r.count === count);
    if (at >= 0) kept.results.splice(at, 1);
    kept.results.push({
      count,
      rate: found.rate,
      each,
      engine,
      threads: chosen.threads,
      ...cost,
    });
    kept.results.sort((a, b) => a.count - b.count);
    const whole = Math.max(1, Math.round(found.steps));
    const [machine, name] = api.machineOf();
    const point = {
      ...{ schema: "roofline.points/1", basis: "token", phase: "decode", model: file.model.id },
      ...(name ? { machine: name } : {}),
      ...{ devices: 1, engine: "wllama", engine_version: file.version },
      parts: [
        {
          count: whole,
          grows: true,
          groups: [{ batch: count, new_tokens: 1, past: Math.round(past) }],
        },
      ],
      seconds: { median: each * whole, samples: 1 },
      settings: { browser: api.about.browser, threads: Number(chosen.threads) },
      time: new Date().toISOString(),
    };
    const own = { weights: "", kv: "", compute: "", ceilings: "" };
    /** @type {Patch} */
    const state = { phase: "decode", batch: count, context: Math.round(past + found.steps / 2) };
    api.addModel?.(file.model);
    api.show?.({
      model: file.model.id,
      ...(machine ? { machines: [machine] } : {}),
      ...state,
      ...own,
    });
    api.take?.(JSON.stringify(point));
  }

  /** @type {(element: HTMLElement, t: Words) => void} */
  function draw(element, t) {
    view = makeView(element, t, {
      file,
      api,
      chosen,
      kept,
      begin,
      stop: () => worker?.postMessage({ type: "stop" }),
    });
    view.busy(job !== null);
  }

  return { draw, kept };
}

/** @type {(element: HTMLElement, t: Words, of: WriterOf) => WriterView} */
function makeView(element, t, { file, api, chosen, kept, begin, stop }) {
  const threads = Math.max(1, navigator.hardwareConcurrency || 1);
  chosen.prompt ??= t("live.file.prompt.text");
  // One processor is left to the page: threads that wait by spinning crowd each other out.
  chosen.threads ??= String(Math.max(1, threads - 1));
  /** @type {(name: keyof WriterChosen, box: HTMLSelectElement) => HTMLElement} */
  const field = (name, box) => {
    box.addEventListener("change", () => {
      chosen[name] = box.value;
    });
    return h("label", { class: "field", for: box.id }, h("span", {}, t(`live.file.${name}`)), box);
  };
  /** @type {(name: keyof WriterChosen, options: number[]) => HTMLElement} */
  const select = (name, options) =>
    field(
      name,
      h(
        "select",
        { id: `live-${name}` },
        options.map((n) =>
          h("option", { value: String(n), selected: String(n) === chosen[name] }, String(n)),
        ),
      ),
    );
  const prompt = h("textarea", { id: "live-prompt", rows: 2 });
  prompt.value = chosen.prompt;
  prompt.addEventListener("input", () => {
    chosen.prompt = prompt.value;
  });
  const counts = Array.from({ length: Math.min(threads, 16) }, (_, i) => i + 1);
  const start = h(
    "button",
    { type: "button", class: "primary", id: "live-write", onclick: begin },
    t("live.file.start"),
  );
  const halt = h("button", { type: "button", id: "live-halt", onclick: stop }, t("live.stop"));
  const line = h("p", { class: "live-status", role: "status" });
  const note = h("p", { class: "live-notes" });
  const texts = h("div", { class: "live-texts" });
  const results = h("div", {
    class: "live-table",
    role: "region",
    tabindex: 0,
    "aria-label": t("live.file.results"),
  });
  const verdict = h("p", { class: "live-verdict" });
  element.replaceChildren(
    h("h3", {}, t("live.file.title", { name: file.name })),
    h("p", {}, t("live.file.lead", { size: si(file.size, "B"), engine: file.engine })),
    h(
      "label",
      { class: "live-prompt", for: "live-prompt" },
      h("span", {}, t("live.file.prompt")),
      prompt,
    ),
    h(
      "div",
      { class: "fields" },
      select("tokens", [16, 48, 128, 256]),
      select("count", COUNTS),
      select("threads", counts),
    ),
    h("p", { class: "buttons" }, start, halt),
    line,
    note,
    texts,
    results,
    verdict,
  );

  /** @type {WriterView} */
  const shown = {
    busy(on) {
      start.disabled = on;
      halt.hidden = !on;
    },
    status() {
      setText(line, kept.status ? t(`live.file.${kept.status.key}`, kept.status.values) : "");
    },
    note() {
      note.hidden = !kept.note;
      setText(note, kept.note ? t(`live.file.note.${kept.note.code}`, kept.note.values) : "");
    },
    texts() {
      texts.replaceChildren(...kept.texts.map((text) => h("p", {}, text)));
    },
    text(i) {
      setText(texts.children[i], kept.texts[i]);
    },
    results() {
      const roof = api.roofOf();
      const heads = ["count", "rate", "each", "bytes", "bandwidth", "share", "intensity", "flops"];
      results.hidden = kept.results.length === 0;
      const rows = kept.results.map((r) => [
        digits(r.count),
        t("live.rate", { speed: digits(r.rate) }),
        t("live.rate", { speed: digits(r.rate / r.count) }),
        si(r.bytes / r.count, "B"),
        si(r.bytes / r.each, "B/s"),
        roof ? percent(r.bytes / r.each / roof.bandwidth.best) : "–",
        digits(r.intensity),
        si(r.flops / r.each, "FLOP/s"),
      ]);
      results.replaceChildren(
        h(
          "table",
          {},
          h("caption", {}, t("live.file.results")),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              heads.map((key) => h("th", { scope: "col" }, t(`live.file.col.${key}`))),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map((cells) =>
              h(
                "tr",
                {},
                cells.map((text, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, text)),
              ),
            ),
          ),
        ),
      );
      setText(verdict, judge(kept.results, roof, t));
    },
  };
  for (const name of /** @type {const} */ (["status", "note", "texts", "results"])) shown[name]();
  return shown;
}

// What the numbers say: whether batching helped, and which ceiling is near, if any.
/** @type {(results: Written[], roof: RoofFound | undefined, t: Words) => string} */
function judge(results, roof, t) {
  if (results.length === 0) return "";
  const [first, last] = [results[0], results[results.length - 1]];
  const parts = [];
  if (roof) {
    const read = first.bytes / first.each / roof.bandwidth.best;
    const key = read >= 0.7 ? "near" : "far";
    parts.push(t(`live.file.read.${key}`, { count: first.count, share: percent(read) }));
  } else {
    parts.push(t("live.file.unmeasured"));
  }
  if (last.count > first.count) {
    const values = {
      from: first.count,
      to: last.count,
      factor: digits(last.rate / first.rate),
      naive: digits(last.count / first.count),
      intensity: digits(last.intensity),
      flops: si(last.flops / last.each, "FLOP/s"),
    };
    const climbs = last.rate / first.rate >= 0.7 * (last.count / first.count);
    parts.push(t(`live.file.climb.${climbs ? "yes" : "no"}`, values));
  }
  return parts.join(" ");
}
