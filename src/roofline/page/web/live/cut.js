// @ts-check
// A model of the page with fewer layers and in the format that a measurement ran in: the page
// then draws the very step that was measured.

// model: as roofline/page/data.py writes it; s: its shape, all layers alike, two norms in each.
/** @type {(model: Model, s: Shape, layers: number, format: string, name: string) => Model} */
export function cutModel(model, s, layers, format, name) {
  const { uniform } = model.tables; // of one device
  const of = s.layers;
  const gone = of - layers;
  /** @type {(op: OpenOperator) => number} */
  const kept = ({ count }) => (count === of ? layers : count);
  /** @type {Record<Factor, number>} */
  const perLayer = { "": 0, w: 0, c: 0, a: 2 * s.hidden };
  for (const op of uniform.operators) {
    if (op.count !== of) continue;
    for (const [, coefficient, factor = ""] of op.bytes.weights ?? [])
      perLayer[factor] += coefficient;
  }
  return {
    ...model,
    id: `${model.id}:${layers}:${format}`,
    name,
    dtype: format,
    kv: null,
    stored: format,
    scheme: format,
    parameters: model.parameters - gone * (perLayer.w + perLayer.a),
    active: model.active - gone * (perLayer.w + perLayer.a),
    notes: [],
    others: [],
    tables: {
      devices: [1],
      uniform: {
        ...uniform,
        resident: uniform.resident.map(([c, factor = "", ...scale]) => [
          c - gone * perLayer[factor],
          factor,
          ...scale,
        ]),
        operators: uniform.operators.map((op) => ({ ...op, count: kept(op) })),
      },
    },
  };
}
