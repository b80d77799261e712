// @ts-check
// What the reader sets: selects, sliders over powers of two, numbers typed.

import { h, setAttribute, setField, setHidden, setText } from "./dom.js";
import { shortName } from "./plot.js";
import { MOST, MOST_MACHINES, PHASES, wholeNumber } from "./state.js";
import { count } from "./units.js";

const LENGTHS = /** @type {const} */ (["context", "prompt"]);
let serial = 0;
const nextId = () => {
  serial += 1;
  return `control${serial}`;
};

/** @type {(value: string, text: string) => Option} */
const option = (value, text) => [value, text];
/** @type {(value: string) => Option} */
const twice = (value) => [value, value];

/** @type {(text: string, control: HTMLElement, more?: Record<string, unknown>) => HTMLElement} */
function labelled(text, control, more = {}) {
  control.id ||= nextId();
  return h("div", { class: "field", ...more }, h("label", { for: control.id }, text), control);
}

/** @type {(options: Option[], onpick: (value: string) => void) => HTMLSelectElement} */
function choice(options, onpick) {
  const select = h("select", { onchange: () => onpick(select.value) });
  fill(select, options);
  return select;
}

/** @type {(select: HTMLSelectElement, options: Option[]) => void} */
function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
}

// A slider over powers of two with a box for any number beside it.
/** @type {(name: "batch" | "context" | "prompt", largest: number, t: Words, set: SetState) =>
 *   Slider} */
function powerSlider(name, largest, t, set) {
  const range = h("input", { type: "range", min: 0, max: largest, step: 1 });
  const box = h("input", { type: "text", inputmode: "numeric", autocomplete: "off", size: 8 });
  range.id = nextId();
  const hint = h("span", { class: "hint", id: `${range.id}-hint` }, t(`ui.${name}.hint`));
  range.setAttribute("aria-describedby", hint.id);
  box.setAttribute("aria-label", t("ui.type", { what: t(`ui.${name}`) }));
  range.addEventListener("input", () => set({ [name]: 2 ** Number(range.value) }, false));
  range.addEventListener("change", () => set({ [name]: 2 ** Number(range.value) }, true));
  const typed = () => {
    const value = wholeNumber(box.value, MOST[name]);
    box.setAttribute("aria-invalid", String(value === null));
    if (value !== null) set({ [name]: value }, true);
  };
  box.addEventListener("change", typed);
  box.addEventListener("keydown", (event) => event.key === "Enter" && typed());
  const label = h("label", { for: range.id }, t(`ui.${name}`));
  const element = h("div", { class: "slider", "data-name": name }, label, hint, range, box);
  let filled = "";
  /** @type {(value: number, text: string) => void} */
  const update = (value, text) => {
    const power = String(Math.min(Math.round(Math.log2(value)), Number(range.max)));
    if (range.value !== power) range.value = power;
    const at = `${(100 * Number(power)) / Number(range.max)}%`;
    if (filled !== at) range.style.setProperty("--at", at);
    filled = at;
    const { activeElement } = /** @type {Document | ShadowRoot} */ (box.getRootNode());
    if (box !== activeElement || wholeNumber(box.value, MOST[name]) !== value) {
      setField(box, "value", count(value));
    }
    setAttribute(box, "aria-invalid", "false");
    setAttribute(range, "aria-valuetext", text);
  };
  /** @type {(to: number) => void} */
  const stretch = (to) => {
    if (range.max !== String(to)) range.max = String(to);
  };
  return { element, update, stretch };
}

// → {top, sliders, update(state, view)}; set(patch, commit) is called on every change.
/** @type {(data: PageData, t: Words, set: SetState, engines?: Engine[]) => Controls} */
export function makeControls(data, t, set, engines = []) {
  const model = choice([], (id) => set({ model: id }, true));
  const machine = choice([], (id) =>
    set((s) => ({ machines: [id, ...s.machines.slice(1).filter((x) => x !== id)] }), true),
  );
  const compare = choice([], (id) => {
    compare.value = "";
    set((s) => ({ machines: [...s.machines, id].slice(0, MOST_MACHINES) }), true);
  });
  const devices = choice([], (n) => set({ devices: Number(n) }, true));
  const refused = h("p", { class: "refused", role: "status" });
  const chips = h("ul", { class: "chips" });
  const phases = h("div", { class: "segments", role: "radiogroup", "aria-label": t("ui.phase") });
  const name = `phase-${nextId()}`;
  /** @type {HTMLInputElement[]} */
  const radios = [];
  for (const phase of PHASES) {
    const radio = h("input", {
      type: "radio",
      name,
      value: phase,
      onchange: () => set({ phase }, true),
    });
    radios.push(radio);
    phases.append(h("label", {}, radio, h("span", {}, t(`phase.${phase}.name`))));
  }
  /** @type {(kind: Kind) => HTMLSelectElement} */
  const format = (kind) =>
    choice([["", t(`ui.${kind}.own`)], ...data.choices[kind].map(twice)], (value) =>
      set({ [kind]: value }, true),
    );
  const [weights, kv, compute] = [format("weights"), format("kv"), format("compute")];
  const ceilings = choice(
    [
      ["", t("ui.ceilings.own")],
      ["datasheet", t("ceilings.datasheet")],
      ["measured", t("ceilings.measured")],
    ],
    (value) => set({ ceilings: value }, true),
  );
  const engine = choice(
    [["", t("ui.engine.none")], ...engines.map((one) => option(one.id, one.title))],
    (id) => set({ engine: id }, true),
  );
  const dots = h("input", {
    type: "checkbox",
    onchange: () => set({ operators: dots.checked }, true),
  });
  const drafted = h("input", { type: "number", min: 1, max: MOST.drafted });
  drafted.addEventListener("change", () => {
    const value = wholeNumber(drafted.value, MOST.drafted);
    if (value !== null) set({ drafted: value }, true);
  });
  const draftedField = labelled(t("ui.drafted"), drafted, { class: "field narrow" });

  const more = h(
    "details",
    { class: "more" },
    h("summary", {}, t(engines.length ? "ui.formats.engine" : "ui.formats")),
    h(
      "div",
      { class: "fields" },
      labelled(t("ui.weights"), weights),
      labelled(t("ui.kv"), kv),
      labelled(t("ui.compute"), compute),
      labelled(t("ui.ceilings"), ceilings),
      labelled(t("ui.compare"), compare),
      engines.length ? labelled(t("ui.engine"), engine) : null,
    ),
  );
  const top = h(
    "section",
    { class: "controls", "aria-label": t("ui.controls") },
    h(
      "div",
      { class: "fields" },
      labelled(t("ui.model"), model),
      labelled(t("ui.machine"), machine),
      labelled(t("ui.devices"), devices, { class: "field narrow" }),
      h(
        "div",
        { class: "field" },
        h("span", { class: "caption", "aria-hidden": "true" }, t("ui.phase")),
        phases,
      ),
      draftedField,
    ),
    refused,
    chips,
    more,
  );
  const sliders = {
    batch: powerSlider("batch", 12, t, set),
    context: powerSlider("context", 17, t, set),
    prompt: powerSlider("prompt", 17, t, set),
  };
  const toggle = h("label", { class: "toggle" }, dots, h("span", {}, t("ui.operators")));
  const bottom = h(
    "section",
    { class: "sliders", "aria-label": t("ui.sliders") },
    ...Object.values(sliders).map((s) => s.element),
  );

  // The lists change only when a file adds to them, or another machine is compared.
  /** @type {[models?: Model[], machines?: Machine[], shown?: string[]]} */
  let lists = [];
  /** @type {(state: State) => void} */
  function updateLists(state) {
    const [models, machines, shown] = lists;
    if (models === data.models && machines === data.machines && shown === state.machines) return;
    lists = [data.models, data.machines, state.machines];
    fill(
      model,
      data.models.map((m) => option(m.id, m.name)),
    );
    fill(
      machine,
      data.machines.map((m) => option(m.id, m.name)),
    );
    const free = data.machines.filter((m) => !state.machines.includes(m.id));
    fill(compare, [["", t("ui.compare.none")], ...free.map((m) => option(m.id, m.name))]);
  }

  // Those that the model and the links allow; one that was asked for and refused stays, and why.
  /** @type {(state: State, view: View) => void} */
  function updateDevices(state, view) {
    const possible = [...new Set([...view.counts, state.devices])].sort((x, y) => x - y);
    const key = possible.join();
    if (devices.dataset.key !== key) {
      devices.dataset.key = key;
      fill(
        devices,
        possible.map((n) => twice(String(n))),
      );
    }
    setField(devices, "value", String(state.devices));
    setAttribute(devices, "aria-invalid", String(!view.counts.includes(state.devices)));
    setText(refused, view.refusals.join(" "));
    setHidden(refused, view.refusals.length === 0);
  }

  /** @type {(state: State) => void} */
  function updateChips(state) {
    /** @type {(id: string) => string} */
    const nameOf = (id) => data.machines.find((m) => m.id === id)?.name ?? id;
    const key = state.machines.join();
    if (chips.dataset.key === key) return;
    chips.dataset.key = key;
    chips.hidden = state.machines.length < 2;
    chips.replaceChildren(
      ...state.machines.map((id, i) => {
        const text = shortName(nameOf(id));
        const remove = h(
          "button",
          {
            type: "button",
            "aria-label": t("ui.remove", { machine: text }),
            onclick: () => set((s) => ({ machines: s.machines.filter((x) => x !== id) }), true),
          },
          "×",
        );
        return h("li", { class: `chip s${i}` }, h("span", {}, text), i > 0 ? remove : null);
      }),
    );
  }

  return {
    top,
    toggle,
    sliders: bottom,
    update(state, view) {
      updateLists(state);
      setField(compare, "disabled", state.machines.length >= MOST_MACHINES);
      setField(model, "value", state.model);
      setField(machine, "value", state.machines[0]);
      setField(weights, "value", state.weights);
      setField(kv, "value", state.kv);
      setField(compute, "value", state.compute);
      setField(ceilings, "value", state.ceilings);
      setField(engine, "value", state.engine);
      setField(dots, "checked", state.operators);
      for (const radio of radios) setField(radio, "checked", radio.value === state.phase);
      setHidden(draftedField, state.phase !== "verify");
      if (Number(drafted.value) !== state.drafted) drafted.value = String(state.drafted);
      updateChips(state);
      updateDevices(state, view);
      const longest = view.model.longest ?? 131072;
      /** @type {(least: number, value: number) => number} */
      const powers = (least, value) => Math.max(least, Math.ceil(Math.log2(value)));
      sliders.batch.stretch(powers(12, state.batch));
      for (const one of LENGTHS) {
        sliders[one].stretch(Math.min(24, powers(17, Math.max(longest, state[one]))));
      }
      const said = view.said;
      sliders.batch.update(
        state.batch,
        t("ui.valuetext", { value: t("plot.batch", { batch: count(state.batch) }), said }),
      );
      for (const one of LENGTHS) {
        const value = t("ui.tokens", { count: count(state[one]) });
        sliders[one].update(state[one], t("ui.valuetext", { value, said }));
      }
    },
  };
}
