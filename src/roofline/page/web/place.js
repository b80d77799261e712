// @ts-check
// Labels that never overlap: each is tried around its point, nearest first, and takes the place
// that touches no other text and crosses the fewest lines. One without a place is left out
// (its words are in the table), so the order of the labels is their importance.

/** @type {Record<Direction, [dx: number, dy: number]>} */
const AROUND = {
  e: [1, 0],
  ne: [1, -1],
  n: [0, -1],
  nw: [-1, -1],
  w: [-1, 0],
  sw: [-1, 1],
  s: [0, 1],
  se: [1, 1],
};
const STEPS = [0, 12, 26, 44];

/** @type {(a: Box, b: Box) => boolean} */
const overlap = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

// Whether a line from [x0, y0] to [x1, y1] passes through a box (Liang and Barsky).
/** @type {(line: Segment | Crossed, box: Box) => boolean} */
function crosses([ax, ay, bx, by], box) {
  let [from, to] = [0, 1];
  for (const [p, q0, q1] of [
    [bx - ax, box.x0 - ax, box.x1 - ax],
    [by - ay, box.y0 - ay, box.y1 - ay],
  ]) {
    if (p === 0) {
      if (q0 > 0 || q1 < 0) return false;
    } else {
      const [near, far] = p > 0 ? [q0 / p, q1 / p] : [q1 / p, q0 / p];
      from = Math.max(from, near);
      to = Math.min(to, far);
      if (from > to) return false;
    }
  }
  return true;
}

// labels: [{key, spots: [[x, y, dirs], …], gap, reach, texts: [{text, width}], height}], important
// ones first; reach: how many distances are tried. area: {x0, y0, x1, y1} to stay in. boxes: places taken. lines: [[x0, y0, x1, y1, weight]].
// → [{label, text, leader, x0, y0, x1, y1}], one per label that found a place; where that is far
// from its point, the leader is a line to it, [x0, y0, x1, y1], that passes no text.
/** @type {(labels: Label[], area: Box, boxes: Box[], around: Crossed[]) => PlacedLabel[]} */
export function place(labels, area, boxes, around) {
  const taken = [...boxes];
  /** @type {Box[]} */
  const texts = [];
  const lines = [...around];
  /** @type {PlacedLabel[]} */
  const placed = [];
  for (const label of labels) {
    /** @type {{ cost: number, box: Box, text: string, leader: Segment | null } | null} */
    let best = null;
    for (const [shorter, option] of label.texts.entries()) {
      if (best && best.cost < 30) break;
      for (const [k, [x, y, dirs]] of label.spots.entries()) {
        for (const [i, more] of STEPS.slice(0, label.reach ?? 4).entries()) {
          for (const [j, name] of dirs.entries()) {
            const cost = 40 * shorter + 10 * i + 3 * k + j;
            if (best && cost >= best.cost) continue;
            const box = boxAt(
              x,
              y,
              label.height,
              option.width,
              AROUND[name],
              label.gap + more,
              area,
            );
            const inside =
              box.x0 >= area.x0 && box.x1 <= area.x1 && box.y0 >= area.y0 && box.y1 <= area.y1;
            if (!inside || taken.some((other) => overlap(box, other))) continue;
            const leader = i > 1 ? leaderTo(x, y, box) : null;
            if (leader && texts.some((other) => crosses(leader, other))) continue;
            const total = lines.reduce((n, line) => n + (crosses(line, box) ? line[4] : 0), cost);
            if (!best || total < best.cost) best = { cost: total, box, text: option.text, leader };
          }
        }
      }
    }
    if (best) {
      const { box, text, leader } = best;
      taken.push(box);
      texts.push(box);
      if (leader) lines.push([...leader, 60]);
      placed.push({ label, text, leader, ...box });
    }
  }
  return placed;
}

/** @type {(x: number, y: number, box: Box) => Segment} */
function leaderTo(x, y, box) {
  const to = y < box.y0 ? box.y0 : y > box.y1 ? box.y1 : (box.y0 + box.y1) / 2;
  return [x, y, Math.min(Math.max(x, box.x0), box.x1), to];
}

// Above or below its point a label is in the middle, or as near to it as the area lets it.
/** @type {(x: number, y: number, height: number, width: number, to: [dx: number, dy: number],
 *   gap: number, area: Box) => Box} */
function boxAt(x, y, height, width, [dx, dy], gap, area) {
  const reach = dx && dy ? gap * 0.75 : gap;
  const slack = Math.max(0, width / 2 - 8);
  const over = Math.max(0, x + width / 2 - area.x1) - Math.max(0, area.x0 - x + width / 2);
  const middle = x - width / 2 - Math.min(Math.max(over, -slack), slack);
  const x0 = dx === 0 ? middle : dx > 0 ? x + reach : x - reach - width;
  const y0 = dy === 0 ? y - height / 2 : dy > 0 ? y + reach : y - reach - height;
  return { x0, y0, x1: x0 + width, y1: y0 + height };
}
