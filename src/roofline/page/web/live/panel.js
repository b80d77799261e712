// @ts-check
// "This browser": a button that measures it, the points as they come, files to keep; and where
// the page is served with a model file, that model at work.

import { download, h, setText } from "../dom.js";
import { digits, percent, seconds, si } from "../units.js";
import { cutModel } from "./cut.js";
import { browserName, toLines, toMachine, toPoint } from "./record.js";
import { Session } from "./session.js";
import { makeWriter } from "./writer.js";

const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const MEMORIES = [256, 512, 1024, 2048, 3072];
const CONTEXTS = [32, 128, 512, 2048];
const MOST_THREADS = 16;
const READ_BYTES = 512 << 20;

// What a browser of so much memory (GiB, as it says itself) may be asked for, in MiB.
/** @type {(device: number) => number} */
const memoryFor = (device) => (device >= 8 ? 1024 : device >= 4 ? 512 : 256);

// The panel's state, drawn by draw(element, t) as often as the language changes. api:
//   shapes          [{shape, model}], models that can be run here, small ones first
//   file            the model file served with the page, or null (see writer.js)
//   formats         the page's number formats
//   version         of roofline
//   worker          text of the worker's script
//   options         what to measure otherwise than by default, for tests
//   take(text)      gives the page a machine file or points, as if dropped
//   addModel(model) adds a model of the page's form
//   show(changes)   sets the page's state
// → {draw, stop, kept}
/** @type {(api: LiveApi) => LivePanel} */
export function makeLive(api) {
  const about = { browser: browserName(navigator), version: api.version, date: today() };
  /** @type {LiveKept} */
  const kept = { messages: [], roofs: {}, plans: {}, machines: {}, points: [], took: 0 };
  /** @type {LiveChosen} */
  const chosen = {
    model: api.shapes[0].shape.id,
    context: "128",
    memory: String(
      memoryFor(/** @type {{ deviceMemory?: number }} */ (navigator).deviceMemory ?? 4),
    ),
    part: "both",
  };
  let shape = api.shapes[0];
  let startedAt = 0;
  /** @type {LiveView} */
  let view; // from the first drawing on
  const session = new Session(api.worker, hear);
  // The page's id of a machine that it took from a file.
  /** @type {(engine: string) => string | null} */
  const idOf = (engine) => (kept.machines[engine] ? `file-${kept.machines[engine].id}` : null);
  const writer = api.file
    ? makeWriter({
        ...api,
        file: api.file,
        about,
        roofOf: () => kept.roofs.wasm,
        machineOf: () => [idOf("wasm"), kept.machines.wasm?.name],
      })
    : null;

  function begin() {
    shape = api.shapes.find((x) => x.shape.id === chosen.model) ?? shape;
    Object.assign(kept, { messages: [], roofs: {}, plans: {}, machines: {}, points: [] });
    view.clear();
    startedAt = performance.now();
    view.busy(true);
    session.start({
      shape: shape.shape,
      context: Number(chosen.context),
      batches: BATCHES,
      memory: Number(chosen.memory) * 2 ** 20,
      read: READ_BYTES,
      threads: Math.max(1, Math.min(MOST_THREADS, navigator.hardwareConcurrency || 1)),
      wasm: chosen.part !== "gpu",
      gpu: chosen.part !== "wasm",
      probe: 1, // seconds of each probe
      climb: 6, // seconds of arithmetic for the climb
      seconds: 26,
      ...api.options,
    });
  }

  // What a message changes beside the panel; then it is kept and shown.
  /** @type {(message: Message) => void} */
  function hear(message) {
    const { type } = message;
    if (type === "roof") {
      kept.roofs[message.engine] = message;
      const machine = toMachine(message, about, Number(chosen.memory) * 2 ** 20);
      kept.machines[message.engine] = machine;
      api.take?.(JSON.stringify(machine));
    } else if (type === "plan" && message.layers > 0) {
      const name = view.t(
        message.layers < message.of ? "live.cut" : "live.whole",
        planValues(message),
      );
      const cut = cutModel(shape.model, shape.shape, message.layers, message.format, name);
      kept.plans[message.engine] = { ...message, model: cut.id };
      api.addModel?.(cut);
      const formats = { weights: "", kv: "", compute: "", ceilings: "" };
      api.show?.({
        model: cut.id,
        phase: "decode",
        batch: 1,
        context: Number(chosen.context),
        ...formats,
      });
    } else if (type === "point") {
      const { name } = kept.machines[message.engine];
      const at = { ...about, machine: name, time: new Date().toISOString() };
      const point = toPoint(message, kept.roofs[message.engine], shape.shape.id, at);
      kept.points.push(point);
      api.take?.(JSON.stringify({ ...point, model: kept.plans[message.engine].model }));
      api.show?.({ batch: message.batch });
    } else if (type === "done" || type === "error") {
      kept.took = (performance.now() - startedAt) / 1000;
      // What software says of a GPU is not what the page should stay at.
      if (kept.roofs.webgpu?.about?.software && kept.plans.wasm) {
        api.show?.({
          model: kept.plans.wasm.model,
          machines: [`file-${kept.machines.wasm.id}`],
          batch: 1,
        });
      }
    }
    if (type !== "progress") kept.messages.push(message);
    view.tell(message);
  }

  /** @type {(plan: PlanFound) => Values} */
  const planValues = (plan) => ({
    layers: plan.layers,
    of: plan.of,
    model: shape.shape.name,
    format: plan.format,
    bytes: si(plan.bytes, "B"),
  });

  /** @type {(element: HTMLElement, t: Words) => void} */
  function draw(element, t) {
    view = makeView(element, t, { api, chosen, kept, begin, session, planValues });
    for (const message of kept.messages) view.tell(message);
    view.busy(session.running);
    if (writer) {
      const part = h("section", { class: "live-writer" });
      element.append(part);
      writer.draw(part, t);
    }
  }

  return { draw, kept, stop: () => session.stop() };
}

// The panel in one language.
/** @type {(element: HTMLElement, t: Words, of: LiveOf) => LiveView} */
function makeView(element, t, { api, chosen, kept, begin, session, planValues }) {
  /** @type {(name: keyof LiveChosen, options: Option[]) => HTMLElement} */
  const select = (name, options) => {
    const box = h(
      "select",
      { id: `live-${name}` },
      options.map(([value, text]) =>
        h("option", { value, selected: value === chosen[name] }, text),
      ),
    );
    box.addEventListener("change", () => {
      chosen[name] = box.value;
    });
    return h("label", { class: "field", for: box.id }, h("span", {}, t(`live.${name}`)), box);
  };
  const fields = [
    select(
      "model",
      api.shapes.map(({ shape: s }) => [s.id, s.name]),
    ),
    select(
      "context",
      CONTEXTS.map((n) => [String(n), t("live.tokens", { count: n })]),
    ),
    select(
      "memory",
      MEMORIES.map((n) => [String(n), n < 1024 ? `${n} MiB` : `${n / 1024} GiB`]),
    ),
    select(
      "part",
      ["both", "wasm", "gpu"].map((name) => [name, t(`live.part.${name}`)]),
    ),
  ];
  const start = h(
    "button",
    { type: "button", class: "primary", id: "live-start", onclick: begin },
    t("live.start"),
  );
  const halt = h(
    "button",
    { type: "button", id: "live-stop", onclick: () => session.stop() },
    t("live.stop"),
  );
  const bar = h("progress", { max: 1, value: 0, "aria-label": t("live.progress") });
  const status = h("p", { class: "live-status", role: "status" });
  const notes = h("ul", { class: "live-notes" });
  const [roofs, points] = [h("tbody"), h("tbody")];
  /** @type {(caption: string, heads: string[], body: HTMLElement) => HTMLElement} */
  const table = (caption, heads, body) =>
    h(
      "div",
      { class: "live-table", hidden: true, tabindex: 0, role: "region", "aria-label": caption },
      h(
        "table",
        {},
        h("caption", {}, caption),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((key) => h("th", { scope: "col" }, t(`live.col.${key}`))),
          ),
        ),
        body,
      ),
    );
  const roofTable = table(t("live.roofs"), ["part", "read", "product", "ridge"], roofs);
  const pointTable = table(
    t("live.points"),
    ["part", "batch", "speed", "climb", "step", "bandwidth", "share", "intensity"],
    points,
  );
  const save = h("p", { class: "buttons", hidden: true });
  element.replaceChildren(
    h("h2", {}, t("live.title")),
    h("p", {}, t("live.lead")),
    h("div", { class: "fields" }, fields),
    h("p", { class: "buttons" }, start, halt),
    bar,
    status,
    notes,
    roofTable,
    pointTable,
    save,
  );

  function clear() {
    for (const box of [notes, roofs, points, save]) box.replaceChildren();
    for (const box of [roofTable, pointTable, save]) box.hidden = true;
  }

  /** @type {(on: boolean) => void} */
  function busy(on) {
    start.disabled = on;
    halt.hidden = !on;
    bar.hidden = !on;
    if (!on) bar.value = 0;
    element.setAttribute("aria-busy", String(on));
  }

  /** @type {(key: string, values?: Values) => void} */
  const say = (key, values) => setText(status, t(`live.${key}`, values));
  /** @type {(code: string, values?: Values) => void} */
  const note = (code, values = {}) => {
    const said =
      typeof values.bytes === "number" ? { ...values, bytes: si(values.bytes, "B") } : values;
    notes.append(h("li", { "data-code": code }, t(`live.note.${code}`, said)));
  };
  /** @type {(of: { spread: number | null }) => string} */
  const spread = (of) => (of.spread === null ? "" : ` ± ${percent(of.spread)}`);
  /** @type {(...cells: string[]) => HTMLElement} */
  const row = (...cells) =>
    h(
      "tr",
      {},
      cells.map((text, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, text)),
    );
  /** @type {(attributes: object, text: string, onclick: () => void) => HTMLElement} */
  const button = (attributes, text, onclick) =>
    h("button", { type: "button", ...attributes, onclick }, text);

  /** @type {Tellers} */
  const shown = {
    progress({ code, fraction, values }) {
      bar.value = fraction;
      say(`stage.${code}`, values);
    },

    note({ code, values }) {
      note(code, values);
    },

    roof(roof) {
      roofTable.hidden = false;
      for (const [precision, compute] of Object.entries(roof.compute)) {
        roofs.append(
          row(
            t(`live.engine.${roof.engine}`, {
              threads: roof.threads ?? 0,
              name: roof.about?.name ?? "",
            }),
            `${si(roof.bandwidth.best, "B/s")}${spread(roof.bandwidth)}`,
            `${precision} ${si(compute.best, "FLOP/s")}${spread(compute)}`,
            `${digits(compute.best / roof.bandwidth.best)} FLOP/B`,
          ),
        );
      }
      const machine = kept.machines[roof.engine];
      const name = `${machine.id}.json`;
      const file = () =>
        download(name, `${JSON.stringify(machine, null, 2)}\n`, "application/json");
      save.append(button({ "data-engine": roof.engine }, t("live.save.machine", { name }), file));
    },

    plan(plan) {
      if (plan.layers === 0) {
        note("room", planValues(plan));
        return;
      }
      if (plan.reason) note(`layers.${plan.reason}`, planValues(plan));
      const most = Math.max(...plan.batches);
      if (most < Math.max(...plan.wanted) && plan.engine === "wasm") note("batch", { batch: most });
    },

    point(point) {
      const roof = kept.roofs[point.engine];
      const { median } = point.seconds;
      const ofEngine = (/** @type {Message} */ m) =>
        m.type === "point" && m.engine === point.engine;
      const first = /** @type {PointFound | undefined} */ (kept.messages.find(ofEngine)) ?? point;
      const speed = point.batch / median;
      const ceiling = Math.min(
        roof.compute[point.format].best,
        point.intensity * roof.bandwidth.best,
      );
      pointTable.hidden = false;
      points.append(
        row(
          t(`live.short.${point.engine}`),
          digits(point.batch),
          t("live.rate", { speed: digits(speed) }),
          `×${digits((speed * first.seconds.median) / first.batch)}`,
          `${seconds(median)}${spread(point.seconds)}`,
          si(point.bytes / median, "B/s"),
          percent(point.flops / median / ceiling),
          digits(point.intensity),
        ),
      );
    },

    done({ stopped }) {
      end(stopped ? "stopped" : "done");
    },

    error({ code, values }) {
      note(code, values);
      end("failed");
    },
  };

  /** @type {(code: string) => void} */
  function end(code) {
    busy(false);
    const count = kept.points.length;
    say(code === "done" && count === 0 ? "none" : code, { time: seconds(kept.took), count });
    save.hidden = count === 0 && Object.keys(kept.roofs).length === 0;
    if (count === 0) return;
    const file = () => download("browser-points.jsonl", toLines(kept.points), "application/jsonl");
    save.prepend(button({ id: "live-save-points" }, t("live.save.points"), file));
  }

  /** @type {(message: Message) => void} */
  function tell(message) {
    const told = /** @type {((message: Message) => void) | undefined} */ (shown[message.type]);
    told?.(message);
  }

  clear();
  return { t, clear, busy, tell };
}

const today = () => new Date().toISOString().slice(0, 10);
