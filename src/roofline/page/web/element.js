// @ts-check
// <roofline-chart model="llama-3.1-8b" machine="h100-sxm" batch="64" context="2048" lang="zh">:
// the same picture, controls and words in a page of somebody else's. ROOFLINE is set above this
// module when it is put together: data, words and style.

import { mount } from "./app.js";
import { h } from "./dom.js";
import { readHash } from "./state.js";
import { chooseLanguage, makeWords } from "./words.js";

const NAMES = {
  model: "m",
  machine: "on",
  devices: "tp",
  batch: "b",
  context: "c",
  prompt: "s",
  phase: "p",
  weights: "w",
  kv: "kv",
  compute: "x",
  operators: "ops",
};

function define() {
  const { data, words, style } = ROOFLINE;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style.replace(":root {", ":root, :host {"));

  class RooflineChart extends HTMLElement {
    static observedAttributes = [...Object.keys(NAMES), "lang"];
    /** @type {App | null} */
    #app = null;
    /** @type {HTMLElement | null} */
    #box = null;

    connectedCallback() {
      if (!this.#box) {
        const root = this.attachShadow({ mode: "open" });
        root.adoptedStyleSheets = [sheet];
        this.#box = root.appendChild(h("div", { class: "embedded" }));
      }
      this.#show();
    }

    /** @type {(name: string, before: string | null, after: string | null) => void} */
    attributeChangedCallback(_name, before, after) {
      if (this.#box && before !== after) this.#show();
    }

    // Attributes are read as the address of a page is: what is wrong is as by default.
    #show() {
      if (!this.#box) return;
      const given = new URLSearchParams();
      for (const [name, short] of Object.entries(NAMES)) {
        const value = this.getAttribute(name);
        if (value !== null) given.set(short, value);
      }
      const language = chooseLanguage(words, this.getAttribute("lang"), navigator.languages ?? []);
      const box = h("div");
      this.#box.replaceChildren(box);
      this.#box.lang = language;
      const state = readHash(given.toString(), data);
      this.#app = mount(box, data, makeWords(words[language], language), { state, compact: true });
    }

    // What is shown, and a way to change it from a script.
    /** @type {Patch | undefined} */
    get state() {
      return this.#app?.state;
    }

    set state(patch) {
      if (patch) this.#app?.set(patch);
    }
  }

  customElements.define("roofline-chart", RooflineChart);
}

if (!customElements.get("roofline-chart")) define();
