// @ts-check
// Saving what is seen: the picture as SVG or PNG with its sources and date, tables as text.

import { download, h } from "./dom.js";
import { ruler, svg } from "./svg.js";

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "paint-order",
];

// A copy whose looks are attributes, so that it needs no style sheet.
/** @type {(original: SVGElement) => SVGElement} */
function still(original) {
  const copy = /** @type {SVGElement} */ (original.cloneNode(true));
  const from = [original, ...original.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      if (value) to[i].setAttribute(name, value.replaceAll('"', "'"));
    }
    to[i].removeAttribute("class");
  });
  for (const gone of copy.querySelectorAll("[tabindex]")) gone.remove(); // the cursor
  return copy;
}

/** @type {(text: string, width: number, measure: Measure) => string[]} */
function wrapped(text, width, measure) {
  const lines = [""];
  for (const piece of text.match(/[\x21-\x7e]+\s*|[^\x21-\x7e]/g) ?? []) {
    if (measure(lines.at(-1) + piece) > width && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += piece;
  }
  return lines;
}

/** @type {(text: string, size: number, weight: number) => [string, number, number]} */
const sized = (text, size, weight) => [text, size, weight];

// The picture as one SVG element. title: heading; sub: a line below; feet: lines at the end.
/** @type {(chart: Chart, said: { title: string, sub: string, feet: string[] }) => SVGElement} */
export function figure(chart, { title, sub, feet }) {
  const [points, plot] = chart.svgs();
  const [width, height] = ["width", "height"].map((name) => Number(plot.getAttribute(name)));
  const style = getComputedStyle(chart.element);
  const family = style.fontFamily.replaceAll('"', "'");
  const small = ruler(11, style.fontFamily);
  const large = ruler(15, style.fontFamily);
  /** @type {[text: string, size: number, weight: number][]} */
  const lines = [
    ...wrapped(title, width - 16, (text) => large(text, 600)).map((text) => sized(text, 15, 600)),
    ...wrapped(sub, width - 16, small).map((text) => sized(text, 11, 400)),
  ];
  const head = 10 + lines.reduce((n, [, size]) => n + size * 1.45, 0);
  const foot = feet.flatMap((text) => wrapped(text, width - 16, small));
  const all = head + height + 12 + foot.length * 15 + 6;
  const out = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height: all,
    viewBox: `0 0 ${width} ${all}`,
  });
  out.append(svg("title", {}, title));
  out.append(
    svg("rect", { width, height: all, fill: style.getPropertyValue("--paper").trim() || "#fff" }),
  );
  let y = 8;
  /** @type {(text: string, size: number, weight: number) => void} */
  const write = (text, size, weight) => {
    y += size * 1.3;
    const at = {
      x: 8,
      y,
      "font-family": family,
      "font-size": size,
      "font-weight": weight,
      fill: style.color,
    };
    out.append(svg("text", at, text));
    y += size * 0.15;
  };
  for (const line of lines) write(...line);
  for (const part of [points, plot]) {
    const copy = still(part);
    copy.setAttribute("y", String(head));
    out.append(copy);
  }
  y = head + height + 2;
  for (const text of foot) write(text, 11, 400);
  return out;
}

/** @type {(element: Element) => string} */
const textOf = (element) => new XMLSerializer().serializeToString(element);

/** @type {(element: Element, name: string) => void} */
export function saveSvg(element, name) {
  download(
    `${name}.svg`,
    `<?xml version="1.0" encoding="UTF-8"?>\n${textOf(element)}\n`,
    "image/svg+xml",
  );
}

/** @type {(element: Element, scale?: number) => Promise<Blob>} */
export async function toPng(element, scale = 2) {
  const url = URL.createObjectURL(new Blob([textOf(element)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = h("canvas", {
      width: Math.round(Number(element.getAttribute("width")) * scale),
      height: Math.round(Number(element.getAttribute("height")) * scale),
    });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) => {
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no picture"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

// Puts a text on the clipboard; true where that worked.
/** @type {(text: string) => Promise<boolean>} */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = h("textarea", { class: "away", "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}
