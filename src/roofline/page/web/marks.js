// @ts-check
// What hover and focus say about a mark: a title and a few numbers.

import { sayPredicted } from "./say.js";
import { count, digits, gain, percent, seconds, si } from "./units.js";

/** @type {(p: Spot) => string} */
const place = (p) => `${digits(p.x)} FLOP/byte · ${si(p.y, "FLOP/s")}`;

/** @type {(p: Spot, b: Bound, t: Words) => string[]} */
function stepLines(p, b, t) {
  const limited = t(`label.${b.binds}`);
  const peak = t("mark.peak", { fraction: percent(b.compute_s / b.overlapped_s) });
  const speed = `${digits(b.tokens_per_s)} tokens/s · ${seconds(b.overlapped_s)}`;
  return [place(p), `${limited} · ${peak}`, speed];
}

// kind: here, tick, full, prefill, limit, ridge or ghost. → lines of text.
/** @type {(kind: MarkKind, s: Series, p: Marked, t: Words) => string[]} */
export function sayMark(kind, s, p, t) {
  const machine = s.c.machine.name;
  /** @type {(title: string, ...lines: string[]) => string[]} */
  const titled = (title, ...lines) => [`${title} · ${machine}`, ...lines];
  if (kind === "ridge") {
    return titled(
      t("chart.ridge", { ridge: digits(p.x) }),
      t("mark.ridge", { precision: s.used.join(" + ") }),
    );
  }
  if (kind === "limit") {
    return titled(t("chart.limit", { limit: digits(p.x) }), place(p));
  }
  if (kind === "ghost") {
    return titled(t("chart.ghost", { n: p.batch }), t("mark.ghost"), place(p));
  }
  const lines = p.bound ? stepLines(p, p.bound, t) : [];
  const [batch, prompt] = [p.batch ?? 0, p.prompt ?? 0];
  if (kind === "prefill") return titled(t("chart.prefill", { prompt: count(prompt) }), ...lines);
  if (kind === "full") return titled(t("chart.full", { batch: count(batch) }), ...lines);
  const over = s.room.most !== null && batch > s.room.most;
  const said = over ? "plot.here.over" : kind === "here" ? "chart.you" : "plot.batch";
  return titled(t(said, { batch: count(batch) }), ...lines);
}

// One kind of operator.
/** @type {(dot: Dot, t: Words) => string[]} */
export function sayDot(dot, t) {
  const bounded = dot.bound === "memory" ? t("label.memory") : t("label.compute");
  return [
    dot.count > 1 ? `${dot.name} ×${dot.count}` : dot.name,
    `${digits(dot.x)} FLOP/byte · ${bounded} (${dot.compute})`,
    `${seconds(dot.seconds)} · ${t("mark.share", { share: percent(dot.share) })}`,
  ];
}

// A prediction: of which engine, its time and its interval, beside the bound.
/** @type {(predicted: Forecast & Placing, t: Words) => string[]} */
export function sayPrediction(predicted, t) {
  const { engine } = predicted;
  return [t("plot.predicted", { engine: engine.title }), ...sayPredicted(predicted, t).slice(0, 3)];
}

// How much of its roof a measured point reaches, short; where no roof of its machine is known, none.
/** @type {(p: Placed) => string} */
export const shareOf = (p) => (p.known ? (p.exact ? "" : "≥ ") + percent(p.share) : "");

// A measured point: what ran, where it lies, how much of its roof it reaches, and the verdict.
/** @type {(p: Placed, t: Words) => string[]} */
export function sayPoint(p, t) {
  const layers = p.layers === undefined ? "" : t("mark.layers", { layers: p.layers });
  const devices = p.devices > 1 ? `${p.devices} × ` : "";
  const what = [
    p.engine,
    [p.model, layers].filter(Boolean).join(" "),
    `${devices}${p.machine ?? ""}`,
  ]
    .filter(Boolean)
    .join(" · ");
  const step = t("mark.step", { batch: digits(p.batch), context: digits(p.context) });
  const reached = t(p.exact ? "mark.roof" : "mark.roof.least", { share: percent(p.share) });
  const over = p.verdict === "suspect" ? ` (${gain(p.share)})` : "";
  return [
    what || t("mark.point"),
    `${t.has(`phase.${p.phase}.name`) ? t(`phase.${p.phase}.name`) : p.phase} · ${step}`,
    `${place(p)} · ${seconds(p.step_s)}`,
    p.known ? `${reached} · ${t(`place.verdict.${p.verdict}`)}${over}` : t("mark.roof.none"),
  ];
}
