// Bounds: a model's work held against a machine's roof. The same formulas as roofline/bound.py.
//
//   ridge             peak / bandwidth, peaks dense
//   intensity         Σ FLOPs / Σ compulsory bytes of the step
//   overlapped bound  max(Σ FLOPs/peak, Σ bytes/bandwidth, communication)
//   serial bound      Σ over operators of max(FLOPs/peak, bytes/bandwidth), and communication

import { wireOf } from "./devices.js";
import { bind, formatsOf, quantity } from "./work.js";

export const LARGEST_BATCH = 2 ** 40;
export const USABLE = 0.9;

// What runs a product where the machine has no unit for its format.
const WIDER = {
  fp4: ["bf16", "fp16", "fp32"],
  int4: ["bf16", "fp16", "fp32"],
  fp6: ["bf16", "fp16", "fp32"],
  fp8: ["bf16", "fp16", "fp32"],
  int8: ["bf16", "fp16", "fp32"],
  bf16: ["fp16", "fp32"],
  fp16: ["bf16", "fp32"],
  tf32: ["fp32"],
  fp32: ["tf32"],
};

export const valueOf = (figure) => (typeof figure === "object" ? figure.value : figure);

// The ceilings of a machine: {kind, bandwidth, compute}, each a figure with its kind; or null
// where it has no bandwidth or no compute ceiling at all.
export function roofOf(machine, kind = "") {
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
  const empty = (x) => Object.keys(x).length === 0;
  if (empty(first.bandwidth) && empty(first.compute)) return null;
  const bandwidth = first.bandwidth.memory ?? second.bandwidth.memory;
  const compute = { ...second.compute, ...first.compute };
  if (!bandwidth || empty(compute)) return null;
  return { kind: used, bandwidth, compute };
}

// The precision that products run in: this one or the next wider that is known, else null.
export function arithmetic(roof, precision, exactly = false) {
  for (const name of exactly ? [precision] : [precision, ...(WIDER[precision] ?? [])]) {
    if (roof.compute[name]) return name;
  }
  return null;
}

const MATRICES = ["linear", "head", "experts"];

// A model in given formats under one machine's roof; null where no roof or no ceiling is known.
// options: {weights, kv, compute, ceilings, usable, devices}, empty for the default; perfect: what
// joins the devices takes no time.
export function makeCase(model, machine, options, formats) {
  const roof = roofOf(machine, options.ceilings);
  if (!roof) return null;
  const table = bind(model, options, formats);
  if (!table) return null;
  const devices = options.devices || 1;
  const wire = devices > 1 ? wireOf(machine, devices, options.perfect) : null;
  if (devices > 1 && !wire) return null;
  const used = {};
  for (const op of table.operators) {
    if (op.flops.length === 0 || op.compute in used) continue;
    const exactly = Boolean(options.compute) && MATRICES.includes(op.kind);
    used[op.compute] = arithmetic(roof, op.compute, exactly);
    if (used[op.compute] === null) return null;
  }
  const figures = {
    memory: roof.bandwidth,
    ...Object.fromEntries(Object.values(used).map((p) => [p, roof.compute[p]])),
  };
  const borrowed = Object.keys(figures).filter((name) => figures[name].kind !== roof.kind);
  const times = (terms, count) => (terms ?? []).map(([q, c]) => [q, c * count]);
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
    formats,
    roof,
    table,
    rows,
    used,
    borrowed,
    devices,
    wire,
    ...formatsOf(model, options, formats),
    bandwidth: roof.bandwidth.value,
    memory: memory === undefined || memory === null ? null : valueOf(memory),
    usable: options.usable || USABLE,
    others: new Map(),
  };
}

// The same case with other options; null where they cannot be. Kept with the case, so that
// asking again on the next frame prices no model again.
export function using(c, changes) {
  const key = JSON.stringify(changes);
  if (!c.others.has(key)) {
    c.others.set(key, makeCase(c.model, c.machine, { ...c.options, ...changes }, c.formats));
  }
  return c.others.get(key);
}

const sum = (terms, v) => {
  let total = 0;
  for (const [q, c] of terms) total += c * v[q];
  return total;
};

const tokensOf = (groups) => groups.reduce((n, g) => n + g.batch * g.new, 0);

// A step under the roof. Seconds and bytes; shares are of the serial bound and add up to 1.
// value: of a quantity; `fewest` for what no routing of experts beats.
export function bound(c, groups, value = quantity) {
  const v = c.table.quantities.map((q) => value(q, groups));
  const b = { flops: 0, weights: 0, kv_read: 0, kv_write: 0, state: 0 };
  const by = { weights: 0, kv: 0, state: 0, compute: 0 };
  b.compute_s = 0;
  b.serial_s = 0;
  b.communication_s = 0;
  b.sent = 0;
  b.messages = 0;
  for (const row of c.rows) {
    if (row.talk) {
      const [sent, messages] = row.talk.map((terms) => sum(terms, v));
      b.communication_s += sent * c.wire.per_byte + messages * c.wire.per_message;
      b.sent += sent;
      b.messages += messages;
      continue;
    }
    const f = sum(row.flops, v);
    const [w, r, k, s] = row.parts.map((terms) => sum(terms, v));
    const busy = f / row.peak;
    const traffic = (w + r + k + s) / c.bandwidth;
    b.compute_s += busy;
    if (traffic >= busy) {
      b.serial_s += traffic;
      by.weights += w / c.bandwidth;
      by.kv += (r + k) / c.bandwidth;
      by.state += s / c.bandwidth;
    } else {
      b.serial_s += busy;
      by.compute += busy;
    }
    b.flops += f;
    b.weights += w;
    b.kv_read += r;
    b.kv_write += k;
    b.state += s;
  }
  b.kv = b.kv_read + b.kv_write;
  b.bytes = b.weights + b.kv + b.state;
  b.memory_s = b.bytes / c.bandwidth;
  b.serial_s += b.communication_s;
  b.overlapped_s = Math.max(b.compute_s, b.memory_s, b.communication_s);
  b.memory_bound = b.memory_s > b.compute_s;
  b.communication_bound = b.communication_s > Math.max(b.memory_s, b.compute_s);
  b.binds = b.communication_bound ? "communication" : b.memory_bound ? "memory" : "compute";
  b.intensity = b.flops / b.bytes;
  b.ridge = b.flops / (b.compute_s * c.bandwidth);
  b.tokens = tokensOf(groups);
  b.sequences = groups.reduce((n, g) => n + g.batch, 0);
  b.tokens_per_s = b.tokens / b.overlapped_s;
  b.attainable = b.flops / b.overlapped_s;
  b.shares = {};
  for (const part in by) b.shares[part] = by[part] / b.serial_s;
  if (c.wire) b.shares.communication = b.communication_s / b.serial_s;
  return b;
}

// Each kind of operator under the roof, in the order in which they run.
export function operators(c, groups) {
  const v = c.table.quantities.map((q) => quantity(q, groups));
  return c.rows.map((row) => {
    const { name, kind, count } = row.op;
    if (row.talk) {
      const [sent, messages] = row.talk.map((terms) => sum(terms, v));
      const seconds = sent * c.wire.per_byte + messages * c.wire.per_message;
      const nothing = { compute: "", flops: 0, bytes: 0, intensity: null };
      return {
        name,
        kind,
        count,
        ...nothing,
        seconds,
        bound: "communication",
        sent,
        messages,
        collective: row.op.collective,
      };
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
export function climb(c, groups) {
  const one = [{ ...groups[0], batch: 1 }];
  const { bandwidth } = c;
  let [flops, busy, traffic, state, fixed] = [0, 0, 0, 0, 0];
  let [matrixSeconds, matrixBytes] = [0, 0];
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
  const read = (batch) => {
    const tokens = [{ batch, new: one[0].new }];
    return experts.reduce((n, [bytes, q]) => n + bytes * quantity(q, tokens), fixed);
  };
  const slope = busy - traffic / bandwidth;
  const net = (batch) => batch * slope - read(batch) / bandwidth;
  const crossing = firstBatch(net, slope);
  return {
    limit: traffic ? flops / traffic : null,
    crossing,
    reason: crossing !== null ? null : state > traffic - state ? "state" : "kv",
    ridge: flops / (busy * bandwidth),
    linear_crossing: matrixSeconds ? matrixBytes / (matrixSeconds * bandwidth) : null,
    kv_outweighs: firstBatch((batch) => batch * traffic - read(batch), traffic),
  };
}

// The first whole batch at which `net` is not negative, null if never; `net` is a constant,
// less something that saturates, plus `slope` times the batch.
function firstBatch(net, slope) {
  if (net(1) >= 0) return 1;
  if (slope <= 0) return null;
  let low = 1;
  let high = 2;
  while (net(high) < 0) {
    low = high;
    high *= 2;
    if (high > LARGEST_BATCH) return null;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (net(middle) < 0) low = middle;
    else high = middle;
  }
  return high;
}

// What fits in memory beside the weights, sequences like the first group's. Bytes.
export function fit(c, groups) {
  const of = (kind, list) => {
    const v = c.table.quantities.map((q) => quantity(q, list));
    return c.table.operators.map((op) => [op.count, sum(op.bytes[kind] ?? [], v)]);
  };
  const held = (list) => of("held", list).reduce((n, [count, x]) => n + count * x, 0);
  const one = [{ ...groups[0], batch: 1 }];
  const kv = held(one);
  const workspace = of("activations", one).reduce((most, [, x]) => Math.max(most, x), 0);
  let most = null;
  if (c.memory !== null) {
    const room = c.memory * c.usable - c.table.resident - held(groups.slice(1));
    const each = kv + workspace;
    most = each ? Math.max(0, Math.floor(room / each)) : room < 0 ? 0 : LARGEST_BATCH;
  }
  return { weights: c.table.resident, kv, workspace, memory: c.memory, usable: c.usable, most };
}
