// @ts-check
// Sentences from codes and numbers, as roofline/answer.py and why.py say them.

import { bound, using } from "./bound.js";
import { digits, gain, numberOf, percent, seconds, si } from "./units.js";
import { heldBy } from "./verdict.js";
import { fewest, quantity, total } from "./work.js";

// The verdict's label and its numbers.
/** @type {(b: Bound, t: Words) => [name: string, because: string]} */
export function sayVerdict(b, t) {
  if (b.communication_bound) {
    const numbers = {
      time: seconds(b.communication_s),
      times: gain(b.communication_s / Math.max(b.memory_s, b.compute_s)),
      messages: digits(b.messages),
      sent: si(b.sent, "B"),
    };
    return [t("label.communication"), t("say.intensity.communication", numbers)];
  }
  const values = { intensity: digits(b.intensity), ridge: digits(b.ridge) };
  return b.memory_bound
    ? [
        t("label.memory"),
        t("say.intensity.memory", { ...values, fraction: percent(b.compute_s / b.overlapped_s) }),
      ]
    : [
        t("label.compute"),
        t("say.intensity.compute", { ...values, times: gain(b.compute_s / b.memory_s) }),
      ];
}

// That the experts read are an expectation, and what no routing beats; "" where it decides nothing.
/** @type {(c: Case, groups: Group[], b: Bound, t: Words) => string} */
export function sayRouting(c, groups, b, t) {
  const kinds = c.table.quantities
    .filter((q) => q.q === "touched")
    .map((q) => ({ ...q, expected: quantity(q, groups) }))
    .filter((q) => q.expected > q.active)
    .sort((one, other) => other.expected - one.expected || other.experts - one.experts);
  const time = kinds.length ? bound(c, groups, fewest).overlapped_s : Infinity;
  if (!(time < c.data.rules.say.routed * b.overlapped_s)) return "";
  const { experts, active, expected } = kinds[0];
  return t("say.routing", { experts, active, expected: digits(expected), time: seconds(time) });
}

// What there is no room for: the weights, one sequence beside them, or so many.
/** @type {(c: Case, groups: Group[], f: Fit, t: Words) => string} */
export function sayLacks(c, groups, f, t) {
  const room = (f.memory ?? 0) * f.usable;
  const one = groups.length === 1 ? "sequence" : "others";
  const key = f.most ? "batch" : f.weights >= room ? "weights" : one;
  const where = c.wire ? t("say.capacity.on", { devices: c.devices }) : "";
  return (
    where +
    t(`say.capacity.${key}`, {
      weights: si(f.weights, "B"),
      sequence: si(f.kv + f.workspace, "B"),
      left: si(Math.max(0, room - f.weights), "B"),
      room: si(room, "B"),
      usable: percent(f.usable),
      memory: si(f.memory ?? 0, "B"),
      batch: groups[0].batch,
      max: f.most,
    })
  );
}

// How many devices would hold it by tensor parallelism, which is what the page shows.
/** @type {(c: Case, groups: Group[], t: Words) => string} */
export function sayHeld(c, groups, t) {
  const machine = c.machine.name;
  const found = heldBy(c, groups);
  if (!found) return t("held.none", { most: c.data.rules.devices, machine });
  const { devices, batch, speed, joined } = found;
  const values = {
    devices,
    machine,
    options: `--tp ${devices}`,
    batch: digits10k(batch ?? 0),
    speed: digits(speed),
  };
  const said = t(devices === 1 ? "say.held.one" : "say.held", values);
  if (joined) return said;
  const joins = Math.max(
    1,
    ...(c.machine.links ?? []).filter((x) => x.scope !== "host").map((x) => x.devices),
  );
  return [said, t(joins > 1 ? "say.held.unjoined" : "say.held.unlinked", { machine, joins })].join(
    t.sides,
  );
}

/** @type {(n: number) => string | number} */
const digits10k = (n) => (n >= 10_000 ? digits(n) : n);

/** @type {(b: Bound, phase: Phase, t: Words) => string} */
export function saySpeed(b, phase, t) {
  const own = ["decode", "prefill", "verify"].includes(phase);
  const prompts = phase === "prefill" && b.sequences > 1 ? "s" : "";
  return t(`say.speed.${own ? phase : "step"}${prompts}`, {
    speed: digits(b.tokens_per_s),
    time: seconds(b.overlapped_s),
    least: digits(b.sequences / b.overlapped_s),
  });
}

// A prediction as sentences: speed, time, the part of the bound that it reaches, whose it is, how
// alike the case is to what was measured. Where there is none, why.
/** @type {(p: Predicted, t: Words) => string[]} */
export function sayPredicted(p, t) {
  if (p.value === undefined) return [p.error ?? t(`predicted.none.${p.none}`)];
  const { tokens, overlapped_s: least } = p.of;
  const speeds = {
    speed: digits(tokens / p.value),
    low: digits(tokens / p.high),
    high: digits(tokens / p.low),
  };
  const strange = p.strangers.map((name) => t(`predict.strange.${name}`)).join(t.list);
  const like = !p.rows
    ? t("predict.like.none", { profile: p.engine.id })
    : strange
      ? t("predict.like.strange", { rows: p.rows, strange, widen: gain(p.widen) })
      : t("predict.like.seen", { rows: p.rows });
  return [
    t("predict.speed", speeds),
    t("predict.time", { time: seconds(p.value), low: seconds(p.low), high: seconds(p.high) }),
    t("predict.roof", { time: seconds(least), share: percent(least / p.value) }),
    t("predicted.by", {
      engine: p.engine.title,
      versions: p.engine.versions ? ` ${p.engine.versions}` : "",
    }),
    like,
  ];
}

/** @type {(b: Bound, least: number, t: Words) => string} */
function sayShares(b, least, t) {
  return Object.entries(b.shares)
    .filter(([, share]) => share >= least)
    .sort((one, other) => other[1] - one[1])
    .map(([name, share]) => t("say.share", { part: t(`part.${name}`), share: percent(share) }))
    .join(t.list);
}

// The shares as a sentence; of the serial bound with its own time where that is another one.
/** @type {(b: Bound, rules: Rules, t: Words) => string} */
export function sayTimes(b, rules, t) {
  const shares = sayShares(b, rules.say.share, t);
  if (b.serial_s <= rules.say.apart * b.overlapped_s) return t("say.shares", { shares });
  const [speed, time] = [digits(b.tokens / b.serial_s), seconds(b.serial_s)];
  return t(`say.shares.serial${b.shares.communication === undefined ? "" : ".parallel"}`, {
    speed,
    time,
    shares,
  });
}

// What a growing batch does.
/** @type {(c: Case, groups: Group[], climbed: Climb, t: Words) => string} */
export function sayClimb(c, groups, climbed, t) {
  const limit = climbed.limit === null ? "" : digits(climbed.limit);
  if (climbed.limit !== null && groups.length > 1) {
    const alike = groups.every((g) => g.new === groups[0].new);
    return t(alike ? "say.climb.ragged" : "say.climb.mixed", { limit });
  }
  if (climbed.crossing === null) {
    const one = bound(c, [{ ...groups[0], batch: 1 }]);
    const own = one.kv + one.state;
    return t(`say.climb.never.${climbed.reason}${c.wire ? ".each" : ""}`, {
      limit,
      own: si(own, "B"),
      flops: si(one.flops, "FLOP"),
    });
  }
  if (climbed.crossing === 1) return t("say.climb.already", { limit });
  const { crossing } = climbed;
  if (climbed.limit === null) return t("say.climb.crosses.unbounded", { crossing });
  return t("say.climb.crosses", { crossing, limit });
}

// What fits.
/** @type {(phase: Phase, climbed: Climb, f: Fit, machine: string, t: Words) => string} */
export function sayRoom(phase, climbed, f, machine, t) {
  /** @type {string[]} */
  const parts = [];
  if (climbed.kv_outweighs !== null && climbed.kv_outweighs > 1 && phase === "decode") {
    parts.push(t("say.climb.outweighs", { batch: climbed.kv_outweighs }));
  }
  if (f.most === null) {
    parts.push(t("say.climb.unknown", { machine }));
  } else if (f.most) {
    const before = climbed.crossing !== null && f.most < climbed.crossing;
    const alone = before ? "say.climb.full.before" : "say.climb.full";
    parts.push(t(phase === "mixed" ? "say.climb.full.beside" : alone, { batch: f.most }));
  }
  return parts.join(t.sides);
}

/** @type {(lever: Lever, machine: string, rules: Rules, t: Words) => string} */
export function sayLever(lever, machine, rules, t) {
  const values = { ...lever.values, machine, gain: gain(lever.gain) };
  if (values.to) values.to = String(values.to).split(":")[0];
  if (values.tokens_per_s)
    return t(`lever.${lever.code}.fits`, { ...values, speed: digits(values.tokens_per_s) });
  const said = t(`lever.${lever.code}${(values.devices ?? 0) > 2 ? ".more" : ""}`, values);
  const serial = values.serial_gain ?? lever.gain;
  return serial < lever.gain / rules.say.waited
    ? said + t("lever.waited", { gain: gain(serial) })
    : said;
}

// Several devices: what each does and sends, over what, and how often the cache is held.
/** @type {(main: Asked, t: Words) => string[]} */
export function sayDevices({ c, groups, b }, t) {
  const found = [
    t("say.parallel.each", {
      devices: c.devices,
      weights: si(b.weights, "B"),
      kv: si(b.kv + b.state, "B"),
      flops: si(b.flops, "FLOP"),
    }),
    t("say.parallel.talk", {
      sent: si(b.sent, "B"),
      messages: digits(b.messages),
      time: seconds(b.communication_s),
    }),
  ];
  if (c.wire) found.push(sayWire(c.wire, t));
  const one = [{ ...groups[0], batch: 1 }];
  const single = using(c, { devices: 1 });
  const alone = single ? total(single.table, "held", one) : 0;
  const copies = alone ? (c.devices * total(c.table, "held", one)) / alone : 1;
  if (copies > c.data.rules.say.copies)
    found.push(t("say.parallel.copies", { tp: c.devices, copies: digits(copies) }));
  return found;
}

/** @type {(wire: Wire, t: Words) => string} */
function sayWire({ group, shares, latency }, t) {
  const least = latency
    ? t("say.parallel.latency", { latency: seconds(numberOf(latency)) })
    : t("say.parallel.latency.unknown");
  const [first] = shares;
  /** @type {(share: LinkShare) => Values} */
  const of = ({ link, carries, bandwidth }) => ({
    link: link.name,
    carries: percent(carries),
    bandwidth: si(bandwidth, "B/s"),
  });
  if (shares.length === 1) {
    return t("say.parallel.wire", { devices: group, ...of(first), latency: least });
  }
  return t("say.parallel.beyond", {
    devices: group,
    first: first.link.name,
    joined: first.domain,
    parts: shares.map((share) => t("say.parallel.share", of(share))).join(t.clauses),
    latency: least,
  });
}

// The link that a group's bytes take longest over.
/** @type {(wire: Wire) => LinkShare} */
export const slowest = ({ levels }) =>
  levels.reduce((most, level) => (level.per_byte > most.per_byte ? level : most)).shares[0];

// What leaves the domains of each level, where there are several.
/** @type {(wire: Wire, op: Operated, t: Words) => string[]} */
const sayLevels = ({ levels }, { name, sent = 0 }, t) =>
  (levels.length === 1 ? [] : levels).map(({ inner, shares, crosses, bandwidth, per_byte }) =>
    t(inner === 1 ? "why.level.device" : "why.level", {
      name,
      bytes: si(sent * crosses, "B", 4),
      domain: inner,
      links: shares.map(({ link }) => link.name).join(" + "),
      bandwidth: si(bandwidth, "B/s"),
      time: seconds(sent * per_byte),
    }),
  );

// The formula behind each exchange, and the source of each link.
/** @type {(main: Asked, wire: Wire, sources: Sources, t: Words) => string[]} */
function whyDevices({ c, b, operators }, wire, sources, t) {
  const found = [
    t("why.communication", {
      sent: si(b.sent, "B", 5),
      messages: digits(b.messages),
      time: seconds(b.communication_s),
    }),
  ];
  for (const op of operators.filter((one) => one.collective)) {
    found.push(
      t("why.exchange", {
        name: op.name,
        count: op.count,
        formula: t(`why.collective.${op.collective}`),
        devices: c.devices,
        sent: si(op.sent ?? 0, "B", 4),
        link: slowest(wire).link.name,
        time: seconds(op.seconds),
      }),
      ...sayLevels(wire, op, t),
    );
  }
  for (const { link } of wire.shares) {
    found.push(saySource(link.bandwidth, "why.link", "B/s", sources, t, { link: link.name }));
  }
  const { latency } = wire;
  if (!latency) return [...found, t("why.latency.unknown")];
  return [
    ...found,
    saySource(latency, "why.latency", "s", sources, t, { value: seconds(numberOf(latency)) }),
  ];
}

// The formula behind each number with this model's numbers in it, under the number's name.
/** @type {(main: Asked, t: Words, sources?: Sources) => Record<string, string[]>} */
export function sayWhy(main, t, sources = {}) {
  const { c, b, climbed, f } = main;
  const several = c.wire ? ".parallel" : "";
  const limit = climbed.limit === null ? "∞" : digits(climbed.limit);
  const kv = si(f.kv, "B", 5);
  const { bandwidth } = c;
  /** @type {Record<string, string[]>} */
  const why = {
    ridge: [
      t("why.ridge", {
        peak: si(b.ridge * bandwidth, "FLOP/s"),
        bandwidth: si(bandwidth, "B/s"),
        ridge: digits(b.ridge, 4),
      }),
    ],
    intensity: [
      t("why.flops", { flops: si(b.flops, "FLOP", 5) }),
      t("why.bytes", {
        weights: si(b.weights, "B", 5),
        kv_read: si(b.kv_read, "B", 5),
        kv_write: si(b.kv_write, "B", 5),
        state: si(b.state, "B", 5),
        total: si(b.bytes, "B", 5),
      }),
      t("why.intensity", { intensity: digits(b.intensity, 5) }),
    ],
    speed: [
      t(`why.overlapped${several}`, {
        compute: seconds(b.compute_s),
        memory: seconds(b.memory_s),
        communication: seconds(b.communication_s),
        time: seconds(b.overlapped_s),
      }),
      t(`why.serial${several}`, { time: seconds(b.serial_s) }),
    ],
    climb: [
      t("why.limit", { limit }),
      t("why.crossing", {
        limit,
        ridge: digits(climbed.ridge),
        crossing: climbed.crossing ?? t("why.crossing.none"),
      }),
    ],
    fit: [t(`why.kv${several}`, { kv })],
  };
  if (climbed.linear_crossing !== null) {
    why.climb.push(t("why.linear", { tokens: digits(climbed.linear_crossing) }));
  }
  if (f.most !== null) {
    why.fit.push(
      t(`why.fit${several}`, {
        replicas: 1,
        memory: si(f.memory ?? 0, "B", 4),
        usable: percent(f.usable),
        weights: si(f.weights, "B", 4),
        kv,
        workspace: si(f.workspace, "B"),
        batch: f.most,
      }),
    );
  }
  if (c.wire) why.devices = whyDevices(main, c.wire, sources, t);
  return why;
}

// Where a machine's figure comes from. `key` is why.peak, why.bandwidth or why.memory.
/** @type {(figure: Figure, key: string, unit: string, sources: Sources, t: Words,
 *   values?: Values) => string} */
export function saySource(figure, key, unit, sources, t, values = {}) {
  const source = sources[figure.source ?? ""] ?? { title: figure.source || "?" };
  const notes = figure.note ? [t.note(figure.note)] : [];
  if (figure.accumulate) notes.push(t("machine.accumulate", { what: figure.accumulate }));
  const date = figure.date || source.date;
  return t(key, {
    value: si(numberOf(figure), unit),
    kind: t(`ceilings.${figure.kind ?? "datasheet"}`),
    source: source.title,
    date: date ? t("why.date", { date }) : "",
    note: notes.length ? t("why.note", { notes: notes.join(t.sides) }) : "",
    ...values,
  });
}
