// @ts-check
// The words beside the picture: verdict, numbers that unfold to their formulas, levers.

import { joins } from "./devices.js";
import { h, setAttribute, setHidden, setText, tied } from "./dom.js";
import {
  sayClimb,
  sayDevices,
  sayHeld,
  sayLacks,
  sayLever,
  sayPredicted,
  sayRoom,
  sayRouting,
  saySource,
  saySpeed,
  sayTimes,
  sayVerdict,
  sayWhy,
} from "./say.js";
import { digits, numberOf, percent } from "./units.js";

const NUMBERS = ["intensity", "ridge", "speed", "predicted", "devices", "climb", "fit"];
const PARTS = ["weights", "kv", "state", "compute", "communication"];

// What choosing a lever sets.
/** @type {(lever: Lever, machine: Machine, most: number) => Patch | null} */
function setting({ code, values }, machine, most) {
  if (code === "weights" || code === "compute") return { weights: values.to };
  if (code === "kv") return { kv: values.to };
  if (code === "batch") return { batch: values.batch };
  if (code === "speculate") return { phase: "verify", drafted: values.drafted };
  if (code === "devices" && (values.devices ?? 0) <= most && joins(machine))
    return { devices: values.devices };
  return null;
}

/** @type {(data: PageData, t: Words, set: SetState) => Panel} */
export function makePanel(data, t, set) {
  const name = h("span");
  const pair = h("span", { class: "pair", lang: "en" });
  const label = h("p", { class: "verdict" }, name, pair);
  const numbers = h("p", { class: "because" });
  const over = h("p", { class: "over", role: "note" });
  const rows = Object.fromEntries(
    NUMBERS.map((name) => {
      const value = h("span", { class: "value" });
      const why = h("div", { class: "why" });
      const summary = h("summary", {}, h("span", { class: "name" }, t(`panel.${name}`)), value);
      return [name, { value, why, element: h("details", { class: "number" }, summary, why) }];
    }),
  );
  const bar = h("div", { class: "shares", role: "img" });
  const pieces = Object.fromEntries(
    PARTS.map((p) => [p, bar.appendChild(h("i", { class: `share ${p}` }))]),
  );
  /** @type {Record<string, string>} */
  const grown = {};
  const legend = h("p", { class: "legend" });
  const levers = h("ul", { class: "levers" });
  const notes = h("ul", { class: "notes" });
  const notesBox = h(
    "details",
    { class: "number" },
    h("summary", {}, h("span", { class: "name" }, t("panel.notes"))),
    notes,
  );
  const element = h(
    "section",
    { class: "panel", "aria-label": t("panel.title") },
    h("div", { class: "head", "aria-live": "polite" }, over, label, numbers),
    ...NUMBERS.map((name) => rows[name].element),
    h("h3", {}, t("panel.shares")),
    bar,
    legend,
    h("h3", {}, t("panel.levers")),
    levers,
    notesBox,
  );

  /** @type {(p: Predicted) => string} */
  function sayPredictedFor(p) {
    const [said] = sayPredicted(p, t);
    return p.value ? t("predicted.said", { said, engine: p.engine.title.split(",")[0] }) : said;
  }

  /** @type {(box: Element, list: string[]) => void} */
  function sentences(box, list) {
    while (box.children.length > list.length) box.lastElementChild?.remove();
    while (box.children.length < list.length) box.append(h(box.tagName === "UL" ? "li" : "p"));
    list.forEach((text, i) => setText(box.children[i], text));
  }

  /** @type {(c: Case) => Record<string, string[]>} */
  function sourcesOf(c) {
    const sources = data.sources;
    const peaks = [...new Set(Object.values(c.used))].map((precision) =>
      saySource(c.roof.compute[precision], "why.peak", "FLOP/s", sources, t, { precision }),
    );
    const bandwidth = saySource(c.roof.bandwidth, "why.bandwidth", "B/s", sources, t);
    const memory = c.machine.memory?.usable ?? c.machine.memory?.capacity;
    return {
      ridge: [...peaks, bandwidth],
      intensity: [
        t("why.model", {
          source: [c.model.source.title, c.model.source.date].filter(Boolean).join(", "),
        }),
        t("why.convention"),
      ],
      fit: memory ? [saySource(figureOf(memory), "why.memory", "B", sources, t)] : [],
    };
  }

  /** @type {(f: Figure | number) => Figure} */
  const figureOf = (f) => ({
    kind: "datasheet",
    ...(typeof f === "object" ? f : {}),
    value: numberOf(f),
  });

  /** @type {(list: Lever[], machine: Machine, full: boolean) => void} */
  function updateLevers(list, machine, full) {
    const key = JSON.stringify([list, machine.id, full]);
    if (levers.dataset.key === key) return;
    levers.dataset.key = key;
    while (levers.children.length > list.length) levers.lastElementChild?.remove();
    while (levers.children.length < list.length) levers.append(h("li"));
    list.forEach((lever, i) => {
      const patch = setting(lever, machine, data.rules.devices);
      const item = levers.children[i];
      const there = item.firstElementChild;
      const fits = there instanceof HTMLElement && there.tagName === (patch ? "BUTTON" : "SPAN");
      const inner = fits ? there : patch ? h("button", { type: "button" }) : h("span");
      if (!fits) item.replaceChildren(inner);
      inner.onclick = patch ? () => set(patch, true) : null;
      setText(inner, sayLever(lever, machine.name, data.rules, t));
    });
    if (!list.length) sentences(levers, [t(full ? "lever.none.fits" : "lever.none")]);
  }

  /** @type {(b: Bound) => void} */
  function updateShares(b) {
    setAttribute(bar, "aria-label", sayTimes(b, data.rules, t));
    for (const part of PARTS) {
      const grow = String(Math.round((b.shares[part] ?? 0) * 1000) / 1000);
      if (grown[part] !== grow) pieces[part].style.flexGrow = grown[part] = grow;
      setHidden(pieces[part], !(b.shares[part] >= data.rules.say.share));
    }
    const parts = PARTS.filter((part) => b.shares[part] >= data.rules.say.share);
    while (legend.children.length > parts.length) legend.lastElementChild?.remove();
    while (legend.children.length < parts.length) legend.append(h("span", {}, h("i"), h("span")));
    parts.forEach((part, i) => {
      const [swatch, text] = legend.children[i].children;
      setAttribute(swatch, "class", `share ${part}`);
      setText(text, `${t(`part.${part}`)} ${percent(b.shares[part])}`);
    });
  }

  return {
    element,
    // What one looks at while dragging: the verdict and the numbers of the step itself.
    update({ main, state }) {
      const { c, groups, b, f, verdict } = main;
      const [said, because] = sayVerdict(b, t);
      setText(name, said);
      setText(pair, t(`panel.pair.${b.binds}`));
      setAttribute(label, "data-code", verdict.code);
      setText(numbers, tied(because));
      const full = verdict.code === "capacity";
      setHidden(over, !full);
      setText(
        over,
        full ? tied(`${t("label.capacity")}${t("ui.colon")}${sayLacks(c, groups, f, t)}`) : "",
      );
      setText(rows.intensity.value, `${digits(b.intensity)} FLOP/byte`);
      /** @type {(text: string) => string} */
      const marked = (text) => (full ? t("held.if", { text }) : text);
      setText(rows.speed.value, marked(saySpeed(b, state.phase, t)));
      setHidden(rows.predicted.element, !main.predicted);
      if (main.predicted) setText(rows.predicted.value, marked(sayPredictedFor(main.predicted)));
    },
    // What is the same for every batch, what asks the model again, and lists: after the frame.
    finish({ main, state }) {
      const { c, groups, b, climbed, f } = main;
      setText(rows.ridge.value, `${digits(b.ridge)} FLOP/byte`);
      setHidden(rows.devices.element, !c.wire);
      if (c.wire) setText(rows.devices.value, sayDevices(main, t).slice(2).join(t.sides));
      setText(rows.climb.value, tied(sayClimb(c, groups, climbed, t)));
      const held = main.verdict.code === "capacity" ? [sayHeld(c, groups, t)] : [];
      const room = sayRoom(state.phase, climbed, f, c.machine.name, t);
      setText(rows.fit.value, tied([...held, room].filter(Boolean).join(t.sides)));
      updateShares(b);
      updateLevers(main.levers, c.machine, main.verdict.code === "capacity");
      const said = [sayRouting(c, groups, b, t), ...main.notes].filter(Boolean);
      sentences(notes, said);
      setHidden(notesBox, said.length === 0);
      if (NUMBERS.some((one) => rows[one].element.open)) this.explain(main);
    },
    // The formulas: only while one can be seen.
    explain(main, always = false) {
      const why = sayWhy(main, t, data.sources);
      if (main.predicted)
        why.predicted = [...sayPredicted(main.predicted, t).slice(1), t("predicted.means")];
      if (why.devices) why.devices.unshift(...sayDevices(main, t).slice(0, 2));
      const sources = sourcesOf(main.c);
      for (const name of NUMBERS) {
        if (always || rows[name].element.open)
          sentences(rows[name].why, [...(why[name] ?? []), ...(sources[name] ?? [])]);
      }
    },
    onOpen(listener) {
      for (const name of NUMBERS) rows[name].element.addEventListener("toggle", listener);
    },
  };
}
