from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs an ES module in Node with JSON on standard input; returns the JSON it prints."""
    program = shutil.which("node") or shutil.which("nodejs")
    if program is None:
        pytest.skip("needs node (Debian: apt-get install nodejs)")
    folder = tmp_path_factory.mktemp("node")

    def run(module: str, given: Any) -> Any:
        path = folder / "run.mjs"
        path.write_text(module, encoding="utf-8")
        text = json.dumps(given)
        done = subprocess.run(
            [program, str(path)],
            check=False,
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, started once."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
