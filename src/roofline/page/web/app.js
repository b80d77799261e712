// @ts-check
// The whole: state in, controls, picture, words, table and story kept in step with it.

import { makeChart } from "./chart.js";
import { makeControls } from "./controls.js";
import { download, h, setAttribute, setText } from "./dom.js";
import { copyText, figure, saveSvg, toPng } from "./files.js";
import { makePanel } from "./panel.js";
import { machineName } from "./plot.js";
import { makePredictions } from "./predicted.js";
import { sayPredicted, saySource, sayVerdict } from "./say.js";
import { startOf } from "./state.js";
import { makeStory } from "./story.js";
import { makeTable, operatorRows, pointRows, rowsOf, toCsv } from "./table.js";
import { count, digits, percent, seconds, si } from "./units.js";
import { makeViews } from "./view.js";

/** @type {{ key: string, set: Patch & { model: string, machines: string[] } }[]} */
const PRESETS = [
  {
    key: "textbook",
    set: {
      model: "llama-3.1-8b",
      machines: ["h100-sxm"],
      phase: "decode",
      batch: 1,
      context: 1,
      prompt: 2048,
    },
  },
  {
    key: "honest",
    set: {
      model: "llama-3.1-8b",
      machines: ["h100-sxm"],
      phase: "decode",
      batch: 1,
      context: 2048,
      prompt: 2048,
    },
  },
  {
    key: "server",
    set: {
      model: "llama-3.1-70b",
      machines: ["h200-sxm"],
      phase: "decode",
      batch: 64,
      context: 4096,
      weights: "fp8",
    },
  },
  {
    key: "devices",
    set: {
      model: "llama-3.1-70b",
      machines: ["h100-sxm"],
      phase: "decode",
      batch: 32,
      context: 2048,
      devices: 4,
    },
  },
  {
    key: "experts",
    set: {
      model: "qwen3-30b-a3b",
      machines: ["h100-sxm"],
      phase: "decode",
      batch: 16,
      context: 2048,
      operators: true,
    },
  },
  {
    key: "latent",
    set: {
      model: "deepseek-v3",
      machines: ["h200-sxm"],
      phase: "decode",
      batch: 64,
      context: 8192,
    },
  },
  {
    key: "desk",
    set: {
      model: "qwen3-8b",
      machines: ["rtx-4090"],
      phase: "decode",
      batch: 1,
      context: 4096,
      weights: "int4:128",
    },
  },
  {
    key: "machines",
    set: {
      model: "llama-3.1-8b",
      machines: ["h100-sxm", "a100-80gb-sxm", "mi300x"],
      phase: "decode",
      batch: 16,
      context: 2048,
    },
  },
];
/** @type {Patch} */
const PLAIN = {
  weights: "",
  kv: "",
  compute: "",
  ceilings: "",
  operators: false,
  devices: 1,
  story: 0,
  drafted: 4,
};

// Builds the app into `root`. options: {state, onChange(state, commit), compact}.
// → {set, state, view, redraw, addPoints, say}
/** @type {(root: Element, data: PageData, t: Words, options: MountOptions) => App} */
export function mount(root, data, t, options) {
  /** @type {State} */
  let state = { ...startOf(data), ...options.state };
  let points = options.points ?? [];
  /** @type {View | null} */
  let view = null;
  let waiting = 0;
  const later = () => {
    isBusy(true);
    if (!waiting) waiting = requestAnimationFrame(render);
  };
  // For whoever listens instead of looking: the words are not all of this view yet.
  /** @type {(yes: boolean) => void} */
  const isBusy = (yes) => setAttribute(panel.element, "aria-busy", String(yes));
  const predictions = makePredictions(data, later);
  const viewOf = makeViews(data, predictions);

  /** @type {SetState} */
  const set = (change, commit = true) => {
    const patch = typeof change === "function" ? change(state) : change;
    state = { ...state, ...patch };
    later();
    options.onChange?.(state, commit);
  };

  const chart = makeChart();
  const controls = makeControls(data, t, set, predictions.engines);
  const panel = makePanel(data, t, set);
  const table = makeTable(t);
  const story = makeStory(data, t, set);
  const message = h("p", { class: "message", role: "status" });
  const title = h("h2", { class: "title" });
  // What can be done only while there is something to see.
  /** @type {(act: (view: View) => unknown) => () => unknown} */
  const seen = (act) => () => (view ? act(view) : null);
  /** @type {(key: string, onclick: () => unknown) => HTMLElement} */
  const button = (key, onclick) => h("button", { type: "button", onclick }, t(key));

  /** @type {(preset: (typeof PRESETS)[number]) => boolean} */
  const usable = (preset) =>
    data.models.some((m) => m.id === preset.set.model) &&
    preset.set.machines.every((id) => data.machines.some((m) => m.id === id));
  const presets = h(
    "nav",
    { class: "presets", "aria-label": t("ui.presets") },
    story.steps > 0
      ? h("button", { type: "button", class: "primary", onclick: story.start }, t("story.start"))
      : null,
    ...PRESETS.filter(usable).map((preset) =>
      h(
        "button",
        { type: "button", onclick: () => set({ ...PLAIN, ...preset.set }) },
        t(`preset.${preset.key}`),
      ),
    ),
  );
  const tools = h(
    "p",
    { class: "buttons" },
    button(
      "ui.svg",
      seen((view) => saveSvg(picture(view), fileName(view))),
    ),
    button(
      "ui.png",
      seen(async (view) =>
        download(`${fileName(view)}.png`, await toPng(picture(view)), "image/png"),
      ),
    ),
    options.compact ? null : button("ui.link", () => tell(copyText(location.href), "ui.copied")),
  );
  table.buttons.append(
    button(
      "table.copy",
      seen((view) => tell(copyText(tsv(rowsOf(view, t))), "ui.copied")),
    ),
    button(
      "table.csv",
      seen((view) =>
        download(`${fileName(view)}.csv`, `\ufeff${toCsv(allRows(view))}`, "text/csv"),
      ),
    ),
  );
  const foot = h("p", { class: "sources" });

  root.classList.add("app");
  root.replaceChildren(
    options.compact ? "" : presets,
    controls.top,
    h(
      "div",
      { class: "stage" },
      story.element,
      h(
        "div",
        { class: "picture" },
        title,
        chart.element,
        h("div", { class: "under" }, controls.toggle, tools),
        controls.sliders,
        message,
        foot,
      ),
      panel.element,
    ),
    table.element,
  );

  const fillTable = seen((view) => table.update(view));
  table.element.addEventListener("toggle", fillTable);
  panel.onOpen(seen((view) => panel.explain(view.main)));
  new ResizeObserver(() => chart.resize()).observe(chart.element);

  // A frame shows what one looks at while dragging: picture, controls, verdict and numbers. What
  // costs more than it can wait for follows as soon as the browser has nothing else to do.
  let unfinished = 0;
  /** @type {(act: () => void) => number} */
  const idle =
    "requestIdleCallback" in window
      ? (act) => requestIdleCallback(act, { timeout: 150 })
      : (act) => setTimeout(act, 40);

  const finish = seen((view) => {
    unfinished = 0;
    panel.finish(view);
    table.update(view);
    setText(foot, sourceLines(view).join(" · "));
    isBusy(waiting !== 0);
  });

  function render() {
    waiting = 0;
    const next = viewOf(state, points, t);
    if (!next) {
      setText(message, t("note.no-ceilings", { machine: state.machines.join(", ") }));
      isBusy(false);
      return;
    }
    view = next;
    setText(title, heading(next));
    chart.update(next, t);
    controls.update(state, next);
    panel.update(next);
    story.update(state, () => storyValues(next));
    if (!unfinished) unfinished = idle(finish);
  }

  function renderAll() {
    render();
    finish();
  }

  /** @type {(view: View) => string} */
  function heading({ main: { c }, list, model }) {
    const machines = list.map((s) => machineName(s.c)).join(" / ");
    return t("ui.heading", {
      model: model.name,
      machine: machines,
      formats: formatNames(c),
    });
  }

  /** @type {(c: Case) => string} */
  const formatNames = (c) => {
    const weights = c.chosen?.name ?? c.model.scheme;
    const kv = c.cache.name;
    return weights === kv ? weights : t("title.kv", { weights, kv });
  };

  /** @type {(view: View) => string[]} */
  function sourceLines(view) {
    /** @type {Set<string>} */
    const found = new Set();
    for (const { c, used } of view.list) {
      const links = (c.wire?.shares ?? []).map((share) => share.link.bandwidth);
      for (const figure of [
        c.roof.bandwidth,
        ...links,
        ...used.map((precision) => c.roof.compute[precision]),
      ]) {
        const source = data.sources[figure.source ?? ""];
        if (source)
          found.add([source.title, figure.date ?? source.date].filter(Boolean).join(", "));
      }
    }
    const { source } = view.model;
    if (source?.title) found.add([source.title, source.date].filter(Boolean).join(", "));
    return [t("ui.sources", { sources: [...found].join(t.sides) })];
  }

  // The numbers that the story speaks of, as they are now.
  /** @type {(view: View) => Values} */
  function storyValues(view) {
    const { c, b, climbed, f } = view.main;
    const first = view.list[0];
    return {
      model: view.model.name,
      machine: c.machine.name,
      peak: si(first.ridge.y, "FLOP/s"),
      bandwidth: si(c.bandwidth, "B/s"),
      ridge: digits(first.ridge.x),
      intensity: digits(b.intensity),
      prefill: digits(first.prefill.x),
      prompt: count(state.prompt),
      batch: count(state.batch),
      context: count(state.context),
      speed: digits(b.tokens_per_s),
      time: seconds(b.overlapped_s),
      weights: si(b.weights, "B"),
      kv: si(b.kv, "B"),
      flops: si(b.flops, "FLOP"),
      fraction: percent(b.compute_s / b.overlapped_s),
      naive: digits(first.path[0].x * state.batch),
      limit: climbed.limit === null ? "∞" : digits(climbed.limit),
      fits: f.most === null ? "?" : count(f.most),
      memory: f.memory === null ? "?" : si(f.memory, "B"),
      resident: si(f.weights, "B"),
      each: si(f.kv, "B"),
      outweighs: climbed.kv_outweighs === null ? "∞" : count(climbed.kv_outweighs),
    };
  }

  /** @type {(view: View) => string} */
  const fileName = (view) =>
    `roofline-${state.model}-${view.main.c.devices > 1 ? `${view.main.c.devices}x-` : ""}${state.machines.join("-")}`
      .replace(/[^\w.-]+/g, "_")
      .slice(0, 100);

  /** @type {(view: View) => SVGElement} */
  function picture(view) {
    const [name, because] = sayVerdict(view.main.b, t);
    const step = t(`phase.${state.phase}.name`);
    const { c } = view.main;
    const roof = saySource(c.roof.bandwidth, "why.bandwidth", "B/s", data.sources, t);
    const peaks = [...new Set(Object.values(c.used))].map((precision) =>
      saySource(c.roof.compute[precision], "why.peak", "FLOP/s", data.sources, t, { precision }),
    );
    const { predicted } = view.main;
    const told = predicted?.value ? [0, 3].map((i) => sayPredicted(predicted, t)[i]) : [];
    const address = location.protocol.startsWith("http") ? ` · ${location.href}` : "";
    return figure(chart, {
      title: heading(view),
      sub: `${step} · ${t("plot.batch", { batch: count(state.batch) })} · ${t("ui.tokens", { count: count(state.context) })} · ${name}${t("ui.colon")}${because}`,
      feet: [
        ...told,
        ...peaks,
        roof,
        ...sourceLines(view),
        `roofline ${data.version} · ${today()}${address}`,
      ],
    });
  }

  const today = () => new Date().toISOString().slice(0, 10);
  /** @type {(view: View) => Rows[]} */
  const allRows = (view) => [rowsOf(view, t), operatorRows(view, t), pointRows(view, t)];
  /** @type {(table: Rows) => string} */
  const tsv = ({ head, rows }) =>
    [head, ...rows.map((r) => r.map((c) => c[0]))].map((r) => r.join("\t")).join("\n");

  /** @type {(done: Promise<boolean>, key: string) => Promise<void>} */
  async function tell(done, key) {
    setText(message, (await done) ? t(key) : t("ui.failed"));
  }

  renderAll();
  return {
    set,
    get state() {
      return state;
    },
    /** @type {View | null} */
    get view() {
      return view;
    },
    get points() {
      return points;
    },
    say: (text) => setText(message, text),
    redraw: () => chart.redraw(),
    refresh: renderAll,
    // Fills what is folded, too: for print, where all of it shows.
    unfold: seen((view) => {
      table.update(view, true);
      panel.explain(view.main, true);
    }),
    addPoints(more) {
      points = [...points, ...more];
      renderAll();
      return { shown: view?.points.length ?? 0, hidden: view?.hiddenPoints ?? more.length };
    },
  };
}
