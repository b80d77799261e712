// @ts-check
// The picture as nodes: [key, tag, attributes, text], in layers, and the marks one can point at.

import { sayDot, sayMark, sayPrediction } from "./marks.js";
import { place } from "./place.js";
import { logScale, ticksOf } from "./scale.js";
import { count, digits, si, tick } from "./units.js";

const LINE = 15;
/** @type {(v: number) => number} */
const round = (v) => Math.round(v * 10) / 10;
/** @type {(points: Pixel[]) => string} */
const lineTo = (points) => `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}`;

/** @type {(name: string) => string} */
export const shortName = (name) =>
  name.replace(/^(NVIDIA|AMD|Intel|Apple|Google|AWS|Huawei)\s+(GeForce\s+|Instinct\s+)?/, "");

// A case's machine, and how many of them.
/** @type {(c: { machine: Machine, devices: number }) => string} */
export const machineName = ({ machine, devices }) =>
  `${devices > 1 ? `${devices} × ` : ""}${shortName(machine.name)}`;

// view: {list, dots, points, domain, state}; size: {width, height}; ruler: text → pixels.
/** @type {(view: View, size: Size, t: Words, ruler: Measure) => Plot} */
export function plot(view, size, t, ruler) {
  const { list, domain } = view;
  const narrow = size.width < 520;
  const area = {
    x0: narrow ? 42 : 52,
    y0: 24,
    x1: size.width - (narrow ? 8 : 14),
    y1: size.height - 40,
  };
  const X = logScale(domain.x, [area.x0, area.x1]);
  const Y = logScale(domain.y, [area.y1, area.y0]);
  /** @type {Plot} */
  const out = {
    area,
    X,
    Y,
    narrow,
    several: list.length > 1,
    nodes: { grid: [], roofs: [], paths: [], dots: [], marks: [], labels: [] },
    lines: [],
    boxes: [],
    labels: [],
    marks: [],
    placed: [],
  };
  drawAxes(out, size, domain, list[0].c.devices, t, ruler);
  const at = { out, t, ruler, view };
  // What matters most is labelled first.
  for (const [i, s] of list.entries()) drawClimb({ ...at, s, i });
  for (const [i, s] of list.entries()) drawRoofs({ ...at, s, i });
  drawDots(at);
  const placed = place(
    out.labels.sort((one, other) => one.rank - other.rank),
    area,
    out.boxes,
    out.lines,
  );
  out.nodes.labels = placed.flatMap((p) => labelNodes(p));
  out.placed = placed;
  return out;
}

/** @type {(out: Plot, size: Size, domain: View["domain"], devices: number, t: Words,
 *   ruler: Measure) => void} */
function drawAxes(out, size, domain, devices, t, ruler) {
  const { area, X, Y, nodes } = out;
  let end = -Infinity;
  let grid = ""; // all its lines as one path: few elements make quick frames
  for (const v of ticksOf(domain.x)) {
    const x = round(X(v));
    grid += `M${x} ${area.y0}V${area.y1}`;
    const text = tick(v, false);
    const half = ruler(text) / 2;
    const at = Math.min(Math.max(x, area.x0 - 20 + half), size.width - 2 - half);
    if (at - half < end + 6) continue; // no room for this one
    end = at + half;
    const place = { class: "tick", x: round(at), y: area.y1 + 17, "text-anchor": "middle" };
    nodes.grid.push([`tx${v}`, "text", place, text]);
  }
  for (const v of ticksOf(domain.y)) {
    const y = round(Y(v));
    grid += `M${area.x0} ${y}H${area.x1}`;
    const place = { class: "tick", x: area.x0 - 6, y: y + 4, "text-anchor": "end" };
    nodes.grid.push([`ty${v}`, "text", place, tick(v, true)]);
  }
  nodes.grid.push(["grid", "path", { class: "grid", d: grid }]);
  const axis = `M${area.x0} ${area.y0}V${area.y1}H${area.x1}`;
  nodes.grid.push(["axis", "path", { class: "axis", d: axis }]);
  const y = { class: "title", x: 2, y: 13 };
  nodes.grid.push(["y", "text", y, t(out.narrow ? "plot.y.short" : "chart.y")]);
  const x = { class: "title", x: area.x1, y: size.height - 6, "text-anchor": "end" };
  const along = t(out.narrow ? "plot.x.short" : "plot.x");
  nodes.grid.push(["x", "text", x, devices > 1 ? t("plot.x.device", { along, devices }) : along]);
}

// A line through points in pixels, and what labels should keep off.
// A label that crosses it pays `weight`.
/** @type {(out: Plot, layer: LayerName, key: string, points: Pixel[], attributes: Attributes,
 *   weight: number) => void} */
function line(out, layerName, key, points, attributes, weight) {
  out.nodes[layerName].push([key, "path", { d: lineTo(points), ...attributes }]);
  for (let i = 1; i < points.length; i += 1) {
    out.lines.push([...points[i - 1], ...points[i], weight]);
  }
}

/** @type {(out: Plot, entry: Mark) => void} */
function mark(out, entry) {
  out.marks.push(entry);
}

// A text at the first of its spots ([x, y, directions]) that is free; `texts` from long to short.
/** @type {(out: Plot, ruler: Measure, rank: number, key: string, gap: number, spots: Around[],
 *   texts: string | string[], className?: string, reach?: number) => void} */
function label(out, ruler, rank, key, gap, spots, texts, className = "", reach = 4) {
  const weight = className.includes("strong") ? 600 : 400;
  const few = out.narrow ? [texts].flat().slice(-1) : [texts].flat();
  const options = few.map((text) => ({ text, width: ruler(text, weight) + 4 }));
  out.labels.push({ rank, key, spots, gap, reach, texts: options, height: LINE, className });
}

/** @type {(p: PlacedLabel) => Drawn[]} */
function labelNodes(p) {
  const { label: of } = p;
  // Moved as a whole: a text whose own x and y change is laid out anew.
  const transform = `translate(${round(p.x0 + 2)} ${round(p.y1 - 4)})`;
  const attributes = { class: `label ${of.className}`, transform };
  /** @type {Drawn[]} */
  const nodes = [[of.key, "text", attributes, p.text]];
  if (p.leader) {
    // A label that had to go far keeps a thin line to its point.
    const [x0, y0, x1, y1] = p.leader;
    const d = lineTo([
      [x0, y0],
      [x1, y1],
    ]);
    nodes.push([`${of.key}-leader`, "path", { class: `leader ${of.className}`, d }]);
  }
  return nodes;
}

/** @type {(of: Drawing) => void} */
function drawRoofs({ out, t, ruler, s, i }) {
  const { X, Y, area } = out;
  const { low, high } = X;
  const name = out.several ? `${machineName(s.c)} ` : "";
  for (const roof of s.roofs) {
    const measured = roof.kind === "measured";
    const bandwidth = roof.bandwidth ?? s.c.bandwidth;
    const kind = t(`ceilings.${roof.kind}`);
    const style = { class: `roof ${roof.kind} s${i}` };
    const highest = Math.max(s.ridge.y, ...roof.peaks.map((peak) => peak.value));
    /** @type {(peak: number) => number} */
    const corner = (peak) => Math.min(Math.max(peak / bandwidth, low), high);
    if (roof.bandwidth) {
      const x = corner(highest);
      /** @type {Pixel[]} */
      const points = [
        [X(low), Y(bandwidth * low)],
        [X(x), Y(bandwidth * x)],
      ];
      line(out, "roofs", `slope${i}${roof.kind}`, points, style, 25);
    }
    roof.peaks.forEach(({ precision, value: peak }, n) => {
      const x = corner(peak);
      const [from, y] = [X(x), Y(peak)];
      line(
        out,
        "roofs",
        `peak${i}${roof.kind}${n}`,
        [
          [from, y],
          [X(high), y],
        ],
        style,
        25,
      );
      if (out.several && (measured || n > 0)) return;
      const value = si(peak, "FLOP/s");
      const end = area.x1 + 3;
      /** @type {["s", "n"] | ["n", "s"]} */
      const [first, second] = measured ? ["s", "n"] : ["n", "s"];
      /** @type {Around[]} */
      const along = [0.8, 0.6, 0.4, 0.2].map((part) => [from + (end - from) * part, y, [first]]);
      /** @type {Around[]} */
      const spots = [[end, y, [`${first}w`]], ...along, [from, y, [`${first}e`]]];
      // Left of its beginning there is room above the slope.
      if (!measured) spots.push([from - 24, y, ["w"]]);
      // The other side only where no line of the other kind is near to be mistaken for it.
      if (s.roofs.length === 1) spots.push([end, y, [`${second}w`]]);
      const texts = out.several
        ? [`${name}${value}`, value]
        : [`${value} · ${precision} · ${kind}`, `${value} ${precision}`, value];
      label(
        out,
        ruler,
        (measured ? 13 : 12.6) + 0.1 * (i + n),
        `peak${i}${roof.kind}${n}`,
        4,
        spots,
        texts,
        `s${i}`,
        2,
      );
    });
    if (roof.bandwidth && !out.several) {
      const value = si(roof.bandwidth, "B/s");
      const type = s.c.machine.memory?.type;
      const texts = [`${value}${type ? ` ${type}` : ""} · ${kind}`, value];
      /** @type {Around[]} */
      const spots = [0.45, 0.6, 0.32, 0.75, 0.2].map((part) => {
        const x = low * (corner(highest) / low) ** part;
        return [X(x), Y(bandwidth * x), measured ? ["se", "e", "s"] : ["nw", "w", "n"]];
      });
      label(out, ruler, 31, `slope${i}${roof.kind}`, 6, spots, texts, `s${i}`, 3);
    }
  }
  if (s.talk.length) drawTalk({ out, t, ruler, s, i });
  if (s.ridge.x < high) {
    const x = round(X(s.ridge.x));
    /** @type {Pixel[]} */
    const drop = [
      [x, Y(s.ridge.y)],
      [x, area.y1],
    ];
    line(out, "roofs", `ridge${i}`, drop, { class: `ridge s${i}` }, 8);
    const said = t("chart.ridge", { ridge: digits(s.ridge.x) });
    const texts = out.several ? [digits(s.ridge.x)] : [said];
    /** @type {Around[]} */
    const spots = [[x, area.y1 - 11 - 17 * i, ["e", "w"]]];
    label(out, ruler, i === 0 ? 11 : 25, `ridge${i}`, 5, spots, texts, `strong s${i}`);
    mark(out, {
      kind: "ridge",
      s,
      i,
      x,
      y: Y(s.ridge.y),
      text: () => sayMark("ridge", s, s.ridge, t),
    });
  }
  if (!out.several && !out.narrow) drawOthers(out, ruler, s);
}

// What the exchanges between devices allow the path's steps: a third ceiling.
/** @type {(of: Omit<Drawing, "view">) => void} */
function drawTalk({ out, t, ruler, s, i }) {
  const { X, Y } = out;
  const points = [];
  for (const [n, p] of s.talk.entries()) {
    const before = s.talk[n - 1];
    if (p.y > Y.high) {
      if (before && before.y <= Y.high) points.push(cutAt(before, p, Y.high));
    } else if (p.y >= Y.low) {
      if (before && before.y > Y.high) points.push(cutAt(p, before, Y.high));
      points.push(p);
    }
  }
  /** @type {Pixel[]} */
  const seen = points.filter((p) => p.x >= X.low && p.x <= X.high).map((p) => [X(p.x), Y(p.y)]);
  if (seen.length < 2) return;
  line(out, "roofs", `talk${i}`, seen, { class: `roof talk s${i}` }, 12);
  if (i > 0) return;
  /** @type {Around[]} */
  const spots = [0.5, 0.75, 0.25, 0].map((part) => {
    const [x, y] = seen[Math.floor((seen.length - 1) * part)];
    return [x, y, ["nw", "w", "ne", "e", "n"]];
  });
  label(out, ruler, 30, "talk", 6, spots, [t("plot.talk"), t("part.communication")], `s${i}`, 3);
}

// Where the line from one point to another passes a height, in the logarithmic plane.
/** @type {(from: Spot, to: Spot, y: number) => Spot} */
function cutAt(from, to, y) {
  const part = Math.log(y / from.y) / Math.log(to.y / from.y);
  return { x: from.x * (to.x / from.x) ** part, y };
}

// Peaks in other precisions, faint.
/** @type {(out: Plot, ruler: Measure, s: Series) => void} */
function drawOthers(out, ruler, s) {
  const { X, Y, area } = out;
  const { low, high } = X;
  const top = Math.max(
    s.ridge.y,
    ...s.roofs.flatMap((roof) => roof.peaks.map((peak) => peak.value)),
  );
  for (const { value, names } of s.others) {
    if (value > Y.high || value < Y.low) continue;
    const ridge = Math.max(low, value / s.c.bandwidth);
    if (ridge < high) {
      /** @type {Pixel[]} */
      const start = value > top ? [[X(top / s.c.bandwidth), Y(top)]] : [];
      /** @type {Pixel[]} */
      const points = [...start, [X(ridge), Y(value)], [X(high), Y(value)]];
      line(out, "roofs", `other${value}`, points, { class: "roof faint" }, 4);
    }
    const texts = [`${names.join(", ")} ${si(value, "FLOP/s")}`, `${names[0]} ${si(value, "")}`];
    /** @type {Around[]} */
    const spots = [1, 0.7, 0.4].map((part) => [
      X(ridge) + (area.x1 + 2 - X(ridge)) * part,
      Y(value),
      ["nw", "sw"],
    ]);
    label(out, ruler, 60, `other${value}`, 3, spots, texts, "quiet", 1);
  }
}

/** @type {(of: Drawing) => void} */
function drawClimb({ out, t, ruler, s, i, view }) {
  const { X, Y, area, nodes } = out;
  const { state } = view;
  /** @type {(p: Spot) => boolean} */
  const within = (p) => p.x >= X.low * 0.999 && p.x <= X.high * 1.001;
  /** @type {(p: Spot) => Pixel} */
  const at = (p) => [X(p.x), Y(p.y)];
  const one = i === 0;
  const most = s.room.most ?? Infinity;

  // The path: solid up to the batch that fits, thin from there to its end.
  const free = s.path.every((p) => !p.bound.communication_bound);
  const kink = free && s.path.some((p) => p.x > s.ridge.x) ? [{ x: s.ridge.x, y: s.ridge.y }] : [];
  const edge = s.full ? [s.full] : [];
  const end = s.limit ? [s.limit] : [];
  const all = [...s.path, ...kink, ...edge, ...end]
    .filter((p) => !s.limit || p.x <= s.limit.x * 1.0000001)
    .sort((a, b) => a.x - b.x);
  const full = s.full?.x ?? (most === 0 ? 0 : Infinity);
  /** @type {Pixel[]} */
  const solid = all.filter((p) => p.x <= full).map(at);
  /** @type {Pixel[]} */
  const rest = all.filter((p) => p.x >= full).map(at);
  if (solid.length > 1) line(out, "paths", `path${i}`, solid, { class: `path s${i}` }, 30);
  if (rest.length > 1) line(out, "paths", `rest${i}`, rest, { class: `path rest s${i}` }, 30);

  // The hollow end that no batch passes.
  const { limit: hollow, full: wall } = s;
  if (hollow && within(hollow)) {
    const [x, y] = at(hollow);
    nodes.marks.push([
      `limit${i}`,
      "circle",
      { class: `hollow s${i}`, cx: round(x), cy: round(y), r: 6 },
    ]);
    out.boxes.push({ x0: x - 6, y0: y - 6, x1: x + 6, y1: y + 6 });
    mark(out, { kind: "limit", s, i, x, y, text: () => sayMark("limit", s, hollow, t) });
    const limit = digits(hollow.x);
    if (one) {
      /** @type {Around[]} */
      const spots = [[x, y, ["se", "e", "nw", "n", "w", "ne", "s", "sw"]]];
      const texts = [t("chart.limit", { limit }), t("plot.limit", { limit })];
      label(out, ruler, 12, `limit${i}`, 9, spots, texts, `s${i}`);
    }
  }

  // The wall where memory is full.
  if (wall && within(wall) && most < 2 ** 20) {
    const [x, y] = at(wall);
    line(
      out,
      "paths",
      `wall${i}`,
      [
        [x, y - 14],
        [x, area.y1],
      ],
      { class: `wall s${i}` },
      20,
    );
    if (one) {
      const box = { x: round(x), y: round(y), width: 9, height: round(area.y1 - y) };
      nodes.paths.push(["hatch", "rect", { class: "hatch", ...box }]);
      out.lines.push([x + 6, y, x + 6, area.y1, 12]);
      const texts = [
        t("chart.full", { batch: count(most) }),
        t("plot.full", { batch: count(most) }),
      ];
      /** @type {Around[]} */
      const spots = [0.42, 0.6, 0.25, 0.8].map((part) => [x, y + (area.y1 - y) * part, ["e", "w"]]);
      label(out, ruler, 13, "full", 12, spots, texts);
    }
    mark(out, { kind: "full", s, i, x, y, text: () => sayMark("full", s, wall, t) });
  } else if (one && most === 0) {
    const [x, y] = at(s.path[0]);
    label(out, ruler, 13, "full", 16, [[x, y, ["se", "e", "ne", "n"]]], [t("plot.none")], `s${i}`);
  }

  // Ticks of the batch.
  for (const p of s.ticks) {
    if (!within(p)) continue;
    const [x, y] = at(p);
    const fits = p.batch <= most ? "" : " rest";
    const place = { class: `stop s${i}${fits}`, cx: round(x), cy: round(y), r: one ? 4 : 3 };
    nodes.marks.push([`tick${i}-${p.batch}`, "circle", place]);
    out.boxes.push({ x0: x - 4, y0: y - 4, x1: x + 4, y1: y + 4 });
    mark(out, { kind: "tick", s, i, x, y, text: () => sayMark("tick", s, p, t) });
    if (one && p.batch !== state.batch) {
      const texts = p.batch === 256 ? [t("plot.batch", { batch: 256 }), "256"] : String(p.batch);
      /** @type {Around[]} */
      const spots = [[x, y, ["se", "s", "e", "sw", "nw"]]];
      label(out, ruler, 20 + (p.batch === 8 ? 3 : 0), `tick${p.batch}`, 7, spots, texts, `s${i}`);
    }
  }

  if (!out.several) drawGhost({ out, t, ruler, s });
  drawSpots({ out, t, ruler, s, i, state, within });
}

// Prefill, and the step itself: you are here.
/** @type {(of: Omit<Drawing, "view"> & { state: State, within: (p: Spot) => boolean }) => void} */
function drawSpots({ out, t, ruler, s, i, state, within }) {
  const { X, Y, nodes } = out;
  const name = out.several ? `${machineName(s.c)} ` : "";
  if (within(s.prefill)) {
    const [x, y] = [X(s.prefill.x), Y(s.prefill.y)];
    const d = `M${round(x)} ${round(y - 7)}l7 7l-7 7l-7 -7z`;
    nodes.marks.push([`prefill${i}`, "path", { class: `prefill s${i}`, d }]);
    out.boxes.push({ x0: x - 7, y0: y - 7, x1: x + 7, y1: y + 7 });
    mark(out, {
      kind: "prefill",
      s,
      i,
      x,
      y,
      text: () => sayMark("prefill", s, s.prefill, t),
    });
    if (i === 0) {
      const prompt = count(state.prompt);
      const texts = [t("chart.prefill", { prompt }), t("plot.prefill")];
      /** @type {Around[]} */
      const spots = [[x, y, ["s", "sw", "se", "n", "nw", "ne"]]];
      label(out, ruler, 12.5, "prefill", 9, spots, texts, `s${i}`);
    }
  }
  const [x, y] = [X(s.here.x), Y(s.here.y)];
  const fits = s.room.most === null || state.batch <= s.room.most ? "" : " over";
  nodes.marks.push([
    `halo${i}`,
    "circle",
    { class: `halo s${i}`, cx: round(x), cy: round(y), r: 11 },
  ]);
  nodes.marks.push([
    `here${i}`,
    "circle",
    { class: `here s${i}${fits}`, cx: round(x), cy: round(y), r: 5.5 },
  ]);
  out.boxes.push({ x0: x - 11, y0: y - 11, x1: x + 11, y1: y + 11 });
  mark(out, { kind: "here", s, i, x, y, text: () => sayMark("here", s, s.here, t) });
  if (s.predicted?.value) drawPrediction({ out, t, ruler, s, i }, s.predicted);
  const values = { batch: count(state.batch), name: machineName(s.c) };
  const texts =
    i === 0 && !out.several
      ? [t(fits ? "plot.here.over" : "chart.you", values), t("plot.batch", values)]
      : [name.trim()];
  /** @type {Around[]} */
  const spots = [[x, y, ["se", "e", "s", "ne", "n", "sw", "nw", "w"]]];
  label(out, ruler, i, `here${i}`, 13, spots, texts, `strong s${i}`);
}

// Where it will be: the expected point below its bound, and the interval as a bar.
/** @type {(of: Omit<Drawing, "view">, p: Forecast & Placing) => void} */
function drawPrediction({ out, t, ruler, s, i }, p) {
  const { X, Y, nodes, area } = out;
  const [x, y, top, low] = [X(p.x), Y(p.y), Y(p.highest), Math.min(Y(p.lowest), area.y1)].map(
    round,
  );
  const bar = `M${x} ${top}V${low}M${x - 5} ${top}h10M${x - 5} ${low}h10`;
  nodes.marks.push([`interval${i}`, "path", { class: `interval s${i}`, d: bar }]);
  const box = { x: x - 4.5, y: y - 4.5, width: 9, height: 9 };
  nodes.marks.push([`predicted${i}`, "rect", { class: `predicted s${i}`, ...box }]);
  out.boxes.push({ x0: x - 6, y0: top, x1: x + 6, y1: low });
  mark(out, { kind: "predicted", s, i, x, y, text: () => sayPrediction(p, t) });
  if (out.several) return;
  const texts = [t("plot.predicted", { engine: p.engine.title }), t("plot.predicted.short")];
  label(
    out,
    ruler,
    10,
    `predicted${i}`,
    9,
    [
      [x, y, ["e", "se", "w", "sw"]],
      [x, low, ["se", "s", "sw"]],
    ],
    texts,
    `s${i}`,
  );
}

// What ×N would promise, if a batch read nothing but the weights: beside the roof, as a ghost.
/** @type {(of: Omit<Drawing, "view" | "i">) => void} */
function drawGhost({ out, t, ruler, s }) {
  const { X, Y } = out;
  const lift = 12;
  const shown = s.ghost.filter((p) => p.x <= X.high);
  /** @type {Pixel[]} */
  const points = shown.map((p) => [X(p.x), Y(p.y) - lift]);
  const last = shown.at(-1);
  if (!last || shown.length < 2) return;
  if (last.x > s.ridge.x) points.splice(-1, 0, [X(s.ridge.x), Y(s.ridge.y) - lift]);
  points.sort((a, b) => a[0] - b[0]);
  line(out, "paths", "ghost", points, { class: "ghost" }, 12);
  for (const p of shown.slice(1)) {
    const place = { class: "ghost", cx: round(X(p.x)), cy: round(Y(p.y) - lift), r: 2.5 };
    out.nodes.marks.push([`ghost${p.batch}`, "circle", place]);
  }
  const text = t("chart.ghost", { n: last.batch });
  const [x, y] = [X(last.x), Y(last.y) - lift];
  label(
    out,
    ruler,
    22,
    "ghost",
    5,
    [[x, y, ["nw", "n", "w", "ne"]]],
    [text, t("plot.ghost.short")],
    "quiet",
  );
  mark(out, { kind: "ghost", s, i: 0, x, y, text: () => sayMark("ghost", s, last, t) });
}

/** @type {(of: Omit<Drawing, "s" | "i">) => void} */
function drawDots({ out, t, ruler, view }) {
  const { X, Y, nodes } = out;
  const s = view.list[0];
  let labelled = 0;
  let all = "";
  view.dots.forEach((dot, n) => {
    const [x, y] = [X(dot.x), Y(dot.y)];
    const r = Math.max(3, Math.sqrt(dot.share) * 30);
    all += circle(x, y, r);
    mark(out, { kind: "dot", s, i: 0, x, y, r, text: () => sayDot(dot, t) });
    const near = view.dots.slice(0, n).some((d) => Math.hypot(X(d.x) - x, Y(d.y) - y) < 5);
    if (!near && labelled < 6 && dot.share > 0.004) {
      labelled += 1;
      /** @type {Around[]} */
      const spots = [[x, y, ["se", "s", "e", "sw", "w", "nw", "n"]]];
      label(out, ruler, 40 + n, `dot${n}`, r + 3, spots, dot.name, "dotname s0");
    }
  });
  if (all) nodes.dots.push(["dots", "path", { class: "dot s0", d: all }]);
}

/** @type {(x: number, y: number, r: number) => string} */
const circle = (x, y, r) => {
  const [size, across] = [round(r), 2 * round(r)];
  return `M${round(x - size)} ${round(y)}a${size} ${size} 0 1 0 ${across} 0a${size} ${size} 0 1 0 ${-across} 0z`;
};
