// @ts-check
// Model, formats and machine of a measured point: from its file, else from what the page shows.
// The same as roofline/placing/resolve.py, the reader's choices being its options. What the file
// says and the page does not know is never replaced by something else.

import { roofOf } from "./bound.js";
import { find, findFormat, findModel, findPrecision } from "./names.js";

// The first layers of a model, as an engine ran it that was given no more; null where the page
// does not know which layer does what. Of the weights held, which no measured point asks for,
// it says what the whole model does.
/** @type {(model: Model, layers: number | undefined) => Model | null} */
function firstLayers(model, layers) {
  if (layers === undefined || layers === model.layers?.kinds.length) return model;
  if (!model.layers || layers > model.layers.kinds.length) return null;
  /** @type {Record<string, number>} */
  const gone = {};
  for (const letter of model.layers.kinds.slice(layers)) gone[letter] = (gone[letter] ?? 0) + 1;
  /** @type {(each: Record<string, number>) => number} */
  const less = (each) => Object.entries(each).reduce((n, [k, x]) => n + (gone[k] ?? 0) * x, 0);
  /** @type {(table: OpenTable) => OpenTable} */
  const cut = (table) => ({
    ...table,
    operators: table.operators
      .map((op) => ({ ...op, count: op.count - less(op.in ?? {}) }))
      .filter((op) => op.count > 0),
  });
  const tables = Object.entries(model.tables).map(([name, table]) => [
    name,
    table.operators ? cut(table) : table,
  ]);
  return {
    ...model,
    id: `${model.id}/${layers}`,
    parameters: model.parameters - less(model.layers.parameters),
    tables: Object.fromEntries(tables),
    others: [],
  };
}

// The machine of a point that carries the ceilings of its own minutes.
/** @type {(point: Point, roof: PointRoof) => Machine} */
function ownMachine({ machine, device }, roof) {
  const compute = Object.entries(roof.compute).map(([name, value]) => [name, { value }]);
  return {
    id: `point ${JSON.stringify(roof)}`,
    name: machine ?? "",
    kind: device === "cpu" ? "cpu" : "gpu",
    measured: {
      bandwidth: { memory: { value: roof.bandwidth, spread: roof.spread } },
      compute: Object.fromEntries(compute),
    },
  };
}

// The arithmetic of llama.cpp's quantised products: bytes, where the machine has a unit for them.
/** @type {(point: Point, weights: string | null, machine: Machine) => string} */
function multipliedAs(point, weights, machine) {
  if (point.engine !== "llama.cpp" || !/^(q|iq|mxfp4)|bits$/.test(weights ?? "")) return "";
  const peaks = roofOf(machine)?.compute ?? {};
  const wide = Math.max(0, ...["bf16", "fp16"].map((name) => peaks[name]?.value ?? 0));
  return (peaks.int8?.value ?? 0) > wide ? "int8" : "";
}

// → resolve(point, shown) → {model, machine, options, known} or null: what a point is of.
// shown: {model, machine, state}; `known` is false where the file names a machine that is not
// known here, so that the point has a place in the picture and no roof of its own.
/** @type {(data: PageData) => Resolve} */
export function makeResolver(data) {
  /** @type {Map<string, any>} */
  const kept = new Map();
  /** @type {[models?: Model[], machines?: Machine[]]} */
  let lists = [];

  /** @type {<T>(kind: string, name: string, look: () => T) => T} */
  function once(kind, name, look) {
    if (lists[0] !== data.models || lists[1] !== data.machines) {
      lists = [data.models, data.machines];
      kept.clear();
    }
    const key = `${kind} ${name}`;
    if (!kept.has(key)) {
      if (kept.size > 2000) kept.clear();
      kept.set(key, look());
    }
    return kept.get(key);
  }

  /** @type {(point: Point, model: Model, state: State) => string | null} */
  function weightsOf(point, model, state) {
    if (point.weight_bytes !== undefined && !state.weights) {
      const bits = (8 * point.weight_bytes) / model.parameters;
      if (bits >= 1 && bits <= 33 && !/^(bf16|fp)/.test(point.weights ?? "")) {
        return findFormat(data, `${bits.toFixed(3)}bits`);
      }
    }
    return point.weights === undefined ? state.weights : findFormat(data, point.weights);
  }

  return function resolve(point, { model: shown, machine: on, state }) {
    const called = point.model;
    const whole =
      called === undefined ? shown : once("model", called, () => findModel(data, called));
    if (whole?.id !== shown.id) return null;
    const model = once("layers", `${shown.id} ${point.layers}`, () =>
      firstLayers(shown, point.layers),
    );
    if (!model) return null;
    const { devices } = point;
    // Which exchanges the layers left out would have made is not in the tables.
    if (devices > 1 && (model !== shown || !point.tensor)) return null;
    const own = state.ceilings === "datasheet" ? null : point.roof;
    const named = point.machine;
    const found =
      named === undefined ? on : once("machine", named, () => find(data.machines, named));
    const machine = own ? ownMachine(point, own) : (found ?? on);
    const weights = weightsOf(point, model, state);
    const wanted = {
      weights,
      kv: point.kv === undefined ? state.kv : findFormat(data, point.kv),
      compute:
        (point.compute === undefined ? state.compute : findPrecision(data, point.compute)) ||
        (point.compute === undefined ? multipliedAs(point, weights, machine) : null),
      ceilings: own ? "" : state.ceilings,
      devices,
    };
    if (Object.values(wanted).includes(null)) return null;
    const options = /** @type {Options} */ (wanted);
    return { model, machine, options, known: Boolean(own || found) };
  };
}
