// Elements from plain values: text is always text, never markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Sets a text only where it differs, so that nothing is laid out for nothing; a text node that is
// there is kept, which spares its element's style and box.
export function setText(element, text) {
  const only = element.firstChild;
  if (only && only === element.lastChild && only.nodeType === Node.TEXT_NODE) {
    if (only.data !== text) only.data = text;
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}

// A number and its unit stay on one line.
export const tied = (text) =>
  text.replace(/(\d) (?=(?:%|[kMGTPEmµn]?(?:B|s|FLOP|B\/s|FLOP\/s)(?![A-Za-z/])))/g, "$1\u00a0");

export function setHidden(element, hidden) {
  if (element.hidden !== hidden) element.hidden = hidden;
}

// Sets what a field shows, only where it differs.
export function setField(field, name, value) {
  if (field[name] !== value) field[name] = value;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// Saves a text or blob as a file of the reader's.
export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
