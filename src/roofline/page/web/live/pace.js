// @ts-check
// How fast tokens come, from the moments at which they came.

// marks: one list a conversation, [[seconds, tokens made so far], …]. While all write together:
// {rate: tokens/s of all, steps, seconds, past: tokens made before, on average}, or null.
/** @type {(marks: Moment[][]) => { rate: number, steps: number, seconds: number,
 *   past: number } | null} */
export function pace(marks) {
  if (marks.length === 0 || marks.some((list) => list.length < 2)) return null;
  const from = Math.max(...marks.map((list) => list[0][0]));
  const until = Math.min(...marks.map((list) => list[list.length - 1][0]));
  if (!(until > from)) return null;
  // Tokens made at a moment, between two marks in proportion.
  /** @type {(list: Moment[], moment: number) => number} */
  const at = (list, moment) => {
    const next = list.findIndex(([time]) => time >= moment);
    if (next <= 0) return list[Math.max(0, next)][1];
    const [[t0, n0], [t1, n1]] = [list[next - 1], list[next]];
    return t1 > t0 ? n0 + ((moment - t0) / (t1 - t0)) * (n1 - n0) : n1;
  };
  const made = marks.map((list) => at(list, until) - at(list, from));
  const tokens = made.reduce((a, b) => a + b, 0);
  const past = marks.reduce((n, list) => n + at(list, from), 0) / marks.length;
  return {
    rate: tokens / (until - from),
    steps: tokens / marks.length,
    seconds: until - from,
    past,
  };
}
