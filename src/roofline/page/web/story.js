// The guided walk: each step sets the controls to what it tells of. Words are in en.json, zh.json.

import { h, setAttribute, setHidden, setText } from "./dom.js";

const LLAMA = { model: "llama-3.1-8b", machines: ["h100-sxm"], weights: "", kv: "", compute: "", ceilings: "", operators: false, devices: 1, prompt: 2048, drafted: 4 };

export const STEPS = [
  { key: "ceilings", set: { ...LLAMA, phase: "decode", batch: 1, context: 2048 } },
  { key: "ridge", set: { ...LLAMA, phase: "decode", batch: 1, context: 2048 } },
  { key: "prefill", set: { ...LLAMA, phase: "prefill", batch: 1, context: 2048 } },
  { key: "decode", set: { ...LLAMA, phase: "decode", batch: 1, context: 1 } },
  {
    key: "batch",
    set: { ...LLAMA, phase: "decode", batch: 256, context: 1 },
    tries: [8, 64, 256].map((batch) => ({ key: "batch", values: { batch }, set: { batch } })),
  },
  {
    key: "cache",
    set: { ...LLAMA, phase: "decode", batch: 256, context: 2048 },
    tries: [1, 2048, 8192, 32768].map((context) => ({ key: "context", values: { context }, set: { context } })),
  },
  {
    key: "heads",
    set: { ...LLAMA, phase: "decode", batch: 64, context: 8192 },
    tries: [
      { key: "multihead", set: { model: "llama-2-7b" } },
      { key: "grouped", set: { model: "llama-3.1-8b" } },
      { key: "windows", set: { model: "gpt-oss-20b" } },
      { key: "latent", set: { model: "deepseek-v3" } },
    ],
  },
  {
    key: "experts",
    set: { ...LLAMA, model: "qwen3-30b-a3b", phase: "decode", batch: 16, context: 2048, operators: true },
    tries: [1, 16, 256].map((batch) => ({ key: "batch", values: { batch }, set: { batch } })),
  },
  {
    key: "formats",
    set: { ...LLAMA, phase: "decode", batch: 16, context: 8192, weights: "int4:128" },
    tries: [
      { key: "own", set: { weights: "", kv: "" } },
      { key: "int4", set: { weights: "int4:128", kv: "" } },
      { key: "fp8kv", set: { weights: "int4:128", kv: "fp8" } },
    ],
  },
  {
    key: "servers",
    set: { ...LLAMA, phase: "mixed", batch: 192, context: 2048, prompt: 512 },
    tries: [
      { key: "mixed", set: { phase: "mixed" } },
      { key: "decodeonly", set: { phase: "decode" } },
    ],
  },
];

const possible = (data, set) =>
  (!set.model || data.models.some((m) => m.id === set.model)) &&
  (set.machines ?? []).every((id) => data.machines.some((m) => m.id === id));

// The steps that the page's models and machines allow.
export function stepsFor(data) {
  return STEPS.filter((step) => possible(data, step.set)).map((step) => ({
    ...step,
    tries: (step.tries ?? []).filter((one) => possible(data, one.set)),
  }));
}

// → {element, update(state, valuesOf)}; state.story is 0 where the story is closed, else the step.
export function makeStory(data, t, set) {
  const steps = stepsFor(data);
  const go = (n) => set({ ...steps[n - 1].set, story: n }, true);
  const where = h("p", { class: "where" });
  const title = h("h2", { tabindex: "-1" });
  const text = h("div", { class: "telling" });
  const tries = h("p", { class: "tries" });
  const back = h("button", { type: "button", onclick: () => turn(-1) }, t("story.back"));
  const next = h("button", { type: "button", class: "primary", onclick: () => turn(1) }, t("story.next"));
  const leave = h("button", { type: "button", class: "leave", onclick: () => set({ story: 0 }, true) }, t("story.leave"));
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

  function turn(by) {
    const n = now + by;
    if (n > steps.length) set({ story: 0 }, true);
    else if (n >= 1) go(n);
    title.focus({ preventScroll: true });
  }

  function tell(step) {
    const paragraphs = t(`story.${step.key}.text`).split("\n");
    text.replaceChildren(...paragraphs.map((p) => h("p", { "data-text": p })));
    tries.replaceChildren(
      ...step.tries.map((one) =>
        h("button", { type: "button", onclick: () => set(one.set, true) }, t(`try.${one.key}`, one.values)),
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
      const fill = (all, name) => (name in values ? String(values[name]) : all);
      setText(title, t(`story.${step.key}.title`, values));
      for (const p of text.children) setText(p, p.dataset.text.replace(/\{(\w+)\}/g, fill));
      [...tries.children].forEach((button, i) => {
        const on = Object.entries(step.tries[i].set).every(([k, v]) => state[k] === v);
        setAttribute(button, "aria-pressed", String(on));
      });
      back.disabled = n === 1;
      setText(next, t(n === steps.length ? "story.end" : "story.next"));
      [...dots.children].forEach((dot, i) => dot.classList.toggle("on", i < n));
    },
  };
}
