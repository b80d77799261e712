"""What is easily forgotten when something is added: each test names the file or line to add.

CONTRIBUTING.md says what a new thing consists of; these hold the parts of it together that no
import, no type and no other test does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import roofline
from roofline.machine.load import VENDORS, entries
from roofline.machine.load import load as load_machine

SOURCE = Path(roofline.__file__).parent


def data(path: str) -> Any:
    """A JSON file of the package."""
    return json.loads((SOURCE / path).read_text(encoding="utf-8"))


def stems(folder: str, pattern: str) -> set[str]:
    """The names of a folder's files."""
    return {p.stem for p in (SOURCE / folder).glob(pattern) if p.stem != "__init__"}


# --- a machine


def test_vendors_are_the_files_of_the_catalogue() -> None:
    files = stems("machine/catalogue", "*.json")
    listed = set(VENDORS)
    assert not files - listed, f"VENDORS (machine/load.py) lacks {files - listed}"
    assert not listed - files, f"machine/catalogue/ lacks the files of {listed - files}"


def test_a_machine_says_its_generation_where_its_vendor_has_some() -> None:
    known = set(data("predict/profiles/generations.json")["generations"])
    listed = [e for e in entries() if e["kind"] != "cpu"]
    vendors = {e["vendor"] for e in listed if e.get("generation")}
    silent = [e["id"] for e in listed if e["vendor"] in vendors and "generation" not in e]
    assert not silent, f'no "generation" in machine/catalogue/*.json: {silent}'
    unknown = {e["generation"]: e["id"] for e in listed if e.get("generation")}
    lost = {g: i for g, i in unknown.items() if g not in known}
    assert not lost, f"not in predict/profiles/generations.json: {lost}"
    unused = known - set(unknown)
    assert not unused, f"a generation of no machine in predict/profiles/generations.json: {unused}"


def test_what_profiles_say_of_a_label_is_of_a_label_that_machines_have() -> None:
    from roofline.predict.device import device

    labels: set[str] = set()
    for entry in entries():
        labels |= set(device(load_machine(entry["id"])).labels)
    for stem in stems("predict/profiles", "*.json") - {"generations", "suites"}:
        profile = data(f"predict/profiles/{stem}.json")
        said = {n.partition("@")[2] for n in profile["coefficients"] if "@" in n}
        lost = (said | set(profile.get("families", {}))) - labels
        assert not lost, f"predict/profiles/{stem}.json speaks of {lost}, which no machine is"
