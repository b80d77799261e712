// Words of one language: t(key, values) is its text with the values filled in.

export function makeWords(texts, language) {
  const t = (key, values = {}) => {
    const text = texts[key];
    if (text === undefined) throw new Error(`no text ${key} in ${language}`);
    return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
  };
  t.language = language;
  t.has = (key) => key in texts;
  t.list = language === "zh" ? "、" : ", ";
  t.comma = language === "zh" ? "，" : ", ";
  t.semicolon = language === "zh" ? "；" : "; ";
  return t;
}

// The language asked for, else the first of the browser's that there are words for.
export function chooseLanguage(all, wanted, browser) {
  for (const name of [wanted, ...browser]) {
    const short = String(name ?? "").toLowerCase().split("-")[0];
    if (Object.hasOwn(all, short)) return short;
  }
  return Object.hasOwn(all, "en") ? "en" : Object.keys(all)[0];
}
