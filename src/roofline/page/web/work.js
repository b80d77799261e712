// @ts-check
// What a step costs: the coefficients that the core emits, evaluated again.
//
// A step is a list of groups {batch, new, past, all}: `batch` sequences with `new` new tokens
// after `past` cached ones; `all` where logits are needed for every new token (verify).
// The quantities are those of roofline/step.py. Sums here never subtract large numbers from
// each other, so that doubles agree with the core's exact integers to 1e-12.

import { tablesFor } from "./devices.js";

/** @type {("weights" | "kv_read" | "kv_write" | "state")[]} */
const TRAFFIC = ["weights", "kv_read", "kv_write", "state"];

export const step = {
  /** @type {(batch: number, context: number) => Group[]} */
  decode: (batch, context) => [{ batch, new: 1, past: context - 1, all: false }],
  /** @type {(batch: number, prompt: number, past?: number) => Group[]} */
  prefill: (batch, prompt, past = 0) => [{ batch, new: prompt, past, all: false }],
  /** @type {(batch: number, drafted: number, context: number) => Group[]} */
  verify: (batch, drafted, context) => [{ batch, new: drafted + 1, past: context - 1, all: true }],
  /** @type {(...steps: Group[][]) => Group[]} */
  mixed: (...steps) => steps.flat(),
};

// Σ_{p=past+1}^{past+count} min(⌊p/stride⌋, window): keys seen by `count` causal queries.
/** @type {(past: number, count: number, window: number | null, stride: number) => number} */
function pairs(past, count, window, stride) {
  let rising = count;
  if (window !== null) {
    rising = Math.min(Math.max(window * stride - past, 0), count);
  }
  const flat = window === null ? 0 : (count - rising) * window;
  if (stride === 1) return rising * past + (rising * (rising + 1)) / 2 + flat;
  const whole = Math.floor(past / stride);
  const last = (past % stride) + rising;
  const steps = Math.floor(last / stride);
  const rest = last % stride;
  return whole * rising + (stride * steps * (steps - 1)) / 2 + steps * (rest + 1) + flat;
}

// Queries of a chunk of `size` see the keys of their own chunk, up to themselves.
/** @type {(past: number, count: number, size: number) => number} */
function chunkPairs(past, count, size) {
  /** @type {(n: number) => number} */
  const seen = (n) =>
    (Math.floor(n / size) * size * (size + 1)) / 2 + ((n % size) * ((n % size) + 1)) / 2;
  const start = past % size;
  return seen(start + count) - (start * (start + 1)) / 2;
}

// Queries see their own block up to themselves and the best blocks before it, `most` keys
// at most in blocks of `size`.
/** @type {(past: number, count: number, most: number, size: number) => number} */
function blockPairs(past, count, most, size) {
  const rising = Math.min(Math.max(most - past, 0), count);
  const flat = count - rising;
  return (
    rising * past +
    (rising * (rising + 1)) / 2 +
    flat * (most - size) +
    chunkPairs(past + rising, flat, size)
  );
}

/** @type {(q: Quantity, g: Group) => number} */
const strided = (q, g) => Math.floor((g.past + g.new) / (q.stride ?? 1));
/** @type {(n: number, limit: number | null) => number} */
const within = (n, limit) => (limit === null ? n : Math.min(n, limit));

/** @type {Record<string, (q: Quantity, g: Group) => number>} */
const PER_SEQUENCE = {
  tokens: (_, g) => g.new,
  sequences: () => 1,
  rows: (_, g) => (g.all ? g.new : 1),
  pairs: (q, g) => pairs(g.past, g.new, q.window, q.stride ?? 1),
  all_pairs: (q, g) => pairs(g.past, g.new, q.window, 1) + pairs(0, g.new, q.window, 1) - g.new,
  entries: (q, g) => within(strided(q, g), q.window === null ? null : q.window + g.new - 1),
  held: (q, g) => within(strided(q, g), q.window),
  chunk_pairs: (q, g) => chunkPairs(g.past, g.new, q.window),
  chunk_entries: (q, g) => g.new + (g.past % q.window),
  block_pairs: (q, g) => blockPairs(g.past, g.new, q.window, q.stride),
  block_entries: (q, g) => {
    const context = g.past + g.new;
    return Math.min(context, q.window - q.stride + ((context - 1) % q.stride) + g.new);
  },
  latent: (q, g) => {
    const [pairAbsorbed, tokenAbsorbed, pairExpanded, entryExpanded] = q.costs;
    const seen = pairs(g.past, g.new, q.window, 1);
    return Math.min(
      pairAbsorbed * seen + tokenAbsorbed * g.new,
      pairExpanded * seen + entryExpanded * PER_SEQUENCE.entries(q, g),
    );
  },
};

// Sequences of a group that the busiest of `over` replicas or microbatches has.
/** @type {(q: Partial<Quantity>, g: Group) => number} */
const share = (q, g) => Math.ceil(g.batch / (q.over ?? 1));
/** @type {(q: Partial<Quantity>, groups: Group[]) => number} */
const tokens = (q, groups) => groups.reduce((n, g) => n + share(q, g) * g.new, 0);
/** @type {(q: Quantity, groups: Group[]) => number} */
const passes = (q, groups) => Math.min(q.most ?? 1, Math.max(...groups.map((g) => share(q, g))));

// The value of a quantity on a step. An unknown one is an error, never zero.
/** @type {(q: Quantity, groups: Group[]) => number} */
export function quantity(q, groups) {
  if (q.q === "one") return 1;
  if (q.q === "passes") return passes(q, groups);
  if (q.q === "touched") {
    const times = (q.most ?? 1) > 1 ? passes(q, groups) : 1;
    const seen = (q.most ?? 1) > 1 ? tokens({}, groups) / times : tokens(q, groups);
    if (q.experts === q.active) return times * q.experts;
    return times * (q.experts * (1 - (1 - q.active / q.experts) ** seen));
  }
  const one = PER_SEQUENCE[q.q];
  if (!one) throw new Error(`unknown quantity ${q.q}`);
  let total = 0;
  for (const g of groups) total += share(q, g) * one(q, g);
  return total;
}

// The least that it can be, whatever experts the tokens choose: those of one token for all of them.
/** @type {(q: Quantity, groups: Group[]) => number} */
export const fewest = (q, groups) =>
  q.q === "touched" ? q.active * ((q.most ?? 1) > 1 ? passes(q, groups) : 1) : quantity(q, groups);

// Which of a model's formats a choice means; see Model.formats in the core.
/** @type {(model: Model, choice: Options, formats: Record<string, Format>) =>
 *   { chosen: Format | null, cache: Format, activations: Format }} */
export function formatsOf(model, choice, formats) {
  const chosen = choice.weights ? formats[choice.weights] : null;
  let activations = formats[model.dtype];
  if (chosen && ["fp32", "bf16", "fp16"].includes(choice.weights ?? "")) activations = chosen;
  const cache = choice.kv ? formats[choice.kv] : model.kv ? formats[model.kv] : activations;
  return { chosen, cache, activations };
}

// A model's work in chosen formats, as a table of schema roofline.work/1.
// choice: {weights, kv, compute}, each a name or empty for the checkpoint's own, and {devices}:
// the work is that of one of so many. null where the model does not divide over them.
/** @type {(model: Model, choice: Options, data: Known) => Work | null} */
export function bind(model, choice, { formats, rules }) {
  const { chosen, cache, activations } = formatsOf(model, choice, formats);
  const devices = choice.devices || 1;
  const found = tablesFor(model, devices);
  if (!found) return null;
  const { uniform, own, cast } = found.tables;
  const table = chosen || !own || !cast ? uniform : choice.compute ? cast : own;
  const weights = chosen ?? (model.stored === null ? null : formats[model.stored]);
  /** @type {Record<Factor, number>} */
  const size = { "": 1, w: weights?.size ?? 0, c: cache.size, a: activations.size };
  const attention = rules.wide.includes(choice.compute ?? "")
    ? choice.compute
    : activations.compute;
  /** @type {Record<string, string | undefined>} */
  const named = {
    "@w": choice.compute || weights?.compute,
    "@a": attention,
    "@d": activations.compute,
  };

  // A coefficient in these formats, on one of so many devices.
  /** @type {(open: OpenSize) => number} */
  const closed = ([coefficient, factor = "", scale]) =>
    coefficient * size[factor] * (scale === undefined ? 1 : table.scales[scale][found.at]);
  /** @type {(list: OpenTerm[]) => Term[]} */
  const terms = (list) => {
    /** @type {Term[]} */
    const out = [];
    for (const [q, ...open] of list) {
      const value = closed(open);
      if (value === 0) continue;
      const same = out.find((t) => t[0] === q);
      if (same) same[1] += value;
      else out.push([q, value]);
    }
    return out;
  };
  /** @type {(object: Record<string, OpenTerm[]>) => Record<string, Term[]>} */
  const each = (object) =>
    Object.fromEntries(Object.entries(object).map(([k, v]) => [k, terms(v)]));
  return {
    schema: "roofline.work/1",
    resident: table.resident.reduce((sum, open) => sum + closed(open), 0),
    quantities: table.quantities,
    operators: table.operators
      .filter((op) => devices > 1 || !op.collective)
      .map((op) => ({
        ...op,
        compute: named[op.compute] ?? op.compute,
        flops: terms(op.flops),
        bytes: each(op.bytes),
      })),
  };
}

/** @type {(terms: Term[] | undefined, values: number[]) => number} */
const sum = (terms, values) => {
  let total = 0;
  for (const [q, c] of terms ?? []) total += c * values[q];
  return total;
};

/** @type {(table: Work, groups: Group[]) => number[]} */
const valuesOf = (table, groups) => table.quantities.map((q) => quantity(q, groups));

// What each operator costs in a step, all its instances together.
/** @type {(table: Work, groups: Group[]) => Cost[]} */
export function costs(table, groups) {
  const v = valuesOf(table, groups);
  return table.operators.map((op) => {
    const [weights, kv_read, kv_write, state] = TRAFFIC.map(
      (kind) => op.count * sum(op.bytes[kind], v),
    );
    const flops = op.count * sum(op.flops, v);
    const bytes = weights + kv_read + kv_write + state;
    return { op, flops, bytes, weights, kv_read, kv_write, state };
  });
}

// One kind of byte (or "flops") of the whole step.
/** @type {(table: Work, kind: string, groups: Group[]) => number} */
export function total(table, kind, groups) {
  const v = valuesOf(table, groups);
  /** @type {(op: Operator) => Term[] | undefined} */
  const of = (op) => (kind === "flops" ? op.flops : op.bytes[kind]);
  return table.operators.reduce((n, op) => n + op.count * sum(of(op), v), 0);
}
