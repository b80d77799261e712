// @ts-check
// Bounds: a model's work held against a machine's roof. The same formulas as roofline/bound.py.
//
//   ridge             peak / bandwidth, peaks dense
//   intensity         Σ FLOPs / Σ compulsory bytes of the step
//   overlapped bound  max(Σ FLOPs/peak, Σ bytes/bandwidth, communication)
//   serial bound      Σ over operators of max(FLOPs/peak, bytes/bandwidth), and communication

import { wireOf } from "./devices.js";
import { numberOf } from "./units.js";
import { bind, formatsOf, quantity } from "./work.js";

// The ceilings of a machine: {kind, bandwidth, compute}, each a figure with its kind; or null
// where it has no bandwidth or no compute ceiling at all.
/** @type {(machine: Machine, kind?: string) => Roof | null} */
export function roofOf(machine, kind = "") {
  /** @type {(section: "datasheet" | "measured", unit: "bandwidth" | "compute") => Record<string,
   *   Ceiling>} */
  const figures = (section, unit) =>
    Object.fromEntries(
      Object.entries(machine[section]?.[unit] ?? {})
        .filter(([, figure]) => figure !== null)
        .map(([name, figure]) => [
          name,
          { kind: section, ...(typeof figure === "object" ? figure : { value: figure }) },
        ]),
    );
  const sheet = {
    bandwidth: figures("datasheet", "bandwidth"),
    compute: figures("datasheet", "compute"),
  };
  const found = {
    bandwidth: figures("measured", "bandwidth"),
    compute: figures("measured", "compute"),
  };
  const used = kind || machine.ceilings || (sheet.bandwidth.memory ? "datasheet" : "measured");
  const [first, second] = used === "datasheet" ? [sheet, found] : [found, sheet];
  /** @type {(x: object) => boolean} */
  const empty = (x) => Object.keys(x).length === 0;
  if (empty(first.bandwidth) && empty(first.compute)) return null;
  const bandwidth = first.bandwidth.memory ?? second.bandwidth.memory;
  const compute = { ...second.compute, ...first.compute };
  if (!bandwidth || empty(compute)) return null;
  return { kind: used, bandwidth, compute };
}

// The precision that products run in: this one or the next wider that is known, else null.
/** @type {(roof: Roof, precision: string, wider: string[]) => string | null} */
function arithmetic(roof, precision, wider) {
  for (const name of [precision, ...wider]) {
    if (roof.compute[name]) return name;
  }
  return null;
}

const MATRICES = ["linear", "head", "experts"];

// A model in given formats under one machine's roof; null where no roof or no ceiling is known.
// options: {weights, kv, compute, ceilings, usable, devices}, empty for the default; perfect: what
// joins the devices takes no time.
/** @type {(model: Model, machine: Machine, options: Options, data: Known) =>
 *   Case | null} */
export function makeCase(model, machine, options, data) {
  const { formats, rules } = data;
  const roof = roofOf(machine, options.ceilings);
  if (!roof) return null;
  const table = bind(model, options, data);
  if (!table) return null;
  const devices = options.devices || 1;
  const wire = devices > 1 ? wireOf(machine, devices, options.perfect) : null;
  if (devices > 1 && !wire) return null;
  /** @type {Record<string, string>} */
  const used = {};
  for (const op of table.operators) {
    if (op.flops.length === 0 || op.compute in used) continue;
    const exactly = Boolean(options.compute) && MATRICES.includes(op.kind);
    const wider = exactly ? [] : (rules.wider[op.compute] ?? []);
    const precision = arithmetic(roof, op.compute, wider);
    if (precision === null) return null;
    used[op.compute] = precision;
  }
  /** @type {Record<string, Ceiling>} */
  const figures = {
    memory: roof.bandwidth,
    ...Object.fromEntries(Object.values(used).map((p) => [p, roof.compute[p]])),
  };
  const borrowed = Object.keys(figures).filter((name) => figures[name].kind !== roof.kind);
  /** @type {(terms: Term[] | undefined, count: number) => Term[]} */
  const times = (terms, count) => (terms ?? []).map(([q, c]) => [q, c * count]);
  /** @type {Row[]} */
  const rows = table.operators.map((op) => {
    const precision = op.flops.length ? used[op.compute] : op.compute;
    const { weights, kv_read, kv_write, state, sent, messages } = op.bytes;
    return {
      op,
      precision,
      peak: op.flops.length ? roof.compute[precision].value : Infinity,
      flops: times(op.flops, op.count),
      parts: [weights, kv_read, kv_write, state].map((terms) => times(terms, op.count)),
      talk: op.collective ? [sent, messages].map((terms) => times(terms, op.count)) : null,
    };
  });
  const memory = machine.memory?.usable ?? machine.memory?.capacity;
  return {
    model,
    machine,
    options,
    data,
    roof,
    table,
    rows,
    used,
    borrowed,
    devices,
    wire,
    ...formatsOf(model, options, formats),
    bandwidth: roof.bandwidth.value,
    memory: memory === undefined || memory === null ? null : numberOf(memory),
    usable: options.usable || rules.usable,
    others: new Map(),
  };
}

// The same case with other options; null where they cannot be. Kept with the case, so that
// asking again on the next frame prices no model again.
/** @type {(c: Case, changes: Options) => Case | null} */
export function using(c, changes) {
  const key = JSON.stringify(changes);
  let other = c.others.get(key);
  if (other === undefined) {
    other = makeCase(c.model, c.machine, { ...c.options, ...changes }, c.data);
    c.others.set(key, other);
  }
  return other;
}

/** @type {(terms: Term[], v: number[]) => number} */
const sum = (terms, v) => {
  let total = 0;
  for (const [q, c] of terms) total += c * v[q];
  return total;
};

/** @type {(groups: Group[]) => number} */
const tokensOf = (groups) => groups.reduce((n, g) => n + g.batch * g.new, 0);

// What an exchange sends, in how many messages, and the time that takes; null of other rows.
/** @type {(row: Row, wire: Wire | null, v: number[]) => Exchange | null} */
function exchange({ talk }, wire, v) {
  if (!talk || !wire) return null;
  const [sent, messages] = talk.map((terms) => sum(terms, v));
  return { sent, messages, seconds: sent * wire.per_byte + messages * wire.per_message };
}

// A step under the roof. Seconds and bytes; shares are of the serial bound and add up to 1.
// value: of a quantity; `fewest` for what no routing of experts beats.
/** @type {(c: Case, groups: Group[], value?: (q: Quantity, groups: Group[]) => number) => Bound} */
export function bound(c, groups, value = quantity) {
  const v = c.table.quantities.map((q) => value(q, groups));
  let [flops, weights, kv_read, kv_write, state] = [0, 0, 0, 0, 0];
  let [compute_s, serial_s, communication_s, sent, messages] = [0, 0, 0, 0, 0];
  /** @type {Record<string, number>} */
  const shares = { weights: 0, kv: 0, state: 0, compute: 0 };
  for (const row of c.rows) {
    const sends = exchange(row, c.wire, v);
    if (sends) {
      communication_s += sends.seconds;
      sent += sends.sent;
      messages += sends.messages;
      continue;
    }
    const f = sum(row.flops, v);
    const [w, r, k, s] = row.parts.map((terms) => sum(terms, v));
    const busy = f / row.peak;
    const traffic = (w + r + k + s) / c.bandwidth;
    compute_s += busy;
    if (traffic >= busy) {
      serial_s += traffic;
      shares.weights += w / c.bandwidth;
      shares.kv += (r + k) / c.bandwidth;
      shares.state += s / c.bandwidth;
    } else {
      serial_s += busy;
      shares.compute += busy;
    }
    flops += f;
    weights += w;
    kv_read += r;
    kv_write += k;
    state += s;
  }
  const kv = kv_read + kv_write;
  const bytes = weights + kv + state;
  const memory_s = bytes / c.bandwidth;
  serial_s += communication_s;
  if (c.wire) shares.communication = communication_s;
  for (const part in shares) shares[part] /= serial_s;
  const overlapped_s = Math.max(compute_s, memory_s, communication_s);
  const memory_bound = memory_s > compute_s;
  const communication_bound = communication_s > Math.max(memory_s, compute_s);
  const tokens = tokensOf(groups);
  return {
    ...{ flops, weights, kv_read, kv_write, kv, state, bytes, sent, messages },
    ...{ compute_s, memory_s, communication_s, overlapped_s, serial_s },
    memory_bound,
    communication_bound,
    binds: communication_bound ? "communication" : memory_bound ? "memory" : "compute",
    intensity: flops / bytes,
    ridge: flops / (compute_s * c.bandwidth),
    tokens,
    sequences: groups.reduce((n, g) => n + g.batch, 0),
    tokens_per_s: tokens / overlapped_s,
    attainable: flops / overlapped_s,
    shares,
  };
}

// Each kind of operator under the roof, in the order in which they run.
/** @type {(c: Case, groups: Group[]) => Operated[]} */
export function operators(c, groups) {
  const v = c.table.quantities.map((q) => quantity(q, groups));
  return c.rows.map((row) => {
    const { name, kind, count } = row.op;
    const sends = exchange(row, c.wire, v);
    if (sends) {
      const nothing = { compute: "", flops: 0, bytes: 0, intensity: null };
      const { collective } = row.op;
      return { name, kind, count, ...nothing, ...sends, bound: "communication", collective };
    }
    const flops = sum(row.flops, v);
    const bytes = row.parts.reduce((n, terms) => n + sum(terms, v), 0);
    const busy = flops / row.peak;
    const traffic = bytes / c.bandwidth;
    return {
      name,
      kind,
      count,
      compute: row.precision,
      flops,
      bytes,
      intensity: bytes ? flops / bytes : null,
      seconds: Math.max(busy, traffic),
      bound: busy > traffic ? "compute" : "memory",
    };
  });
}

// What a growing batch does to a step (where it is mixed, to its first group alone); see
// Case.climb in the core.
/** @type {(c: Case, groups: Group[]) => Climb} */
export function climb(c, groups) {
  const one = [{ ...groups[0], batch: 1 }];
  const { bandwidth } = c;
  let [flops, busy, traffic, state, fixed] = [0, 0, 0, 0, 0];
  let [matrixSeconds, matrixBytes] = [0, 0];
  /** @type {[bytes: number, q: Quantity][]} */
  const experts = [];
  // Per quantity, over all operators: FLOPs, seconds of arithmetic, bytes, bytes of state.
  const sums = c.table.quantities.map(() => [0, 0, 0, 0]);
  for (const row of c.rows) {
    for (const [q, x] of row.flops) {
      sums[q][0] += x;
      sums[q][1] += x / row.peak;
    }
    row.parts.forEach((terms, kind) => {
      for (const [q, x] of terms) {
        sums[q][2] += x;
        if (kind === 3) sums[q][3] += x;
      }
    });
    if (row.op.kind === "linear") {
      matrixSeconds += row.flops.reduce((n, [, x]) => n + x, 0) / row.peak;
      matrixBytes += row.parts[0].reduce((n, [, x]) => n + x, 0);
    }
  }
  c.table.quantities.forEach((q, i) => {
    const [f, t, moved, kept] = sums[i];
    if (q.q === "touched") {
      experts.push([moved, q]);
    } else if (q.q === "one") {
      fixed += moved;
    } else {
      const own = quantity(q, one);
      flops += f * own;
      busy += t * own;
      traffic += moved * own;
      state += kept * own;
    }
  });
  /** @type {(batch: number) => number} */
  const read = (batch) => {
    const tokens = [{ ...one[0], batch }];
    return experts.reduce((n, [bytes, q]) => n + bytes * quantity(q, tokens), fixed);
  };
  const slope = busy - traffic / bandwidth;
  /** @type {(batch: number) => number} */
  const net = (batch) => batch * slope - read(batch) / bandwidth;
  const most = c.data.rules.batch;
  const crossing = firstBatch(net, slope, most);
  return {
    limit: traffic ? flops / traffic : null,
    crossing,
    reason: crossing !== null ? null : state > traffic - state ? "state" : "kv",
    ridge: flops / (busy * bandwidth),
    linear_crossing: matrixSeconds ? matrixBytes / (matrixSeconds * bandwidth) : null,
    kv_outweighs: firstBatch((batch) => batch * traffic - read(batch), traffic, most),
  };
}

// The first whole batch at which `net` is not negative, null if never; `net` is a constant,
// less something that saturates, plus `slope` times the batch.
/** @type {(net: (batch: number) => number, slope: number, most: number) => number | null} */
function firstBatch(net, slope, most) {
  if (net(1) >= 0) return 1;
  if (slope <= 0) return null;
  let low = 1;
  let high = 2;
  while (net(high) < 0) {
    low = high;
    high *= 2;
    if (high > most) return null;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (net(middle) < 0) low = middle;
    else high = middle;
  }
  return high;
}

// What fits in memory beside the weights, sequences like the first group's. Bytes.
/** @type {(c: Case, groups: Group[]) => Fit} */
export function fit(c, groups) {
  /** @type {(kind: string, list: Group[]) => [count: number, each: number][]} */
  const of = (kind, list) => {
    const v = c.table.quantities.map((q) => quantity(q, list));
    return c.table.operators.map((op) => [op.count, sum(op.bytes[kind] ?? [], v)]);
  };
  /** @type {(list: Group[]) => number} */
  const held = (list) => of("held", list).reduce((n, [count, x]) => n + count * x, 0);
  const one = [{ ...groups[0], batch: 1 }];
  const kv = held(one);
  const workspace = of("activations", one).reduce((most, [, x]) => Math.max(most, x), 0);
  /** @type {number | null} */
  let most = null;
  if (c.memory !== null) {
    const room = c.memory * c.usable - c.table.resident - held(groups.slice(1));
    const each = kv + workspace;
    most = each ? Math.max(0, Math.floor(room / each)) : room < 0 ? 0 : c.data.rules.batch;
  }
  return { weights: c.table.resident, kv, workspace, memory: c.memory, usable: c.usable, most };
}
