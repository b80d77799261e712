// @ts-check
// Several devices: how many a model divides over, what joins them, and how long they take to
// tell each other something. The same formulas as roofline/machine/links.py, for what tensor
// parallelism needs: sums and gathers.

import { count, numberOf } from "./units.js";

// The tables of so many devices, and their place in them; null where the model does not divide so.
/** @type {(model: Model, n: number) => { tables: Tables, at: number } | null} */
export function tablesFor(model, n) {
  for (const tables of [model.tables, ...(model.others ?? [])]) {
    const at = (tables.devices ?? [1]).indexOf(n);
    if (at >= 0) return { tables, at };
  }
  return null;
}

// The links that a group uses, fastest first, each with how many devices it and faster ones
// join; null where none joins so many.
/** @type {(machine: Machine, group: number) => [link: Link, domain: number][] | null} */
function reachedBy(machine, group) {
  const links = (machine.links ?? [])
    .filter((link) => link.scope !== "host")
    .sort((one, other) => numberOf(other.bandwidth) - numberOf(one.bandwidth));
  /** @type {[link: Link, domain: number][]} */
  const found = [];
  let [reached, joined] = [1, 1];
  for (const link of links) {
    if (link.devices <= joined) continue;
    /** @type {(machine: Machine, n: number) => boolean} */
    joined = link.devices;
    let domain = reached;
    for (let d = reached; d <= Math.min(group, joined); d += 1) {
      if (group % d === 0 && d % reached === 0) domain = d;
    }
    if (domain > reached) found.push([link, domain]);
    reached = domain;
    if (reached === group) return found;
  }
  return null;
}

/** @type {(machine: Machine) => boolean} */
export const joins = (machine) => (machine.links ?? []).some((link) => link.scope !== "host");

// What a sum or gather over `group` devices costs: {shares, levels, latency, per_byte, per_message}, or
// null where no known link joins them. perfect: over a link that takes no time.
/** @type {(machine: Machine, group: number, perfect?: boolean) => Wire | null} */
export function wireOf(machine, group, perfect = false) {
  if (perfect) return { group, shares: [], levels: [], latency: null, per_byte: 0, per_message: 0 };
  const reached = reachedBy(machine, group);
  if (!reached) return null;
  let inner = 1;
  const shares = reached.map(([link, domain]) => {
    const before = inner;
    const carries = (1 / before - 1 / domain) / (1 - 1 / group);
    inner = domain;
    const part = link.topology === "mesh" ? Math.min(1, (domain - 1) / (link.devices - 1)) : 1;
    return { link, inner: before, domain, carries, bandwidth: numberOf(link.bandwidth) * part };
  });
  // What leaves a domain goes over the link that leads out of it or a slower one.
  const levels = shares.map((first, i) => {
    const out = shares.slice(i);
    const crosses = out.reduce((n, s) => n + s.carries, 0);
    const bandwidth = out.reduce((n, s) => n + s.bandwidth, 0);
    return { inner: first.inner, shares: out, crosses, bandwidth, per_byte: crosses / bandwidth };
  });
  const known = shares.flatMap(({ link }) => link.latency ?? []);
  const longest = known.length === shares.length ? known : [];
  const latency = longest.length
    ? longest.reduce((most, f) => (numberOf(f) > numberOf(most) ? f : most))
    : null;
  return {
    group,
    shares,
    latency,
    levels,
    per_byte: Math.max(...levels.map((level) => level.per_byte)),
    per_message: latency ? numberOf(latency) : 0,
  };
}

/** @type {(most: number, possible: (n: number) => unknown) => number[]} */
const counts = (most, possible) => {
  const found = [];
  for (let n = 1; n <= most; n *= 2) if (possible(n)) found.push(n);
  return found;
};

/** @type {(machine: Machine, n: number) => boolean} */
const joined = (machine, n) => n === 1 || wireOf(machine, n) !== null;

// The numbers of devices that a model can be divided over on a machine.
/** @type {(model: Model, machine: Machine, most: number) => number[]} */
export const devicesOf = (model, machine, most) =>
  counts(most, (n) => tablesFor(model, n) && joined(machine, n));

// Why it cannot be `n` of them, in words; `used` is what is shown instead.
/** @type {(model: Model, machine: Machine, n: number, used: number, rules: Rules,
 *   t: Words) => string} */
export function sayRefused(model, machine, n, used, rules, t) {
  if (!Number.isInteger(Math.log2(n))) return t("note.devices.power", { n, used });
  if (!tablesFor(model, n)) {
    const may = counts(rules.devices, (k) => tablesFor(model, k)).join(t.list);
    return t("note.devices.model", { model: model.name, n, may, used });
  }
  if (!joins(machine)) return t("note.devices.none", { machine: machine.name, n });
  const listed = (machine.links ?? [])
    .filter((link) => link.scope !== "host")
    .map((link) => t("note.devices.joins", { link: link.name, devices: count(link.devices) }));
  return t("note.devices.link", { machine: machine.name, n, joins: listed.join(t.list), used });
}
