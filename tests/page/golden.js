// Compares what the page's modules give with what Python gave, number by number.
// Used in Node and in the browser alike: check(modules, {data, cases}) → {worst, wrong}.
function check(roofline, { data, cases }) {
  const of = (list) => Object.fromEntries(list.map((x) => [x.id, x]));
  const [models, machines] = [of(data.models), of(data.machines)];
  const wrong = [];
  let worst = 0;
  const compare = (where, got, expected) => {
    if (expected !== null && typeof expected === "object") {
      if (Array.isArray(expected) && got?.length !== expected.length) {
        wrong.push(`${where}: ${got?.length} instead of ${expected.length}`);
      }
      for (const key of Object.keys(expected))
        compare(`${where}.${key}`, got?.[key], expected[key]);
    } else if (typeof expected === "number") {
      const off = Math.abs(got - expected) / (Math.abs(expected) || 1);
      if (off <= 1e-12) worst = Math.max(worst, off);
      else wrong.push(`${where}: ${got} instead of ${expected}`);
    } else if (got !== expected) {
      wrong.push(`${where}: ${got} instead of ${expected}`);
    }
  };
  for (const { model, machine, options, phase, groups, expected } of cases) {
    const where = JSON.stringify([model, machine, options, groups]);
    const c = roofline.makeCase(models[model], machines[machine], options, data);
    if (c === null || expected === null) {
      compare(where, c, expected);
      continue;
    }
    const bound = roofline.bound(c, groups);
    const fit = roofline.fit(c, groups);
    const found = {
      table: c.table,
      bound,
      climb: roofline.climb(c, groups),
      fit,
      fewest: roofline.bound(c, groups, roofline.fewest).overlapped_s,
      verdict: roofline.judge(bound, fit, groups[0].batch),
      levers: roofline.levers(c, phase, groups, bound, fit),
      operators: roofline.operators(c, groups),
      activations: roofline.total(c.table, "activations", groups),
    };
    compare(where, found, expected);
  }
  return { worst, wrong: wrong.slice(0, 20), count: cases.length };
}
