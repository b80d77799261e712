// "This browser": a button that measures it, the points as they come, files to keep.

import { download, h, setText } from "../dom.js";
import { digits, percent, seconds, si } from "../units.js";
import { cutModel } from "./cut.js";
import { browserName, toLines, toMachine, toPoint } from "./record.js";
import { Session } from "./session.js";

const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const MEMORIES = [256, 512, 1024, 2048, 3072];
const CONTEXTS = [32, 128, 512, 2048];
const MOST_THREADS = 16;
const READ_BYTES = 512 << 20;

// What a browser of so much memory (GiB, as it says itself) may be asked for, in MiB.
const memoryFor = (device) => (device >= 8 ? 1024 : device >= 4 ? 512 : 256);

// Builds the panel into `element`. api:
//   t(key, values)       words
//   shapes               [{shape, model}], models that can be run here, small ones first
//   version, date        of the page
//   worker               text of the worker's script
//   take(text)           gives the page a machine file or points file, as if dropped
//   addModel(model)      adds a model of the page's form
//   show(changes)        sets the page's state
// → {stop}
export function mount(element, api) {
  const { t } = api;
  const kept = { roofs: {}, plans: {}, points: [], machines: {} };
  const about = { browser: browserName(navigator), version: api.version, date: today() };
  let shape = null;
  let startedAt = 0;

  const select = (id, label, options, chosen) => {
    const box = h("select", { id }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
    return [h("label", { class: "field", for: id }, h("span", {}, label), box), box];
  };
  const [modelField, model] = select(
    "live-model",
    t("live.model"),
    api.shapes.map(({ shape: s }) => [s.id, s.name]),
    api.shapes[0].shape.id,
  );
  const [contextField, context] = select(
    "live-context",
    t("live.context"),
    CONTEXTS.map((n) => [String(n), t("live.tokens", { count: n })]),
    "128",
  );
  const [memoryField, memory] = select(
    "live-memory",
    t("live.memory"),
    MEMORIES.map((n) => [String(n), n < 1024 ? `${n} MiB` : `${n / 1024} GiB`]),
    String(memoryFor(navigator.deviceMemory ?? 4)),
  );
  const [partField, part] = select(
    "live-part",
    t("live.part"),
    ["both", "wasm", "gpu"].map((name) => [name, t(`live.part.${name}`)]),
    "both",
  );
  const start = h("button", { type: "button", class: "primary", id: "live-start", onclick: begin }, t("live.start"));
  const halt = h("button", { type: "button", id: "live-stop", hidden: true, onclick: () => session.stop() }, t("live.stop"));
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": t("live.progress") });
  const status = h("p", { class: "live-status", role: "status" });
  const notes = h("ul", { class: "live-notes" });
  const roofs = h("tbody");
  const points = h("tbody");
  const table = (caption, heads, body) =>
    h(
      "div",
      { class: "live-table", hidden: true, tabindex: 0, role: "region", "aria-label": caption },
      h(
        "table",
        {},
        h("caption", {}, caption),
        h("thead", {}, h("tr", {}, heads.map((key) => h("th", { scope: "col" }, t(key))))),
        body,
      ),
    );
  const roofTable = table(t("live.roofs"), ["live.col.part", "live.col.read", "live.col.product", "live.col.ridge"], roofs);
  const pointTable = table(
    t("live.points"),
    ["live.col.part", "live.col.batch", "live.col.speed", "live.col.climb", "live.col.step", "live.col.bandwidth", "live.col.share", "live.col.intensity"],
    points,
  );
  const save = h(
    "p",
    { class: "buttons", hidden: true },
    h("button", { type: "button", id: "live-save-points", onclick: savePoints }, t("live.save.points")),
  );
  element.replaceChildren(
    h("h2", {}, t("live.title")),
    h("p", {}, t("live.lead")),
    h("div", { class: "fields" }, modelField, contextField, memoryField, partField),
    h("p", { class: "buttons" }, start, halt),
    bar,
    status,
    notes,
    roofTable,
    pointTable,
    save,
  );

  const session = new Session(api.worker, hear);

  function begin() {
    shape = api.shapes.find((x) => x.shape.id === model.value);
    Object.assign(kept, { roofs: {}, plans: {}, points: [], machines: {} });
    for (const box of [notes, roofs, points]) box.replaceChildren();
    for (const box of [roofTable, pointTable, save]) box.hidden = true;
    startedAt = performance.now();
    busy(true);
    session.start({
      shape: shape.shape,
      context: Number(context.value),
      batches: BATCHES,
      memory: Number(memory.value) * 2 ** 20,
      read: READ_BYTES,
      threads: Math.max(1, Math.min(MOST_THREADS, navigator.hardwareConcurrency || 1)),
      wasm: part.value !== "gpu",
      gpu: part.value !== "wasm",
      climb: 6, // seconds of arithmetic for the climb
      seconds: 26,
    });
  }

  function busy(on) {
    start.disabled = on;
    halt.hidden = !on;
    bar.hidden = !on;
    bar.value = 0;
    element.setAttribute("aria-busy", String(on));
  }

  const say = (key, values) => setText(status, t(`live.${key}`, values));
  const note = (code, values = {}) => {
    const shown = { ...values, ...(values.bytes ? { bytes: si(values.bytes, "B") } : {}) };
    notes.append(h("li", { "data-code": code }, t(`live.note.${code}`, shown)));
  };

  function hear(message) {
    const { type } = message;
    if (type === "progress") {
      bar.value = message.fraction;
      say(`stage.${message.code}`, message.values);
    } else if (type === "note") note(message.code, message.values);
    else if (type === "roof") addRoof(message);
    else if (type === "plan") addPlan(message);
    else if (type === "point") addPoint(message);
    else if (type === "done" || type === "error") finish(message);
  }

  function finish(message) {
    busy(false);
    if (message.type === "error") note(message.code, message.values);
    const took = seconds((performance.now() - startedAt) / 1000);
    const code = message.type === "error" ? "failed" : message.stopped ? "stopped" : "done";
    say(code, { time: took, count: kept.points.length });
    save.hidden = kept.points.length === 0 && Object.keys(kept.roofs).length === 0;
  }

  const spread = (of) => (of.spread === null ? "" : ` ± ${percent(of.spread)}`);
  const row = (...cells) => h("tr", {}, cells.map((text, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, text)));

  function addRoof(roof) {
    kept.roofs[roof.engine] = roof;
    const machine = toMachine(roof, about, Number(memory.value) * 2 ** 20);
    kept.machines[roof.engine] = machine;
    roofTable.hidden = false;
    for (const [precision, compute] of Object.entries(roof.compute)) {
      roofs.append(
        row(
          t(`live.engine.${roof.engine}`, { threads: roof.threads ?? 0, name: roof.about?.name ?? "" }),
          `${si(roof.bandwidth.best, "B/s")}${spread(roof.bandwidth)}`,
          `${precision} ${si(compute.best, "FLOP/s")}${spread(compute)}`,
          `${digits(compute.best / roof.bandwidth.best)} FLOP/B`,
        ),
      );
    }
    const name = `${machine.id}.json`;
    const file = () => download(name, `${JSON.stringify(machine, null, 2)}\n`, "application/json");
    save.querySelector(`[data-engine="${roof.engine}"]`)?.remove();
    save.append(
      h("button", { type: "button", "data-engine": roof.engine, onclick: file }, t("live.save.machine", { name })),
    );
    api.take?.(JSON.stringify(machine));
  }

  function addPlan(plan) {
    kept.plans[plan.engine] = plan;
    const values = { layers: plan.layers, of: plan.of, model: shape.shape.name, bytes: si(plan.bytes, "B") };
    if (plan.layers === 0) note("room", values);
    else if (plan.reason) note(`layers.${plan.reason}`, values);
    if (plan.layers === 0) return;
    const most = Math.max(...plan.batches);
    if (most < Math.max(...BATCHES) && plan.engine === "wasm") note("batch", { batch: most });
    const name = t(plan.layers < plan.of ? "live.cut" : "live.whole", { ...values, format: plan.format });
    const cut = cutModel(shape.model, shape.shape, plan.layers, plan.format, name);
    plan.model = cut.id;
    api.addModel?.(cut);
    api.show?.({ model: cut.id, phase: "decode", batch: 1, context: Number(context.value), weights: "", kv: "", compute: "" });
  }

  function addPoint(point) {
    const roof = kept.roofs[point.engine];
    const machine = kept.machines[point.engine].name;
    const at = { ...about, machine, time: new Date().toISOString() };
    kept.points.push(toPoint(point, roof, shape.shape.id, at));
    const { median } = point.seconds;
    const first = kept.first?.engine === point.engine ? kept.first : (kept.first = point);
    const ceiling = Math.min(roof.compute[point.format].best, point.intensity * roof.bandwidth.best);
    pointTable.hidden = false;
    points.append(
      row(
        t(`live.short.${point.engine}`),
        digits(point.batch),
        t("live.rate", { speed: digits(point.batch / median) }),
        `×${digits((point.batch / median) / (first.batch / first.seconds.median))}`,
        `${seconds(median)}${spread(point.seconds)}`,
        si(point.bytes / median, "B/s"),
        percent(point.flops / median / ceiling),
        digits(point.intensity),
      ),
    );
    const shown = { ...kept.points.at(-1), model: kept.plans[point.engine].model };
    api.take?.(JSON.stringify(shown));
    api.show?.({ batch: point.batch });
  }

  function savePoints() {
    download("browser-points.jsonl", toLines(kept.points), "application/jsonl");
  }

  return { stop: () => session.stop(), results: kept };
}

const today = () => new Date().toISOString().slice(0, 10);
