// @ts-check
// Finding by name what a file calls a model, a machine or a number format: the same rules as
// roofline/catalogue.py, model/formats.py and placing/names.py, whose endings come as data.

const INTEGER = /^(?:int|uint)([2-8])(?:(?:[:\-_]g?|g)(\d{1,6}))?(z|-z|-asym)?$/;
const AVERAGE = /^(\d{1,2}(?:\.\d{1,6})?)[-_ ]?(?:bits?|bpw)$/;

// A name as it is compared: lower case, words joined by single hyphens, + spelled out.
/** @type {(name: string) => string} */
const key = (name) =>
  name
    .toLowerCase()
    .replaceAll("+", " plus ")
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^-+|-+$/g, "");

// The entries of a list by their names, and by these without hyphens; kept while the list is.
/** @type {WeakMap<object, { names: Map<string, any>, squeezed: Map<string, any> }>} */
const kept = new WeakMap();

/** @type {(entries: { id: string, name: string, aliases?: string[] }[]) =>
 *   { names: Map<string, any>, squeezed: Map<string, any> }} */
function byName(entries) {
  const known = kept.get(entries);
  if (known) return known;
  const names = new Map();
  for (const entry of entries) {
    for (const label of [entry.id, entry.name, ...(entry.aliases ?? [])].map(key)) {
      if (!names.has(label)) names.set(label, entry);
    }
  }
  const squeezed = new Map([...names].map(([label, entry]) => [label.replaceAll("-", ""), entry]));
  kept.set(entries, { names, squeezed });
  return { names, squeezed };
}

// The entry of a list of models or machines with that id, alias or name; or null.
/** @type {<T extends { id: string, name: string, aliases?: string[] }>(entries: T[],
 *   name: string) => T | null} */
export function find(entries, name) {
  const { names, squeezed } = byName(entries);
  const wanted = [key(name), key(name.slice(name.lastIndexOf("/") + 1))];
  for (const one of wanted) if (names.has(one)) return names.get(one);
  for (const one of wanted) {
    const entry = squeezed.get(one.replaceAll("-", ""));
    if (entry) return entry;
  }
  return null;
}

// The same of a model, which a file may call by its own file: Qwen3-8B-Q4_K_M.gguf. What stands
// behind its name is taken off, an ending at a time: what says quantisation, then training.
/** @type {(data: Pick<PageData, "models" | "endings">, said: string) => Model | null} */
export function findModel({ models, endings }, said) {
  const same = models.find((model) => model.id === said);
  if (same) return same;
  const whole = said.toLowerCase().endsWith(".gguf") ? null : find(models, said);
  if (whole) return whole;
  const [shard, file, quantised, tuned] = endings.map((pattern) => new RegExp(pattern, "i"));
  let name = said.replaceAll("\\", "/").replace(/\/+$/, "");
  name = name.slice(name.lastIndexOf("/") + 1);
  if (name.endsWith(".gguf")) name = name.slice(0, -".gguf".length);
  name = name.replace(shard, "");
  for (const endings of [[file, quantised], [tuned]]) {
    for (;;) {
      const found = find(models, name);
      if (found) return found;
      const next = endings.reduce((text, ending) => text.replace(ending, ""), name);
      if (next === name) break;
      name = next;
    }
  }
  return null;
}

// The name of the number format meant, which is then one of `formats`; or null.
// data: {formats, spelled}; formats that are described, not listed, are added.
/** @type {(data: Pick<PageData, "formats" | "spelled">, text: string) => string | null} */
export function findFormat(data, text) {
  const { formats, spelled } = data;
  const said = text.trim().toLowerCase();
  const name = Object.hasOwn(spelled, said) ? spelled[said] : said;
  if (Object.hasOwn(formats, name)) return name;
  /** @type {(found: Format) => string} */
  const add = (found) => {
    formats[found.name] ??= found;
    return found.name;
  };
  let match = INTEGER.exec(name);
  if (match) {
    const [bits, group] = [Number(match[1]), Number(match[2] ?? 128)];
    if (group < 8) return null;
    const zero = match[3] ? bits / (8 * group) : 0;
    const size = bits / 8 + 2 / group + zero;
    return add({ name: `int${bits}:${group}${zero ? "z" : ""}`, size, compute: "bf16" });
  }
  match = AVERAGE.exec(name);
  if (!match) return null;
  const bits = Number(match[1]);
  if (bits < 0.5 || bits > 64) return null;
  return add({ name: `${match[1]}bits`, size: bits / 8, compute: "bf16" });
}

// The precision of arithmetic meant, or null.
/** @type {(data: Pick<PageData, "spelled" | "rules">, text: string) => string | null} */
export function findPrecision({ spelled, rules }, text) {
  const { precisions, multiplied } = rules;
  let name = text.trim().toLowerCase();
  if (precisions.includes(name)) return name;
  if (Object.hasOwn(spelled, name)) name = spelled[name];
  if (Object.hasOwn(multiplied, name)) name = multiplied[name];
  return precisions.includes(name) ? name : null;
}
