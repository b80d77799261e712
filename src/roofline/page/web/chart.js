// @ts-check
// The chart on the screen: draws the plot's nodes, and says what a mark means on hover and focus.

import { h, setAttribute, setText } from "./dom.js";
import { sayPoint } from "./marks.js";
import { plot } from "./plot.js";
import { layer, ruler, svg } from "./svg.js";

/** @type {LayerName[]} */
const LAYERS = ["grid", "roofs", "paths", "dots", "marks", "labels"];
const REACH = 22;
const A_FRAME = 1500; // dots that are painted within a frame
const REST = 250; // ms: what has not changed for so long is not being dragged

// → {element, update(view, t), resize(), current()}; view as in plot.js, with `points` placed.
/** @type {() => Chart} */
export function makeChart() {
  const points = svg("svg", { class: "points", "aria-hidden": "true" });
  const cloud = points.appendChild(svg("path", { class: "point" }));
  const root = svg("svg", { class: "plot", role: "group" });
  const hatch = svg("pattern", {
    id: "hatch",
    width: 6,
    height: 6,
    patternUnits: "userSpaceOnUse",
  });
  hatch.append(svg("path", { class: "hatching", d: "M0 6L6 0" }));
  root.append(svg("defs", {}, hatch));
  const layers = Object.fromEntries(LAYERS.map((name) => [name, layer(root, name)]));
  const cursor = svg("g", { class: "cursor", tabindex: "0", role: "img" });
  const ring = cursor.appendChild(svg("circle", { r: 13, class: "ring" }));
  root.append(cursor);
  const tip = h("div", { class: "tip", role: "status", hidden: true });
  const element = h("div", { class: "chart" }, points, root, tip);

  // Of what is shown, from the first update on.
  /** @type {View} */
  let view;
  /** @type {Words} */
  let t;
  /** @type {Plot} */
  let drawn;
  let [width, at] = [0, -1];
  /** @type {Mark[] | null} */
  let pointStops = null;
  /** @type {Measure | null} */
  let measure = null;
  let [cloudIs, axesAre, filling] = ["", "", 0];

  // The width is read only when it may have changed: reading it lays out the whole page.
  let stale = true;
  /** @type {() => Size} */
  function size() {
    if (stale) width = Math.round(element.clientWidth) || width || 720;
    stale = width === 0;
    const height = Math.round(Math.min(Math.max(width * 0.6, 330), 600));
    return { width, height };
  }

  function draw() {
    const { width: w, height } = size();
    measure ??= ruler(12, getComputedStyle(element).fontFamily);
    drawn = plot(view, { width: w, height }, t, measure);
    for (const part of [root, points]) {
      setAttribute(part, "viewBox", `0 0 ${w} ${height}`);
      setAttribute(part, "width", w);
      setAttribute(part, "height", height);
    }
    setAttribute(root, "aria-label", t("plot.title"));
    for (const name of LAYERS) layers[name].draw(drawn.nodes[name]);
    drawCloud();
    if (at >= 0) show(Math.min(at, countStops() - 1), false);
    else moveCursor(hereIndex());
  }

  // All measured points are one path of round dots: ten thousand cost no more than one, until the
  // axes move under them. Then some stand for all while one drags.
  function drawCloud() {
    const { X, Y } = drawn;
    const axes = [X.low, X.high, Y.low, Y.high, width].join();
    const moved = cloudIs === view.pointsKey;
    if (moved && axes === axesAre) return filling ? fillLater() : undefined;
    [cloudIs, axesAre] = [view.pointsKey, axes];
    pointStops = null;
    if (!moved || view.points.length <= A_FRAME) return fill();
    drawDots(Math.ceil(view.points.length / A_FRAME));
    return fillLater();
  }

  function fillLater() {
    clearTimeout(filling);
    filling = setTimeout(fill, REST);
  }

  function fill() {
    clearTimeout(filling);
    filling = 0;
    drawDots(1);
  }

  /** @type {(every: number) => void} */
  function drawDots(every) {
    const { X, Y, area } = drawn;
    let d = "";
    for (let i = 0; i < view.points.length; i += every) {
      const [x, y] = [X(view.points[i].x), Y(view.points[i].y)];
      if (x < area.x0 || x > area.x1 || y < area.y0 || y > area.y1) continue;
      d += `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
    }
    setAttribute(cloud, "d", d || "M0 0");
  }

  // Everything one can stop at, from left to right; points after marks. Points move only with
  // the axes: theirs are made when somebody looks, and kept until then.
  /** @type {() => Mark[]} */
  function stops() {
    drawn.stops ??= [...drawn.marks].sort((a, b) => a.x - b.x);
    return drawn.stops;
  }
  /** @type {() => Mark[]} */
  const allPointStops = () =>
    (pointStops ??= view.points.map((p) => ({
      kind: "point",
      x: drawn.X(p.x),
      y: drawn.Y(p.y),
      text: () => sayPoint(p, t),
    })));
  /** @type {(index: number) => Mark | undefined} */
  const stopAt = (index) => stops()[index] ?? allPointStops()[index - stops().length];
  const countStops = () => stops().length + view.points.length;

  const hereIndex = () => stops().findIndex((m) => m.kind === "here" && m.i === 0);

  /** @type {(index: number) => Mark | null} */
  function moveCursor(index) {
    const mark = stopAt(index);
    if (!mark) return null;
    setAttribute(cursor, "transform", `translate(${mark.x.toFixed(1)} ${mark.y.toFixed(1)})`);
    setAttribute(cursor, "aria-label", mark.text().join(". "));
    setAttribute(ring, "r", Math.max(13, (mark.r ?? 0) + 4).toFixed(0));
    return mark;
  }

  /** @type {(index: number, pointer: boolean) => void} */
  function show(index, pointer) {
    const mark = moveCursor(index);
    if (!mark) {
      hide();
      return;
    }
    at = index;
    const lines = mark.text();
    while (tip.children.length < lines.length) tip.append(h("div"));
    [...tip.children].forEach((child, i) => setText(child, lines[i] ?? ""));
    tip.hidden = false;
    element.classList.toggle("pointing", pointer);
    const { width: w, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(mark.x - w / 2, 0), Math.max(0, element.clientWidth - w));
    const above = mark.y - height - 18;
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(above < 0 ? mark.y + 18 : above)}px)`;
  }

  function hide() {
    at = -1;
    tip.hidden = true;
    element.classList.remove("pointing");
  }

  /** @type {(event: PointerEvent) => number} */
  function nearest(event) {
    const box = root.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, least] = [-1, REACH];
    [...stops(), ...allPointStops()].forEach((mark, i) => {
      // Inside a large dot the smaller ones win, so that all can be reached.
      const away = Math.hypot(mark.x - x, mark.y - y);
      const far = mark.r && away < mark.r ? Math.min(away, mark.r / 3) : away;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  }

  root.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    if (index >= 0) show(index, true);
    else if (document.activeElement !== cursor) hide();
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("pointerdown", (event) => {
    const index = nearest(event);
    if (index >= 0) show(index, true);
  });
  cursor.addEventListener("focus", () => show(hereIndex(), false));
  cursor.addEventListener("blur", hide);
  cursor.addEventListener("keydown", (event) => {
    const last = countStops() - 1;
    const now = at < 0 ? hereIndex() : at;
    const next = {
      ArrowRight: Math.min(now + 1, last),
      ArrowUp: Math.min(now + 1, last),
      ArrowLeft: Math.max(now - 1, 0),
      ArrowDown: Math.max(now - 1, 0),
      Home: 0,
      End: last,
    }[event.key];
    if (event.key === "Escape") hide();
    else if (next !== undefined) show(next, false);
    else return;
    event.preventDefault();
  });

  return {
    element,
    update(newView, words) {
      view = newView;
      t = words;
      if (element.isConnected) draw();
    },
    resize() {
      if (!view || Math.round(element.clientWidth) === width) return;
      stale = true;
      draw();
    },
    redraw() {
      stale = true;
      measure = null;
      if (view) draw();
    },
    // As they are exported: with every dot.
    svgs() {
      if (filling) fill();
      return [points, root];
    },
  };
}
