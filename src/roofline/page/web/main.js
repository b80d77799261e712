// @ts-check
// The page: data and words from the document, state from the address, everything else in app.js.

import { mount } from "./app.js";
import { byId, h, setText } from "./dom.js";
import { take } from "./drop.js";
import { makeLive } from "./live/panel.js";
import { readPoint } from "./points.js";
import { readHash, writeHash } from "./state.js";
import { chooseLanguage, makeWords } from "./words.js";

/** @type {(selector: string) => NodeListOf<HTMLElement>} */
const all = (selector) => document.querySelectorAll(selector);

const LARGEST_FILE = 256 * 2 ** 20;

function start() {
  /** @type {{ data: PageData, words: Record<string, Record<string, string>> }} */
  const { data, words } = JSON.parse(byId("data").textContent);
  const points = data.points.flatMap((value) => readPoint(value) ?? []);
  /** @type {App} */
  let app; // from the first show on
  let language = "";
  let timer = 0;

  const live = makeLive({
    ...data.browser,
    formats: data.formats,
    rules: data.rules,
    version: data.version,
    worker: byId("worker").textContent,
    take: (text) => take(text, app, data, makeWords(words[language], language)),
    addModel: (model) => {
      data.models = [...data.models.filter((m) => m.id !== model.id), model];
    },
    show: (changes) => app.set(changes, false),
  });

  /** @type {(state: State) => string} */
  const languageOf = (state) => chooseLanguage(words, state.lang, navigator.languages ?? []);

  /** @type {(state: State) => void} */
  function show(state) {
    const wanted = languageOf(state);
    if (app && wanted === language) {
      app.set(state, false);
      return;
    }
    language = wanted;
    const t = makeWords(words[language], language);
    document.documentElement.lang = language;
    document.title = t("page.title");
    for (const element of all("[data-t]")) setText(element, t(element.dataset.t ?? ""));
    for (const button of all("[data-lang]")) {
      button.setAttribute("aria-pressed", String(button.dataset.lang === language));
    }
    app = mount(byId("app"), data, t, {
      state,
      points: app?.points ?? points,
      onChange,
    });
    document.documentElement.classList.add("ready");
    offer(t);
    live.draw(byId("live"), t);
  }

  // The address follows a moment after the last change: one entry for each thing done.
  /** @type {(state: State, commit: boolean) => void} */
  function onChange(state, commit) {
    clearTimeout(timer);
    if (languageOf(state) !== language) {
      record(state);
      show(state);
    } else if (commit) timer = setTimeout(() => record(state), 350);
  }

  /** @type {(state: State) => void} */
  function record(state) {
    clearTimeout(timer);
    timer = 0;
    const hash = writeHash(state, data);
    if (hash === location.hash) return;
    try {
      history.pushState(null, "", hash);
    } catch {
      // A frame without an address of its own keeps its state to itself.
    }
  }

  const fromAddress = () => show(readHash(location.hash, data));

  addEventListener("popstate", fromAddress);
  addEventListener("hashchange", fromAddress);
  addEventListener("pagehide", () => timer && record(app.state));
  for (const button of all("[data-lang]")) {
    button.addEventListener("click", () => app.set({ lang: button.dataset.lang }));
  }

  /** @type {(file: File, t: Words) => Promise<void>} */
  const open = async (file, t) => {
    if (file.size > LARGEST_FILE) app.say(t("drop.large"));
    else await take(await file.text(), app, data, t);
  };

  // Files: dropped anywhere, or picked; and in the live page a config pasted.
  /** @type {(t: Words) => void} */
  function offer(t) {
    const box = byId("files");
    const input = h("input", { type: "file", id: "file", class: "file" });
    input.addEventListener("change", async () => {
      for (const file of input.files ?? []) await open(file, t);
      input.value = "";
    });
    /** @type {HTMLElement[]} */
    const parts = [
      h("p", {}, t(data.live ? "drop.pick.live" : "drop.pick")),
      input,
      h("label", { for: "file", class: "pick" }, t("drop.choose")),
    ];
    if (data.live) {
      const area = h("textarea", { id: "config", rows: 4, spellcheck: "false" });
      const go = () => area.value.trim() && take(area.value, app, data, t);
      parts.push(
        h("label", { for: "config" }, t("drop.paste")),
        area,
        h("p", {}, h("button", { type: "button", onclick: go }, t("drop.go"))),
      );
    }
    box.replaceChildren(...parts);
    document.ondragover = (event) => event.preventDefault();
    document.ondrop = async (event) => {
      event.preventDefault();
      for (const file of event.dataTransfer?.files ?? []) await open(file, t);
    };
  }

  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", () => app.redraw());
  }
  matchMedia("print").addEventListener("change", (event) => event.matches && app.unfold());
  document.fonts?.ready.then(() => app.redraw());
  fromAddress();
}

start();
