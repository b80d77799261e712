// @ts-check
// The table twin of the picture: the same as rows, to read, copy or save.

import { h, setText } from "./dom.js";
import { shareOf } from "./marks.js";
import { machineName } from "./plot.js";
import { slowest } from "./say.js";
import { count, digits, percent, seconds, si } from "./units.js";

const SHOWN_POINTS = 100;

// Rows of cells; each cell is [text for people, value for files].
/** @type {(view: View, t: Words) => Rows} */
export function rowsOf(view, t) {
  const { state } = view;
  const several = view.list.length > 1;
  /** @type {Cell[][]} */
  const rows = [];
  /** @type {(text: string, value?: string | number) => Cell} */
  const plain = (text, value = text) => [text, value];
  const none = plain("", "");
  for (const s of view.list) {
    const machine = machineName(s.c);
    /** @type {(text: string) => string} */
    const titled = (text) => (several || s.c.devices > 1 ? `${text} · ${machine}` : text);
    // What does not fit is what it would be if it did: in brackets, as in the terminal's tables.
    const over = s.room.most !== null && s.room.most < state.batch;
    /** @type {(text: string, full: boolean) => string} */
    const marked = (text, full) => (full ? `(${text})` : text);
    /** @type {(title: string, batch: number | null, p: Spot & { bound?: Bound }) => void} */
    const add = (title, batch, p) => {
      const b = p.bound;
      const full = s.room.most !== null && (batch ?? 0) > s.room.most;
      rows.push([
        plain(titled(title)),
        batch === null ? none : plain(count(batch), batch),
        plain(digits(p.x), p.x),
        plain(si(p.y, "FLOP/s"), p.y),
        b ? plain(marked(seconds(b.overlapped_s), full), b.overlapped_s) : none,
        b ? plain(marked(digits(b.tokens_per_s), full), b.tokens_per_s) : none,
        b ? plain(t(`label.${b.binds}`)) : none,
      ]);
    };
    add(t("plot.here.short"), state.batch, s.here);
    if (s.predicted?.value) {
      const p = s.predicted;
      const { tokens } = p.of;
      const name = t("plot.predicted", { engine: p.engine.title });
      /** @type {(text: string, time: number, y: number) => void} */
      const expect = (text, time, y) => {
        rows.push([
          plain(titled(text)),
          plain(count(state.batch), state.batch),
          plain(digits(p.x), p.x),
          plain(si(y, "FLOP/s"), y),
          plain(marked(seconds(time), over), time),
          plain(marked(digits(tokens / time), over), tokens / time),
          none,
        ]);
      };
      expect(name, p.value, p.y);
      expect(t("table.predicted.low", { name }), p.low, p.highest);
      expect(t("table.predicted.high", { name }), p.high, p.lowest);
    }
    add(t("table.ridge"), null, s.ridge);
    for (const p of s.ticks)
      add(
        t(state.phase === "prefill" ? "phase.decode.name" : `phase.${state.phase}.name`),
        p.batch,
        p,
      );
    if (s.full) add(t("plot.full.short"), s.full.batch, s.full);
    if (s.limit) add(t("plot.limit.short"), null, s.limit);
    add(t("chart.prefill", { prompt: count(state.prompt) }), 1, s.prefill);
  }
  return {
    head: [
      "table.what",
      "ui.batch",
      "table.intensity",
      "chart.y",
      "table.seconds",
      "table.speed",
      "table.bound",
    ].map((k) => t(k)),
    rows,
  };
}

/** @type {(view: View, t: Words) => Rows} */
export function operatorRows(view, t) {
  const { wire } = view.main.c;
  const time = view.main.operators.reduce((n, op) => n + op.seconds, 0);
  /** @type {Cell[][]} */
  const rows = view.main.operators.map((op) => [
    [op.name, op.name],
    [String(op.count), op.count],
    op.collective ? ["-", ""] : [si(op.flops, ""), op.flops],
    op.collective
      ? [t("table.sent", { bytes: si(op.sent ?? 0, "B") }), op.sent ?? 0]
      : [si(op.bytes, "B"), op.bytes],
    op.intensity === null ? ["-", ""] : [digits(op.intensity), op.intensity],
    [seconds(op.seconds), op.seconds],
    [percent(op.seconds / time), op.seconds / time],
    op.flops || op.collective
      ? [
          `${t(`bound.${op.bound}`)} (${op.collective && wire ? slowest(wire).link.name : op.compute})`,
          op.bound,
        ]
      : ["-", ""],
  ]);
  const names = ["operator", "count", "flops", "bytes", "intensity", "seconds", "share", "bound"];
  return { head: names.map((name) => t(`table.${name}`)), rows };
}

/** @type {(view: View, t: Words) => Rows} */
export function pointRows(view, t) {
  /** @type {Cell[][]} */
  const rows = view.points.map((p) => [
    [p.engine ?? "", p.engine ?? ""],
    [p.phase, p.phase],
    [digits(p.batch), p.batch],
    [digits(p.context), p.context],
    [digits(p.x), p.x],
    [si(p.y, "FLOP/s"), p.y],
    [seconds(p.step_s), p.step_s],
    [shareOf(p), p.known ? p.share : ""],
    [p.known ? t(`place.verdict.${p.verdict}`) : "", p.known ? p.verdict : ""],
  ]);
  const head = [
    "table.engine",
    "ui.phase",
    "ui.batch",
    "ui.context",
    "table.intensity",
    "chart.y",
    "table.seconds",
    "table.roof",
    "table.verdict",
  ];
  return { head: head.map((k) => t(k)), rows };
}

// Cells that a spreadsheet would take for a formula get an apostrophe in front.
/** @type {(value: string | number) => string} */
const cell = (value) => {
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** @type {(tables: Rows[]) => string} */
export function toCsv(tables) {
  return tables
    .filter((table) => table.rows.length)
    .map((table) => [table.head, ...table.rows.map((row) => row.map((c) => c[1]))])
    .map((lines) => lines.map((line) => line.map(cell).join(",")).join("\r\n"))
    .join("\r\n\r\n");
}

/** @type {(t: Words) => Twin} */
export function makeTable(t) {
  const bodies = ["all", "operators", "points"].map((name) => {
    const table = h(
      "table",
      {},
      h("caption", {}, t(`table.caption.${name}`)),
      h("thead"),
      h("tbody"),
    );
    return h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": t(`table.caption.${name}`) },
      table,
    );
  });
  const buttons = h("p", { class: "buttons" });
  const element = h(
    "details",
    { class: "twin" },
    h("summary", {}, t("table.title")),
    buttons,
    ...bodies,
  );

  /** @type {(box: HTMLElement, rows: Rows) => void} */
  function fill(box, { head, rows }) {
    const table = box.getElementsByTagName("table")[0];
    box.hidden = rows.length === 0;
    if (table.tHead) sync(table.tHead, [head], "th");
    sync(
      table.tBodies[0],
      rows.slice(0, SHOWN_POINTS).map((row) => row.map((c) => c[0])),
      "td",
    );
  }

  /** @type {(part: HTMLTableSectionElement, lines: string[][], tag: "th" | "td") => void} */
  function sync(part, lines, tag) {
    while (part.rows.length > lines.length) part.lastElementChild?.remove();
    lines.forEach((line, i) => {
      const row = part.rows[i] ?? part.insertRow();
      line.forEach((text, j) => {
        const inner =
          row.children[j] ??
          row.appendChild(
            h(j === 0 || tag === "th" ? "th" : "td", {
              scope: tag === "th" ? "col" : j === 0 ? "row" : null,
            }),
          );
        setText(inner, text);
      });
      while (row.children.length > line.length) row.lastElementChild?.remove();
    });
  }

  return {
    element,
    buttons,
    update(view, always = false) {
      if (!element.open && !always) return;
      fill(bodies[0], rowsOf(view, t));
      fill(bodies[1], operatorRows(view, t));
      fill(bodies[2], pointRows(view, t));
    },
  };
}
