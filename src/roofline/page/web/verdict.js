// @ts-check
// The verdict: which ceiling a step hits, and what would change it, as codes and numbers.
// The same rules as roofline/verdict.py. A lever's gain is found by asking the model again
// with the change made, so it is the most that the change can give.

import { bound, fit, using } from "./bound.js";
import { joins } from "./devices.js";

// Whether so many sequences fit; where memory is unknown nothing says that they do not.
/** @type {(f: Fit, batch: number) => boolean} */
export const holds = (f, batch) => f.most === null || batch <= f.most;

// The larger part of the ceiling that binds, or no room.
/** @type {(b: Bound, f: Fit, batch: number) => Verdict} */
export function judge(b, f, batch) {
  let code = "compute";
  if (!holds(f, batch)) {
    code = "capacity";
  } else if (b.communication_bound) {
    code = "communication";
  } else if (b.memory_bound) {
    /** @type {[code: string, bytes: number][]} */
    const parts = [
      ["memory:weights", b.weights],
      ["memory:kv", b.kv],
      ["memory:state", b.state],
    ];
    code = parts.reduce((most, part) => (part[1] > most[1] ? part : most))[0];
  }
  return { code, memory_bound: b.memory_bound, shares: b.shares };
}

// Like with like: where only one of two cases has to borrow a ceiling of the other kind, both are
// held against that kind throughout; null where that cannot be.
/** @type {(before: Case, after: Case, groups: Group[], b: Bound) => number | null} */
function gainOf(before, after, groups, b) {
  const same =
    before.borrowed.length === after.borrowed.length &&
    before.borrowed.every((x) => after.borrowed.includes(x));
  if (same) return b.overlapped_s / bound(after, groups).overlapped_s;
  const ceilings = before.roof.kind === "datasheet" ? "measured" : "datasheet";
  const [x, y] = [before, after].map((one) => using(one, { ceilings }));
  if (!x || !y || x.borrowed.length || y.borrowed.length) return null;
  return bound(x, groups).overlapped_s / bound(y, groups).overlapped_s;
}

// The first doubling of tensor parallelism alone that would hold a step: {devices, batch, speed,
// joined}, null where none does. Over a link that takes no time where no known one joins so many.
/** @type {(c: Case, groups: Group[]) => { devices: number, batch: number | null, speed: number,
 *   joined: boolean } | null} */
export function heldBy(c, groups) {
  for (const perfect of [false, true]) {
    for (let devices = 1; devices <= c.data.rules.devices; devices *= 2) {
      const other = using(c, { devices, perfect });
      const f = other && fit(other, groups);
      if (f && holds(f, groups[0].batch)) {
        const { tokens_per_s: speed, messages } = bound(other, groups);
        return { devices, batch: f.most, speed, joined: !perfect || !messages };
      }
    }
  }
  return null;
}

// Changes worth making, most gain first; those that give under 1 % are left out. Of a step that
// does not fit only the formats that make it fit.
/** @type {(c: Case, phase: Phase, groups: Group[], b: Bound, f: Fit) => Lever[]} */
export function levers(c, phase, groups, b, f) {
  /** @type {Lever[]} */
  const found = [];
  const [first] = groups;
  const lacking = !holds(f, first.batch);
  /** @type {(code: string, values: LeverValues, changes: Options) => void} */
  const ask = (code, values, changes) => {
    const other = using(c, changes);
    const times = other && gainOf(c, other, groups, b);
    if (!times || (lacking && !holds(fit(other, groups), first.batch))) return;
    const speed = lacking ? { tokens_per_s: bound(other, groups).tokens_per_s } : {};
    found.push({ code, gain: times, values: { ...values, ...speed } });
  };
  const { options, model } = c;
  const { formats, rules } = c.data;
  const tried = rules.levers;
  const kept = options.kv || c.cache.name;
  const matrix = c.chosen?.size ?? model.matrix;
  for (const to of tried.weights) {
    if ((b.memory_bound || lacking) && formats[to].size < matrix - tried.smaller)
      ask("weights", { to }, { weights: to, kv: kept });
  }
  for (const to of tried.kv) {
    if (formats[to].size < c.cache.size - tried.smaller) ask("kv", { to }, { kv: to });
  }
  const precisions = Object.values(c.used);
  const narrow = tried.narrow.some((precision) => precisions.includes(precision));
  if (!b.memory_bound && !lacking && c.roof.compute[tried.compute] && !options.compute && !narrow) {
    ask("compute", { to: tried.compute }, { weights: tried.compute, kv: kept });
  }
  if (lacking) return found.sort((x, y) => y.gain - x.gain);
  if (phase !== "mixed" && f.most && f.most > first.batch) {
    const after = bound(c, [{ ...first, batch: f.most }]);
    const values = { batch: f.most, step_s: after.overlapped_s };
    found.push({ code: "batch", gain: after.tokens_per_s / b.tokens_per_s, values });
  }
  if (phase === "decode") {
    const { drafted } = tried; // all accepted, the draft itself free: the most it can give
    const verify = [{ ...first, new: drafted + 1, all: true }];
    const gain = ((drafted + 1) * b.overlapped_s) / bound(c, verify).overlapped_s;
    if (holds(fit(c, verify), first.batch))
      found.push({ code: "speculate", gain, values: { drafted } });
  }
  // Twice as many, over their link; where none is known, at most what a perfect one gives.
  const devices = 2 * c.devices;
  const more = joins(c.machine) ? { devices } : { devices, perfect: true };
  const serial = using(c, more);
  if (serial)
    ask(
      "devices",
      { devices, tp: devices, serial_gain: b.serial_s / bound(serial, groups).serial_s },
      more,
    );
  return found.filter((x) => x.gain >= tried.least).sort((x, y) => y.gain - x.gain);
}
