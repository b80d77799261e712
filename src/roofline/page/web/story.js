// @ts-check
// The guided walk: each step sets the controls to what it tells of. Words are in en.json, zh.json.

import { h, setAttribute, setHidden, setText } from "./dom.js";
import { stepsFor } from "./steps.js";

// → {element, update(state, valuesOf)}; state.story is 0 where the story is closed, else the step.
/** @type {(data: PageData, t: Words, set: SetState) => Story} */
export function makeStory(data, t, set) {
  const steps = stepsFor(data);
  /** @type {(n: number) => void} */
  const go = (n) => set({ ...steps[n - 1].set, story: n }, true);
  const where = h("p", { class: "where" });
  const title = h("h2", { tabindex: "-1" });
  const text = h("div", { class: "telling" });
  const tries = h("p", { class: "tries" });
  const back = h("button", { type: "button", onclick: () => turn(-1) }, t("story.back"));
  const next = h(
    "button",
    { type: "button", class: "primary", onclick: () => turn(1) },
    t("story.next"),
  );
  const leave = h(
    "button",
    { type: "button", class: "leave", onclick: () => set({ story: 0 }, true) },
    t("story.leave"),
  );
  const dots = h("ol", { class: "dots", "aria-hidden": "true" }, ...steps.map(() => h("li")));
  const element = h(
    "section",
    { class: "story", "aria-label": t("story.title"), hidden: true },
    h("div", { class: "bar" }, where, leave),
    title,
    text,
    tries,
    h("div", { class: "bar" }, back, dots, next),
  );
  let now = 0;
  /** @type {HTMLElement[]} */
  let lines = [];

  /** @type {(by: number) => void} */
  function turn(by) {
    const n = now + by;
    if (n > steps.length) set({ story: 0 }, true);
    else if (n >= 1) go(n);
    title.focus({ preventScroll: true });
  }

  /** @type {(step: StoryStep) => void} */
  function tell(step) {
    const paragraphs = t(`story.${step.key}.text`).split("\n");
    lines = paragraphs.map((p) => h("p", { "data-text": p }));
    text.replaceChildren(...lines);
    tries.replaceChildren(
      ...step.tries.map((one) =>
        h(
          "button",
          { type: "button", onclick: () => set(one.set, true) },
          t(`try.${one.key}`, one.values),
        ),
      ),
    );
    tries.hidden = step.tries.length === 0;
  }

  return {
    element,
    steps: steps.length,
    start: () => go(1),
    update(state, valuesOf) {
      const n = Math.min(state.story, steps.length);
      setHidden(element, n === 0);
      if (n && n !== now) tell(steps[n - 1]);
      now = n;
      if (!n) return;
      const step = steps[n - 1];
      const values = valuesOf();
      setText(where, t("story.where", { n, of: steps.length }));
      /** @type {(all: string, name: string) => string} */
      const fill = (all, name) => (name in values ? String(values[name]) : all);
      setText(title, t(`story.${step.key}.title`, values));
      for (const p of lines) setText(p, (p.dataset.text ?? "").replace(/\{(\w+)\}/g, fill));
      [...tries.children].forEach((button, i) => {
        const on = Object.entries(step.tries[i].set).every(
          ([k, v]) => state[/** @type {keyof State} */ (k)] === v,
        );
        setAttribute(button, "aria-pressed", String(on));
      });
      back.disabled = n === 1;
      setText(next, t(n === steps.length ? "story.end" : "story.next"));
      [...dots.children].forEach((dot, i) => dot.classList.toggle("on", i < n));
    },
  };
}
