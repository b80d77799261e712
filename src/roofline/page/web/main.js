// The page: data and words from the document, state from the address, everything else in app.js.

import { mount } from "./app.js";
import { h, setText } from "./dom.js";
import { take } from "./drop.js";
import { makeLive } from "./live/panel.js";
import { readPoint } from "./points.js";
import { readHash, writeHash } from "./state.js";
import { chooseLanguage, makeWords } from "./words.js";

const LARGEST_FILE = 256 * 2 ** 20;

function start() {
  const { data, words } = JSON.parse(document.getElementById("data").textContent);
  const points = data.points.map(readPoint).filter(Boolean);
  let app = null;
  let language = "";
  let timer = 0;

  const live = makeLive({
    ...data.browser,
    formats: data.formats,
    version: data.version,
    worker: document.getElementById("worker").textContent,
    take: (text) => take(text, app, data, makeWords(words[language], language)),
    addModel: (model) => {
      data.models = [...data.models.filter((m) => m.id !== model.id), model];
    },
    show: (changes) => app.set(changes, false),
  });

  const languageOf = (state) => chooseLanguage(words, state.lang, navigator.languages ?? []);

  function show(state) {
    const wanted = languageOf(state);
    if (app && wanted === language) return app.set(state, false);
    language = wanted;
    const t = makeWords(words[language], language);
    document.documentElement.lang = language;
    document.title = t("page.title");
    for (const element of document.querySelectorAll("[data-t]"))
      setText(element, t(element.dataset.t));
    for (const button of document.querySelectorAll("[data-lang]")) {
      button.setAttribute("aria-pressed", String(button.dataset.lang === language));
    }
    app = mount(document.getElementById("app"), data, t, {
      state,
      points: app?.points ?? points,
      onChange,
    });
    document.documentElement.classList.add("ready");
    offer(t);
    live.draw(document.getElementById("live"), t);
    return app;
  }

  // The address follows a moment after the last change: one entry for each thing done.
  function onChange(state, commit) {
    clearTimeout(timer);
    if (languageOf(state) !== language) {
      record(state);
      return show(state);
    }
    if (commit) timer = setTimeout(() => record(state), 350);
    return null;
  }

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
  for (const button of document.querySelectorAll("[data-lang]")) {
    button.addEventListener("click", () => app.set({ lang: button.dataset.lang }));
  }

  const open = async (file, t) => {
    if (file.size > LARGEST_FILE) app.say(t("drop.large"));
    else await take(await file.text(), app, data, t);
  };

  // Files: dropped anywhere, or picked; and in the live page a config pasted.
  function offer(t) {
    const box = document.getElementById("files");
    const input = h("input", { type: "file", id: "file", class: "file" });
    input.addEventListener("change", async () => {
      for (const file of input.files) await open(file, t);
      input.value = "";
    });
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
      for (const file of event.dataTransfer.files) await open(file, t);
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
