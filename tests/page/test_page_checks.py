"""What keeps the page's modules checked: see "npm run check" in package.json."""

from __future__ import annotations

import json
import pathlib

from roofline.page.bundle import FOLDER

ROOT = pathlib.Path(__file__).parents[2]


def test_every_module_is_type_checked():
    modules = sorted(pathlib.Path(FOLDER).rglob("*.js"))
    lacking = [m.name for m in modules if not m.read_text("utf-8").startswith("// @ts-check\n")]
    assert len(modules) > 50 and lacking == []


def test_no_module_turns_the_check_off():
    for module in pathlib.Path(FOLDER).rglob("*.js"):
        text = module.read_text("utf-8")
        assert "@ts-ignore" not in text and "@ts-nocheck" not in text, module.name


def test_the_tools_are_pinned_and_come_from_any_registry():
    wanted = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    for name, version in wanted.items():
        assert version[0].isdigit() and locked[f"node_modules/{name}"]["version"] == version
    for name, package in locked.items():
        assert "resolved" not in package, f"{name}: npm install --omit-lockfile-registry-resolved"
        assert not name or package["integrity"].startswith("sha512-")
