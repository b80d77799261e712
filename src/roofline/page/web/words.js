// @ts-check
// Words of one language: t(key, values) is its text with the values filled in.

/** @type {(texts: Record<string, string>, language: string) => Words} */
export function makeWords(texts, language) {
  /** @type {Map<string, string[]>} */
  const cut = new Map(); // texts as pieces, every second one the name of a value
  /** @type {Words} */
  const t = (key, values = {}) => {
    let pieces = cut.get(key);
    if (!pieces) {
      if (texts[key] === undefined) throw new Error(`no text ${key} in ${language}`);
      pieces = texts[key].split(/\{(\w+)\}/);
      cut.set(key, pieces);
    }
    let text = pieces[0];
    for (let i = 1; i < pieces.length; i += 2) {
      const name = pieces[i];
      text += (name in values ? values[name] : `{${name}}`) + pieces[i + 1];
    }
    return text;
  };
  t.language = language;
  t.has = (key) => key in texts;
  t.list = t("joint.list");
  t.clauses = t("joint.clauses");
  t.sides = t("joint.sides");
  t.note = (text) => texts[`: ${text}`] ?? text;
  return t;
}

// The language asked for, else the first of the browser's that there are words for.
/** @type {(all: Record<string, unknown>, wanted: string | null, browser: readonly string[]) =>
 *   string} */
export function chooseLanguage(all, wanted, browser) {
  for (const name of [wanted, ...browser]) {
    const short = String(name ?? "")
      .toLowerCase()
      .split("-")[0];
    if (Object.hasOwn(all, short)) return short;
  }
  return Object.hasOwn(all, "en") ? "en" : Object.keys(all)[0];
}
