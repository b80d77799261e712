"""The page says what the terminal says: the same sentences from the same numbers."""

from __future__ import annotations

import random
from itertools import product

import pytest

from page.cases import WHOLE, catalogue_data, groups_json, load_once, random_step
from roofline.bound.case import Case
from roofline.bound.explanation import explain_case
from roofline.bound.hold import doubled
from roofline.count.step import Step
from roofline.errors import InputError
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.page.bundle import bundle
from roofline.page.data import KV, WEIGHTS, page_data
from roofline.page.words import note_words, page_words
from roofline.parallel import Parallel
from roofline.say import answer, capacity, why
from roofline.units import count, digits, gain, percent, seconds, si
from roofline.words import Words

READ = """
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
"""

SPEAK = """
const of = (list) => Object.fromEntries(list.map((x) => [x.id, x]));
const [models, machines] = [of(given.data.models), of(given.data.machines)];
const t = makeWords(given.words, given.language);
const speak = ({ model, machine, options, phase, groups }) => {
  const c = makeCase(models[model], machines[machine], options, given.data);
  const [b, climbed, f] = [bound(c, groups), climb(c, groups), fit(c, groups)];
  const verdict = judge(b, f, groups[0].batch);
  const full = verdict.code === "capacity";
  const lines = full ? [sayLacks(c, groups, f, t)] : [];
  lines.push(sayVerdict(b, t).join("|"));
  lines.push(`${saySpeed(b, phase, t)} · ${sayTimes(b, given.data.rules, t)}`);
  const routing = sayRouting(c, groups, b, t);
  if (routing) lines.push(routing);
  if (c.wire) lines.push(...sayDevices({ c, groups, b }, t));
  const room = sayRoom(phase, climbed, f, c.machine.name, t);
  lines.push(sayClimb(c, groups, climbed, t), ...(room ? [room] : []));
  const { rules } = given.data;
  const all = levers(c, phase, groups, b, f);
  const said = all.map((x) => sayLever(x, c.machine.name, rules, t));
  lines.push(said.join(t.clauses) || t(full ? "lever.none.fits" : "lever.none"));
  const main = { c, groups, b, climbed, f, operators: operators(c, groups) };
  const why = sayWhy(main, t, given.data.sources);
  return [lines, Object.values(why).flat()];
};
console.log(JSON.stringify(given.asked.map(speak)));
"""


@WHOLE
@pytest.mark.parametrize("language", ["en", "zh"])
def test_sentences_are_those_of_the_terminal(node, language, whole, monkeypatch):
    # what holds a step is said below, and slow to find
    monkeypatch.setattr("roofline.bound.hold.held_by", lambda case, step: ())
    rng = random.Random(language)
    data, words = catalogue_data(whole), Words(language)
    asked, expected = [], []
    while len(asked) < (500 if whole else 120):
        m, k = rng.choice(data["models"])["id"], rng.choice(data["machines"])["id"]
        weights, kv = rng.choice([None, *WEIGHTS]), rng.choice([None, *KV])
        devices = rng.choice([1, 1, 2, 4, 8, 16, 32])
        try:
            parallel = Parallel(tp=devices) if devices > 1 else None
            case = Case(load_once(m), load_machine(k), weights=weights, kv=kv, parallel=parallel)
        except InputError:
            continue  # it does not divide so, or no link joins so many
        for _ in range(5):
            step = random_step(rng)
            e = explain_case(case, step)
            lacks = [sentence for _, sentence in capacity.lines(case, step, e.fit, words)]
            (label, because), *rest = answer.lines(e, words)[len(lacks) :]
            said = [*lacks[:1], f"{label}|{because}", *(sentence for _, sentence in rest)]
            expected.append((said, why.rows(e, words)))
            options = {"weights": weights or "", "kv": kv or "", "devices": devices}
            asked.append(
                {
                    "model": m,
                    "machine": k,
                    "options": options,
                    "phase": step.phase,
                    "groups": groups_json(step),
                }
            )
    script = bundle("words", "bound", "verdict", "say", exports=True) + READ + SPEAK
    words = {**page_words(language), **note_words(data, language)}
    given = {"data": data, "words": words, "language": language, "asked": asked}
    for (lines, whys), (said, rows), question in zip(
        node(script, given), expected, asked, strict=True
    ):
        assert lines == said[: len(lines)], question
        assert set(whys) <= set(rows), question
        assert len(whys) >= 9


def test_units_round_alike(node):
    rng = random.Random(5)
    values = [10 ** rng.uniform(-11, 12) for _ in range(3000)]
    values += [x / 8 for x in range(1, 900)] + [1000 * x + 500 for x in range(1, 300)]
    values += [0.0, 0.5, 999.5, 999.49, 9.995, 0.9995, 99.95, 0.0995, 1e15, 1e-7, 123456.5]
    expected = [
        [
            digits(v),
            digits(v, 5),
            si(v, "B"),
            si(v, "B/s", 5),
            seconds(v),
            percent(v),
            gain(v),
            count(int(v)),
        ]
        for v in values
    ]
    script = (
        bundle("units", exports=True)
        + READ
        + "console.log(JSON.stringify(given.map((v) => [digits(v), digits(v, 5), si(v, 'B'),"
        + " si(v, 'B/s', 5), seconds(v), percent(v), gain(v), count(Math.floor(v))])));"
    )
    for value, got, wanted in zip(values, node(script, values), expected, strict=True):
        assert got == wanted, value


HELD = """
const [of, t] = [(list, id) => list.find((x) => x.id === id), makeWords(given.words, "en")];
console.log(JSON.stringify(given.asked.map(([model, machine, groups]) => {
  const [m, k] = [of(given.data.models, model), of(given.data.machines, machine)];
  const c = makeCase(m, k, {}, given.data);
  return [heldBy(c, groups), sayHeld(c, groups, t)];
})));
"""


def test_what_would_hold_a_step_is_what_the_core_finds(node):
    """The doublings of tensor parallelism alone, which the page shows."""
    models = ["llama-3.1-8b", "llama-3.1-70b", "deepseek-v3", "mixtral-8x7b"]
    machines = ["h100-sxm", "rtx-4090", "m2-max-38c", "mi300x"]
    data = page_data(models, machines, date="2026-01-01")
    asked, expected = [], []
    for m, k in product(models, machines):
        for step in (Step.decode(), Step.decode(300, 8192), Step.decode(40_000, 8192)):
            found = doubled(Case(load_model(m), load_machine(k)), step)
            expected.append(
                found and {
                    "devices": found.layout.devices, "batch": found.max_batch,
                    "joined": found.joined, "speed": pytest.approx(found.tokens_per_s, rel=1e-12),
                }
            )  # fmt: skip
            asked.append([m, k, groups_json(step)])
    script = bundle("words", "bound", "verdict", "say", exports=True) + READ + HELD
    given = {"data": data, "words": page_words("en"), "asked": asked}
    for (got, said), wanted in zip(node(script, given), expected, strict=True):
        assert got == wanted
        assert ("would hold it" in said) and (
            wanted is None or str(wanted["devices"]) in said or wanted["devices"] == 1
        )
    assert None in expected
