// @ts-check
// Elements by key: what has not changed since the last drawing is not touched.

import { setText } from "./dom.js";

const NS = "http://www.w3.org/2000/svg";

/** @type {<K extends keyof SVGElementTagNameMap>(tag: K, attributes?: Attributes,
 *   ...children: (Node | string)[]) => SVGElementTagNameMap[K]} */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

// A group whose children are given anew each time: draw([[key, tag, attributes, text?], …]).
/** @type {(parent: Element, name: string) => { group: SVGElement, draw: (nodes: Drawn[]) =>
 *   void }} */
export function layer(parent, name) {
  const group = parent.appendChild(svg("g", { class: `layer-${name}` }));
  /** @type {Map<string, Kept>} */
  let live = new Map();
  /** @type {(nodes: Drawn[]) => void} */
  const draw = (nodes) => {
    /** @type {Map<string, Kept>} */
    const next = new Map();
    for (const [key, tag, attributes, text] of nodes) {
      let node = live.get(key);
      if (!node || node.tag !== tag) {
        node?.element.remove();
        node = {
          tag,
          element: group.appendChild(svg(/** @type {"path"} */ (tag))),
          attributes: {},
          text: undefined,
        };
      }
      live.delete(key);
      next.set(key, node);
      for (const at in attributes) {
        const value = String(attributes[at]);
        if (node.attributes[at] !== value) {
          node.element.setAttribute(at, value);
          node.attributes[at] = value;
        }
      }
      for (const at in node.attributes) {
        if (!(at in attributes)) {
          node.element.removeAttribute(at);
          delete node.attributes[at];
        }
      }
      if (text !== undefined && node.text !== text) {
        setText(node.element, text);
        node.text = text;
      }
    }
    for (const gone of live.values()) gone.element.remove();
    live = next;
  };
  return { group, draw };
}

// Widths of texts in a font, remembered: ruler(size, family)(text, weight).
/** @type {(size: number, family: string) => Measure} */
export function ruler(size, family) {
  const pen = /** @type {CanvasRenderingContext2D} */ (
    document.createElement("canvas").getContext("2d")
  );
  /** @type {Map<string, number>} */
  const known = new Map();
  return (text, weight = 400) => {
    const key = weight + text;
    let width = known.get(key);
    if (width === undefined) {
      if (known.size > 4000) known.clear();
      pen.font = `${weight} ${size}px ${family}`;
      width = pen.measureText(text).width;
      known.set(key, width);
    }
    return width;
  };
}
