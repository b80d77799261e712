// From a state to all that is shown of it: cases, bounds, verdict, scene.

import { bound, climb, fit, makeCase, operators } from "./bound.js";
import { devicesOf, sayRefused } from "./devices.js";
import { putUnder, sameName } from "./points.js";
import { domainOf, dotsOf, seriesOf } from "./scene.js";
import { groupsOf } from "./state.js";
import { digits } from "./units.js";
import { judge, levers } from "./verdict.js";

// A prediction in the plane, below the step that it is of; or why there is none.
function predictedAt({ here }, found) {
  if (!found?.value) return found ?? null;
  const at = (seconds) => here.bound.flops / seconds;
  return { ...found, x: here.x, y: at(found.value), lowest: at(found.high), highest: at(found.low), of: here.bound };
}

// Cases are kept, so that dragging a slider prices no model again.
// predictions: as predicted.js makes them, where there are any.
export function makeViews(data, predictions = null) {
  const cases = new Map();
  const placed = { key: "", points: [], hidden: 0 };

  function caseOf(model, machine, options) {
    const key = [model.id, machine.id, ...Object.values(options)].join("|");
    let found = cases.get(key);
    if (!found || found.model !== model || found.machine !== machine) {
      if (cases.size > 200) cases.clear();
      found = { model, machine, c: makeCase(model, machine, options, data.formats) };
      cases.set(key, found);
    }
    return found.c;
  }

  const optionsOf = ({ weights, kv, compute, ceilings }) => ({ weights, kv, compute, ceilings });

  // The numbers of devices that a model can be divided over on a machine, kept as the cases are.
  const counts = new Map();
  function countsOf(model, machine) {
    let found = counts.get(machine);
    if (found?.model !== model) {
      found = { model, list: devicesOf(model, machine) };
      counts.set(machine, found);
    }
    return found.list;
  }

  // A machine without the wanted ceilings or arithmetic is shown with what it has, and on fewer
  // devices where so many cannot be.
  function nearest(model, machine, state) {
    const devices = countsOf(model, machine).findLast((n) => n <= state.devices);
    const options = { ...optionsOf(state), devices };
    for (const changes of [{}, { ceilings: "" }, { compute: "" }, { ceilings: "", compute: "" }]) {
      const c = caseOf(model, machine, { ...options, ...changes });
      if (c) return { c, refused: Object.keys(changes) };
    }
    return null;
  }

  function placePoints(points, state, model, list) {
    const options = optionsOf(state);
    const key = [model.id, ...state.machines, ...Object.values(options), points.length].join("|");
    if (placed.key === key && placed.from === points) return;
    Object.assign(placed, { key, from: points, points: [], hidden: 0 });
    for (const point of points) {
      if (point.model && !sameName(model, point.model)) {
        placed.hidden += 1;
        continue;
      }
      const own = list.find((s) => point.machine && sameName(s.c.machine, point.machine));
      const known = (name, kind) => (name && Object.hasOwn(data.formats, name) ? name : options[kind]);
      const formats = {
        ...options,
        weights: known(point.weights, "weights"),
        kv: known(point.kv, "kv"),
        ceilings: "",
      };
      const c = caseOf(model, (own ?? list[0]).c.machine, formats);
      const found = c && putUnder(point, c);
      if (found) placed.points.push(found);
      else placed.hidden += 1;
    }
  }

  return function viewOf(state, points, t) {
    const model = data.models.find((m) => m.id === state.model) ?? data.models[0];
    const list = [];
    const notes = [...model.notes];
    const refusals = [];
    for (const id of state.machines) {
      const machine = data.machines.find((m) => m.id === id);
      const found = machine && nearest(model, machine, state);
      if (!found) {
        if (machine) notes.push(t("note.no-ceilings", { machine: machine.name }));
        continue;
      }
      for (const refused of found.refused) {
        notes.push(t(`note.no-${refused}`, { machine: machine.name, wanted: state[refused] }));
      }
      const { devices } = found.c;
      if (devices !== state.devices) refusals.push(sayRefused(model, machine, state.devices, devices, t));
      list.push(seriesOf(found.c, state));
    }
    if (!list.length) return null;
    const { c } = list[0];
    for (const [wanted, used] of Object.entries(c.used)) {
      if (used !== wanted) notes.push(t("note.wider", { machine: c.machine.name, wanted, used }));
    }
    for (const format of new Set([state.weights, state.kv])) {
      const note = format && data.formats[format].note;
      if (note) notes.push(`${format}: ${note}`);
    }
    const groups = groupsOf(state);
    predictions?.begin();
    for (const s of list) s.predicted = predictedAt(s, predictions?.of(s.c, state, groups));
    const b = bound(c, groups);
    const climbed = climb(c, groups);
    const f = fit(c, groups);
    const verdict = judge(b, f, groups[0].batch);
    const main = { c, groups, b, climbed, f, verdict, notes, predicted: list[0].predicted };
    main.levers = levers(c, state.phase, groups, b, f);
    main.operators = operators(c, groups);
    const dots = state.operators ? dotsOf(list[0], state) : [];
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
