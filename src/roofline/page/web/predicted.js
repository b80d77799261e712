// @ts-check
// How fast it will be: predictions that the core made. A file carries them for the views that it
// was written for, at the stops of the sliders; a served page asks. Nothing is put in between.

import { bound, using } from "./bound.js";

const WAIT = 120; // ms: a slider that is being dragged asks nothing
const MOST_KEPT = 500;

// → {engines, of(c, state, groups)}; refresh() is called when an answer has come.
/** @type {(data: PageData, refresh: () => void) => Predictor} */
export function makePredictions(data, refresh) {
  const engines = data.engines ?? [
    ...new Map((data.predicted ?? []).map(({ engine }) => [engine.id, engine])).values(),
  ];
  /** @type {Map<string, Answer>} */
  const answers = new Map();
  let [wanted, timer] = [new Map(), 0];

  // An interval ends at the bound, which nothing beats.
  /** @type {(seconds: Interval, least: number, more: Omit<Forecast, keyof Interval>) =>
   *   Forecast} */
  function made(seconds, least, more) {
    const value = Math.max(seconds.value, least);
    const low = Math.min(value, Math.max(seconds.low, least));
    return { ...more, value, low, high: Math.max(value, seconds.high), level: seconds.level };
  }

  /** @type {(c: Case, state: State, least: number) => Forecast | NoForecast} */
  function inFile(c, state, least) {
    const { weights, kv, compute } = state;
    /** @type {(p: Predictions) => boolean} */
    const fits = (p) =>
      p.model === c.model.id && p.machine === c.machine.id && p.engine.id === state.engine;
    /** @type {(p: Predictions) => boolean} */
    const same = (p) =>
      p.devices === c.devices && p.weights === weights && p.kv === kv && p.compute === compute;
    const p = (data.predicted ?? []).find((one) => fits(one) && same(one));
    if (!p) return { none: "view" };
    const table = state.phase === "decode" || state.phase === "prefill" ? p[state.phase] : null;
    if (!table) return { none: "phase" };
    const i = p.batch.indexOf(state.batch);
    const j = table.tokens.indexOf(state.phase === "prefill" ? state.prompt : state.context);
    if (i < 0 || j < 0) return { none: "stops" };
    const [low, high, widen, ...strangers] = p.like[i];
    const value = table.seconds[i][j];
    const seconds = { value, low: low * value, high: high * value, level: p.level };
    return made(seconds, least, { engine: p.engine, rows: p.rows, strangers, widen });
  }

  /** @type {(c: Case, state: State, least: number) => Forecast | NoForecast} */
  function asked(c, state, least) {
    if (!data.known?.includes(c.machine.id)) return { none: "machine" };
    const { engine, phase, batch, context, prompt, drafted, weights, kv, compute } = state;
    const numbers = { batch, context, prompt, drafted, devices: c.devices };
    const question = {
      model: c.model.id,
      machine: c.machine.id,
      engine,
      phase,
      weights,
      kv,
      compute,
      ...numbers,
    };
    const key = JSON.stringify(question);
    const answer = answers.get(key);
    if (answer) return answer.error ? { error: answer.error } : made(answer.seconds, least, answer);
    wanted.set(key, question);
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT);
    return { none: "wait" };
  }

  async function ask() {
    const questions = wanted;
    wanted = new Map();
    if (answers.size > MOST_KEPT) answers.clear();
    for (const key of questions.keys()) {
      try {
        const request = {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: key,
        };
        answers.set(key, await (await fetch("api/predict", request)).json());
      } catch {
        return; // the server is gone; the next move asks again
      }
    }
    refresh();
  }

  return {
    engines,
    // A new view: what was wanted before is not wanted any more.
    begin: () => wanted.clear(),
    of(c, state, groups) {
      if (!state.engine || !engines.length) return null;
      // Predictions start from the datasheet, whatever ceilings are shown.
      const plain = c.options.ceilings ? (using(c, { ceilings: "" }) ?? c) : c;
      const least = bound(plain, groups).overlapped_s;
      return data.engines ? asked(c, state, least) : inFile(c, state, least);
    },
  };
}
