// What hover and focus say about a mark: a title and a few numbers.

import { sayPredicted } from "./say.js";
import { count, digits, gain, percent, seconds, si } from "./units.js";

const place = (p) => `${digits(p.x)} FLOP/byte · ${si(p.y, "FLOP/s")}`;

function stepLines(p, phase, t) {
  const b = p.bound;
  const limited = t(`label.${b.binds}`);
  const peak = t("mark.peak", { fraction: percent(b.compute_s / b.overlapped_s) });
  const speed = `${digits(b.tokens_per_s)} tokens/s · ${seconds(b.overlapped_s)}`;
  return [place(p), `${limited} · ${peak}`, speed];
}

// kind: here, tick, full, prefill, limit, ridge, ghost, dot or point. → lines of text.
export function sayMark(kind, s, p, state, t) {
  const machine = s.c.machine.name;
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
  if (kind === "dot") {
    const bounded = p.bound === "memory" ? t("label.memory") : t("label.compute");
    return [
      p.count > 1 ? `${p.name} ×${p.count}` : p.name,
      `${digits(p.x)} FLOP/byte · ${bounded} (${p.compute})`,
      `${seconds(p.seconds)} · ${t("mark.share", { share: percent(p.share) })}`,
    ];
  }
  if (kind === "prefill") {
    return titled(t("chart.prefill", { prompt: count(p.prompt) }), ...stepLines(p, "prefill", t));
  }
  if (kind === "full") {
    return titled(t("chart.full", { batch: count(p.batch) }), ...stepLines(p, "", t));
  }
  const over = s.room.most !== null && p.batch > s.room.most;
  const said = over ? "plot.here.over" : kind === "here" ? "chart.you" : "plot.batch";
  const title = t(said, { batch: count(p.batch) });
  return titled(title, ...stepLines(p, state.phase, t));
}

// A prediction: of which engine, its time and its interval, beside the bound.
export function sayPrediction(s, t) {
  const { engine } = s.predicted;
  return [
    t("plot.predicted", { engine: engine.title }),
    ...sayPredicted(s.predicted, t).slice(0, 3),
  ];
}

// How much of its roof a measured point reaches, short; where no roof of its machine is known, none.
export const shareOf = (p) => (p.known ? (p.exact ? "" : "≥ ") + percent(p.share) : "");

// A measured point: what ran, where it lies, how much of its roof it reaches, and the verdict.
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
