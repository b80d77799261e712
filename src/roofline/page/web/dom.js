// @ts-check
// Elements from plain values: text is always text, never markup.

const PROPERTIES = ["value", "checked", "selected"];

/** @type {<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Record<string, any>,
 *   ...children: Child[]) => HTMLElementTagNameMap[K]} */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.includes(name)) Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// The element of the document with that id.
/** @type {(id: string) => HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

// Sets a text only where it differs, so that nothing is laid out for nothing; a text node that is
// there is kept, which spares its element's style and box.
/** @type {(element: Element, text: string) => void} */
export function setText(element, text) {
  const only = element.firstChild;
  if (only instanceof Text && only === element.lastChild) {
    if (only.data !== text) only.data = text;
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}

// A number and its unit stay on one line.
/** @type {(text: string) => string} */
export const tied = (text) =>
  text.replace(/(\d) (?=(?:%|[kMGTPEmµn]?(?:B|s|FLOP|B\/s|FLOP\/s)(?![A-Za-z/])))/g, "$1\u00a0");

/** @type {(element: HTMLElement, hidden: boolean) => void} */
export function setHidden(element, hidden) {
  if (element.hidden !== hidden) element.hidden = hidden;
}

// Sets what a field shows, only where it differs.
/** @type {<T, K extends keyof T>(field: T, name: K, value: T[K]) => void} */
export function setField(field, name, value) {
  if (field[name] !== value) field[name] = value;
}

/** @type {(element: Element, name: string, value: string | number) => void} */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

// Saves a text or blob as a file of the reader's.
/** @type {(name: string, content: Blob | string, type: string) => void} */
export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
