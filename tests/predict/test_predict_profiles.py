"""Profiles are data: whole, sourced, and refused with a sentence where they are wrong."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from roofline.errors import InputError, NotFound, RooflineError
from roofline.machine.load import entries
from roofline.machine.load import load as load_machine
from roofline.predicting.device import device
from roofline.predicting.profile import (
    Profile,
    from_data,
    from_file,
    load,
    names,
    save,
)


@pytest.mark.parametrize("name", names())
def test_every_coefficient_has_a_value_and_a_source(name: str) -> None:
    resolved = load(name).resolve(device(load_machine("h100-sxm")))
    for c in resolved.origins.values():
        assert c.source, c.name
        assert 0 <= c.value < 1e4
        if ".bandwidth" in c.name:
            assert c.value <= 1.0, "nothing reads faster than the sheet"


def test_every_machine_can_be_predicted_for_or_says_why_not() -> None:
    for entry in entries():
        try:
            found = device(load_machine(entry["id"]))
        except RooflineError as error:
            assert entry["name"] in str(error) or entry["id"] in str(error)
            continue
        assert found.bandwidth > 0
        assert 0 < found.scale <= 1.2
        values = load("vllm").resolve(found).values
        assert all(math.isfinite(v) for v in values.values())


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("h200-sxm", "hopper"),
        ("gh200-96gb", "hopper"),
        ("a100-40gb-sxm", "ampere"),
        ("rtx-3090", "ampere-gddr"),
        ("gb300", "blackwell"),
        ("rtx-pro-6000-server", "blackwell-gddr"),
        ("m3-ultra-80c", "apple"),
        ("mi300x", "cdna3"),
        ("xeon-8480", ""),
    ],
)
def test_machines_belong_to_their_generation(machine: str, expected: str) -> None:
    assert device(load_machine(machine)).generation == expected


def test_a_label_counts_only_where_it_holds() -> None:
    p = from_data(
        {
            "schema": "roofline.profile/1",
            "id": "mine",
            "engine": "vllm",
            "coefficients": {
                "step.floor": {"value": 1.0, "source": ""},
                "step.floor@hopper": {"value": 2.0, "source": ""},
                "step.floor@nvidia": {"value": 3.0, "source": ""},
            },
        },
        "test",
    )
    assert p.resolve(device(load_machine("h200-sxm"))).values["step.floor"] == 2.0
    assert p.resolve(device(load_machine("l40s"))).values["step.floor"] == 3.0
    assert p.resolve(device(load_machine("mi300x"))).values["step.floor"] == 1.0


def test_what_was_fitted_on_machines_of_a_kind_concerns_them_alone() -> None:
    own = {"seen": {"low": -0.1, "high": 0.1}}
    family = {"fitted": {"machines": ["mi300x"], "rows": 5}, "residuals": own, "notes": ["slow"]}
    p = from_data(
        {
            "schema": "roofline.profile/1",
            "engine": "vllm",
            "fitted": {"machines": ["h100-sxm"], "rows": 9},
            "notes": ["fast"],
            "families": {"amd": family},
        },
        "test",
    )
    labels = {m: device(load_machine(m)).labels for m in ("mi300x", "h100-sxm")}
    assert p.family(labels["mi300x"]) == family
    assert p.family(labels["h100-sxm"])["notes"] == ("fast",)
    assert p.family(labels["h100-sxm"])["fitted"]["rows"] == 9


@pytest.mark.parametrize("name", names())
def test_what_is_left_out_of_a_fit_lies_farther_off_than_what_is_in_it(name: str) -> None:
    p = load(name)
    for labels in ((), *((label,) for label in p.families)):
        found = p.family(labels)["residuals"]
        for kind in ("machine", "model", "both"):
            assert found[kind]["low"] <= found["seen"]["low"] <= 0
            assert found[kind]["high"] >= found["seen"]["high"] >= 0


def test_a_saved_profile_reads_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    save(load("vllm"), str(path))
    assert from_file(str(path)) == load("vllm")
    assert not (tmp_path / "mine.json.part").exists()


def test_unknown_engines_are_refused_by_name() -> None:
    with pytest.raises(NotFound, match=r"no engine 'vlm'.*vllm"):
        load("vlm")
    for name in ("generations", "suites", "../secrets", "a/b"):
        with pytest.raises(NotFound):
            load(name)


BAD = [
    ([], "not a profile"),
    ({"schema": "roofline.profile/2"}, "not a profile"),
    ({"coefficients": []}, "coefficients must be a table"),
    ({"coefficients": {"speed": {"value": 1}}}, "'speed' is no coefficient"),
    ({"coefficients": {"ramp": {"value": -1}}}, "ramp must be a number"),
    ({"coefficients": {"ramp": {"value": True}}}, "ramp must be a number"),
    ({"coefficients": {"ramp": 3}}, "ramp must be a number"),
    ({"extends": "nothing"}, "extends 'nothing'"),
    ({"id": 3}, "id must be text"),
    ({"notes": [1]}, "notes must be"),
    ({"families": {"amd": []}}, "families.amd"),
    ({"families": {"amd": {"residuals": 3}}}, "families.amd"),
    ({"families": {"amd": {"notes": "slow"}}}, "families.amd.notes must be"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_a_bad_profile_is_refused_with_a_sentence(change: object, message: str) -> None:
    data = {"schema": "roofline.profile/1", **change} if isinstance(change, dict) else change
    with pytest.raises(InputError, match=message):
        from_data(data, "bad.json")


def test_mutated_profiles_never_give_a_traceback(tmp_path: Path) -> None:
    rng = random.Random(3)
    text = json.dumps(load("vllm").to_json())
    path = tmp_path / "mutant.json"
    for _ in range(400):
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 4)):
            i = rng.randrange(len(data))
            kind = rng.random()
            if kind < 0.4:
                data[i] = rng.randrange(256)
            elif kind < 0.7:
                del data[i : i + rng.randint(1, 40)]
            else:
                data[i:i] = rng.choice([b"NaN", b"1e999", b"null", b"{", b"]", b"-1"])
        path.write_bytes(bytes(data))
        try:
            found = from_file(str(path))
        except InputError:
            continue
        assert isinstance(found, Profile)


def test_a_profile_that_lacks_what_every_step_needs_is_refused() -> None:
    held = {"linear.compute": {"value": 0.7, "source": ""}}
    alone = Profile("base", "vllm", coefficients=held)
    with pytest.raises(InputError, match=r"'base' lacks burst, collective\.bandwidth, .* extends"):
        alone.resolve(device(load_machine("h100-sxm")))
    assert (
        Profile("mine", "vllm", coefficients=held)
        .resolve(device(load_machine("h100-sxm")))
        .values["linear.compute"]
        == 0.7
    )
