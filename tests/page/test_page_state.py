"""The page's state and its address: whatever is chosen, a link says it and gives it back."""

from __future__ import annotations

import random
from typing import Any

from page.cases import named
from roofline.page.bundle import bundle

LOOK = """
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
const steps = stepsFor(given.data);
console.log(JSON.stringify({
  start: startOf(given.data),
  steps: steps.map((one) => one.set),
  links: given.states.map((state) => writeHash(state, given.data)),
  back: given.states.map((state) => readHash(writeHash(state, given.data), given.data)),
  read: given.hashes.map((hash) => readHash(hash, given.data)),
}));
"""


def some_state(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    ids = [machine["id"] for machine in data["machines"]]
    return {
        "model": rng.choice(data["models"])["id"],
        "machines": rng.sample(ids, rng.randint(1, 4)),
        "phase": rng.choice(["decode", "prefill", "verify", "mixed"]),
        "batch": rng.choice([1, int(2 ** rng.uniform(0, 20))]),
        "context": rng.choice([1, 2048, int(2 ** rng.uniform(0, 24))]),
        "prompt": rng.choice([512, 2048, int(2 ** rng.uniform(0, 24))]),
        "drafted": rng.choice([4, rng.randint(1, 64)]),
        "devices": rng.choice([1, 2, 8]),
        "weights": rng.choice(["", "int4:128", *data["choices"]["weights"]]),
        "kv": rng.choice(["", *data["choices"]["kv"]]),
        "compute": rng.choice(["", *data["choices"]["compute"]]),
        "ceilings": rng.choice(["", "datasheet", "measured"]),
        "engine": "",
        "operators": rng.random() < 0.5,
        "story": rng.choice([0, 0, *range(1, 11)]),
        "lang": rng.choice(["", "en", "zh"]),
    }


def test_an_address_gives_back_every_state(node):
    data, rng = named(), random.Random(11)
    states = [some_state(rng, data) for _ in range(2000)]
    script = bundle("state", "steps", exports=True) + LOOK
    # what a step of the story sets, changed back to how the page starts, must be said too
    start = {**node(script, {"data": data, "states": [], "hashes": []})["start"], "lang": ""}
    states += [{**start, "story": n} for n in range(12)]
    found = node(script, {"data": data, "states": states, "hashes": []})
    for state, link, back in zip(states, found["links"], found["back"], strict=True):
        assert back == state, link


def test_a_step_of_the_story_needs_no_more_than_its_number(node):
    script = bundle("state", "steps", exports=True) + LOOK
    hashes = ["", *(f"#story={n}" for n in range(1, 11)), "#story=8&b=7&ops=0", "#story=11"]
    hashes += ["#story=-1", "#story=1e9", "#story=2.5", "#story=x"]
    found = node(script, {"data": named(), "states": [], "hashes": hashes})
    start, told, rest = found["read"][0], found["read"][1:11], found["read"][11:]
    assert start == found["start"]
    assert len(found["steps"]) == len(told) == 10
    for n, (state, step) in enumerate(zip(told, found["steps"], strict=True), 1):
        assert state == {**start, **step, "story": n}
    changed, beyond, *broken = rest
    assert changed == {**told[7], "batch": 7, "operators": False}
    assert beyond == {**start, "story": 11}
    assert broken == [start] * 4
