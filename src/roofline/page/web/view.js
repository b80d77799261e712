// @ts-check
// From a state to all that is shown of it: cases, bounds, verdict, scene.

import { climb, makeCase, operators } from "./bound.js";
import { devicesOf, sayRefused } from "./devices.js";
import { judgePoints, putUnder } from "./placed.js";
import { makeResolver } from "./resolve.js";
import { domainOf, dotsOf, seriesOf } from "./scene.js";
import { groupsOf } from "./state.js";
import { digits } from "./units.js";
import { judge, levers } from "./verdict.js";

// A prediction in the plane, below the step that it is of; or why there is none.
/** @type {(s: Series, found: Forecast | NoForecast | null | undefined) => Predicted | null} */
function predictedAt({ here }, found) {
  if (!found || found.value === undefined) return found ?? null;
  /** @type {(seconds: number) => number} */
  const at = (seconds) => here.bound.flops / seconds;
  return {
    ...found,
    x: here.x,
    y: at(found.value),
    lowest: at(found.high),
    highest: at(found.low),
    of: here.bound,
  };
}

// A part of a view that is made when it is first asked for.
/** @type {<T, K extends keyof T>(view: T, name: K, make: () => T[K]) => void} */
function once(view, name, make) {
  /** @type {any} */
  let made;
  Object.defineProperty(view, name, { get: () => (made ??= make()), enumerable: true });
}

// Cases are kept, so that dragging a slider prices no model again.
// predictions: as predicted.js makes them, where there are any.
/** @type {(data: PageData, predictions?: Predictor | null) => (state: State, points: Point[],
 *   t: Words) => View | null} */
export function makeViews(data, predictions = null) {
  /** @type {Map<string, { model: Model, machine: Machine, c: Case | null }>} */
  const cases = new Map();
  /** @type {{ key: string, from?: Point[], points: Placed[], hidden: number }} */
  const placed = { key: "", points: [], hidden: 0 };
  const resolve = makeResolver(data);

  /** @type {(model: Model, machine: Machine, options: Options) => Case | null} */
  function caseOf(model, machine, options) {
    const key = [model.id, machine.id, ...Object.values(options)].join("|");
    let found = cases.get(key);
    if (!found || found.model !== model || found.machine !== machine) {
      if (cases.size > 200) cases.clear();
      found = { model, machine, c: makeCase(model, machine, options, data) };
      cases.set(key, found);
    }
    return found.c;
  }

  /** @type {(state: State) => Options} */
  const optionsOf = ({ weights, kv, compute, ceilings }) => ({ weights, kv, compute, ceilings });

  // The numbers of devices that a model can be divided over on a machine, kept as the cases are.
  /** @type {Map<Machine, { model: Model, list: number[] }>} */
  const counts = new Map();
  /** @type {(model: Model, machine: Machine) => number[]} */
  function countsOf(model, machine) {
    let found = counts.get(machine);
    if (found?.model !== model) {
      found = { model, list: devicesOf(model, machine, data.rules.devices) };
      counts.set(machine, found);
    }
    return found.list;
  }

  // A machine without the wanted ceilings or arithmetic is shown with what it has, and on fewer
  // devices where so many cannot be.
  /** @type {(model: Model, machine: Machine, state: State) => { c: Case,
   *   refused: string[] } | null} */
  function nearest(model, machine, state) {
    const devices = countsOf(model, machine).findLast((n) => n <= state.devices);
    const options = { ...optionsOf(state), devices };
    for (const changes of [{}, { ceilings: "" }, { compute: "" }, { ceilings: "", compute: "" }]) {
      const c = caseOf(model, machine, { ...options, ...changes });
      if (c) return { c, refused: Object.keys(changes) };
    }
    return null;
  }

  /** @type {(points: Point[], state: State, model: Model, list: Series[]) => void} */
  function placePoints(points, state, model, list) {
    const options = optionsOf(state);
    const key = [model.id, ...state.machines, ...Object.values(options), points.length].join("|");
    if (placed.key === key && placed.from === points) return;
    Object.assign(placed, { key, from: points, points: [], hidden: 0 });
    const shown = { model, machine: list[0].c.machine, state };
    for (const point of points) {
      const of = resolve(point, shown);
      const c =
        of &&
        (caseOf(of.model, of.machine, of.options) ??
          caseOf(of.model, of.machine, { ...of.options, ceilings: "" }));
      const found = c && putUnder(point, c);
      if (!found) placed.hidden += 1;
      else {
        const { weights, kv } = { ...options, ...point };
        placed.points.push({ ...found, weights, kv, known: of.known, verdict: "", group: "" });
      }
    }
    judgePoints(placed.points);
  }

  return function viewOf(state, points, t) {
    const model = data.models.find((m) => m.id === state.model) ?? data.models[0];
    /** @type {Series[]} */
    const list = [];
    const notes = model.notes.map(t.note);
    /** @type {string[]} */
    const refusals = [];
    for (const id of state.machines) {
      const machine = data.machines.find((m) => m.id === id);
      const found = machine && nearest(model, machine, state);
      if (!found) {
        if (machine) notes.push(t("note.no-ceilings", { machine: machine.name }));
        continue;
      }
      for (const refused of found.refused) {
        notes.push(
          t(`note.no-${refused}`, {
            machine: machine.name,
            wanted: refused === "ceilings" ? state.ceilings : state.compute,
          }),
        );
      }
      const { devices } = found.c;
      if (devices !== state.devices)
        refusals.push(sayRefused(model, machine, state.devices, devices, data.rules, t));
      list.push(seriesOf(found.c, state));
    }
    if (!list.length) return null;
    const { c } = list[0];
    for (const [wanted, used] of Object.entries(c.used)) {
      if (used !== wanted) notes.push(t("note.wider", { machine: c.machine.name, wanted, used }));
    }
    for (const format of new Set([state.weights, state.kv])) {
      const note = format && data.formats[format].note;
      if (note) notes.push(`${format}: ${t.note(note)}`);
    }
    const groups = groupsOf(state);
    predictions?.begin();
    for (const s of list) s.predicted = predictedAt(s, predictions?.of(s.c, state, groups));
    const b = list[0].here.bound;
    // Of a decode or verify step the picture's path is its own climb.
    const own = ["decode", "verify"].includes(state.phase);
    const climbed = own ? list[0].climbed : climb(c, groups);
    const f = list[0].room;
    const verdict = judge(b, f, groups[0].batch);
    /** @type {Main} */
    const main = {
      ...{ c, groups, b, climbed, f, verdict, notes, predicted: list[0].predicted },
      ...{ levers: [], operators: [] }, // made when first asked for
    };
    once(main, "levers", () => levers(c, state.phase, groups, b, f));
    once(main, "operators", () => operators(c, groups));
    const dots = state.operators ? dotsOf(main.operators) : [];
    placePoints(points, state, model, list);
    return {
      state,
      model,
      list,
      main,
      refusals,
      counts: countsOf(model, c.machine),
      dots,
      points: placed.points,
      hiddenPoints: placed.hidden,
      pointsKey: placed.key,
      domain: domainOf(list, dots, placed.points),
      said: `${digits(b.intensity)} FLOP/byte, ${t(`label.${b.binds}`)}`,
    };
  };
}
