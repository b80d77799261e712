"""Machine files: read back whole, and refused in one sentence where they are wrong."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import InputError, NotFound, RooflineError, load_machine
from roofline.machine.load import entries, from_data
from roofline.machine.template import TEMPLATE

GOOD = {
    "name": "M",
    "memory": {"capacity": 80e9},
    "datasheet": {"bandwidth": {"memory": 3e12}, "compute": {"bf16": 1e15}},
}


def test_every_catalogue_machine_loads_and_has_a_roof():
    for entry in entries():
        machine = load_machine(entry["id"])
        roof = machine.roof()
        precision, peak = roof.arithmetic("bf16")
        assert 1 < peak.value / roof.bandwidth.value < 2000, (machine.id, precision)
        for alias in entry.get("aliases", ()):
            assert load_machine(alias).id == entry["id"]


def test_the_template_is_a_machine(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(TEMPLATE)
    machine = load_machine(str(path))
    assert machine.roof().ridge("bf16") == pytest.approx(295.2, abs=0.1)


def test_json_and_toml_say_the_same(tmp_path):
    a, b = tmp_path / "a.json", tmp_path / "b.toml"
    a.write_text(json.dumps(GOOD))
    b.write_text(
        'name = "M"\n[memory]\ncapacity = 80e9\n[datasheet.bandwidth]\nmemory = 3e12\n'
        "[datasheet.compute]\nbf16 = 1e15\n"
    )
    assert load_machine(str(a)) == load_machine(str(b))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "name is missing"),
        ({"name": 3}, "name must be text"),
        ({"datasheet": {"bandwidth": {"memory": 3.35}, "compute": {"bf16": 1e15}}}, "bytes per s"),
        ({"datasheet": {"bandwidth": {"memory": "3TB"}}}, "must be a number, not '3TB'"),
        ({"datasheet": {"bandwidth": {"memory": 3e12}, "compute": {"bf17": 1e15}}}, "bf17"),
        ({"datasheet": {"bandwidth": {"memory": 3e12}}}, "no compute ceiling is known"),
        ({"datasheet": {"compute": {"bf16": 1e15}}}, "no memory bandwidth is known"),
        ({"datasheet": []}, "datasheet must be a table"),
        ({"datasheet": {}}, "no datasheet ceilings are known"),
        ({"memory": {"capacity": True}}, "must be a number"),
        ({"memory": {"capacity": float("nan")}}, "capacity is nan"),
        ({"memory": {"capacity": 80}}, "it is in bytes"),
        ({"links": {}}, "links must be a list"),
        ({"aliases": 7}, "aliases must be a list"),
        ({"links": [3]}, "each link must be a table"),
        ({"notes": [1]}, "notes must be a list of texts"),
    ],
)
def test_wrong_values_are_named(change, says):
    data = {**GOOD, **change}
    with pytest.raises(RooflineError, match=says):
        from_data(data, "f")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", "[1]", "must be a table"),
        ("a.json", '{"name": NaN}', "NaN"),
        ("a.json", '{"name": "a", "name": "b"}', "twice"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.toml", "name = ", "not TOML"),
        ("a.toml", "\xff", "name is missing|not TOML"),
        ("a.json", "", "not JSON"),
    ],
)
def test_broken_files_get_one_sentence(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=says):
        load_machine(str(path))


def test_a_folder_and_a_missing_file(tmp_path):
    with pytest.raises(NotFound):
        load_machine(str(tmp_path / "no.json"))
    (tmp_path / "d.json").mkdir()
    with pytest.raises(NotFound):
        load_machine(str(tmp_path / "d.json"))


VALUES = [None, True, "x", -1, 0, 1e400, float("nan"), [], {}, [[]], 10**40, 3.5, "1e12"]


def mutate(data, rng):
    """One random place of nested data replaced, removed or added."""
    data = json.loads(json.dumps(data))
    spots = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            spots.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(data)
    for _ in range(rng.randint(1, 3)):
        node, key = rng.choice(spots)
        try:
            if rng.random() < 0.2:
                del node[key]
            else:
                node[key] = rng.choice(VALUES)
        except (KeyError, IndexError):
            continue
    return data


def test_ten_thousand_mutated_machines_never_a_traceback():
    rng = random.Random(1)
    seeds = entries()[::7]
    accepted = 0
    for i in range(10_000):
        data = mutate(seeds[i % len(seeds)], rng)
        try:
            machine = from_data(data, "f")
        except RooflineError as error:
            assert "\n" not in str(error) and len(str(error)) < 400
            continue
        accepted += 1
        roof = machine.roof()
        assert 0 < roof.bandwidth.value < 1e17
        assert all(0 < f.value < 1e20 for f in roof.compute.values())
    assert 1000 < accepted < 9000  # both sides of the fence were visited


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=8), x, max_size=4),
    )
)
def test_anything_at_all_is_refused_politely(data):
    with pytest.raises(RooflineError):
        from_data(data, "f")


def test_an_entry_picked_from_the_text_is_the_one_that_is_found():
    from roofline import catalogue
    from roofline.model.load import entries as models

    for path, known in (("model/catalogue.json", models()),):
        text = catalogue.text_of(path)
        for entry in known:
            for name in (entry["id"], *entry.get("aliases", ())):
                assert catalogue.pick(text, name) == entry, name
    for entry in entries():
        for name in (entry["id"], *entry.get("aliases", ())):
            assert load_machine(name).id == entry["id"]
    assert catalogue.pick('{"models": []}', "nothing") is None


def test_a_forced_measurement_is_doubted_wherever_its_ceilings_are_used():
    from roofline import explain
    from roofline.say.answer import lines
    from roofline.words import Words

    measured = {"bandwidth": {"memory": 3e10}, "compute": {"bf16": 1e11}}
    findings = [
        {"code": "busy", "level": "refuse", "cpus": 2},
        {"code": "virtual", "level": "note"},
        "?",
    ]
    data = {"name": "B", "measured": measured, "measurement": {"findings": findings}}
    machine = from_data(data, "file")
    assert machine.doubts == ("busy",)
    answer = explain("llama-3.1-8b", machine)
    assert answer.to_json()["machine"]["doubts"] == ["busy"]
    assert "(busy)" in dict(lines(answer, Words("en")))["note"]
    sheet = from_data(data | {"datasheet": GOOD["datasheet"]}, "file")
    assert explain("llama-3.1-8b", sheet).doubts == ()
