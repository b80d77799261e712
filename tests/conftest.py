"""Shared by all tests: where the reference data is, and a home that no test can dirty."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

SHARED = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "shared"))


# A suite in the background may have been started deaf to Ctrl-C: what it starts must hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is no failure: nothing here is timed.
settings.register_profile("roofline", deadline=None)
settings.load_profile("roofline")


@pytest.fixture(scope="session")
def shared():
    """The folder of reference data beside the checkout; the test is skipped without it."""
    if not os.path.isdir(SHARED):
        pytest.skip("no ../shared beside the checkout")
    return SHARED


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A data folder of the test's own, and a terminal of one width."""
    monkeypatch.setenv("ROOFLINE_DATA", str(tmp_path / "roofline-data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "100")


# The oracle's coverage, printed at the end: how many types are equal, refused, wrong.
OUTCOMES = ("equal", "equal but for FLOPs, which the class cannot run", "refused", "unbuildable",
            "wrong")  # fmt: skip
ORACLE: dict[str, dict[str, str]] = {outcome: {} for outcome in OUTCOMES}


def pytest_runtest_logreport(report):
    """Collect what the oracle's tests found, from whichever process ran them."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "oracle":
                outcome, kind, why = value
                ORACLE.setdefault(outcome, {})[kind] = why


def pytest_terminal_summary(terminalreporter):
    """Print it."""
    if not any(ORACLE.values()):
        return
    terminalreporter.section("oracle: our counts against real classes")
    for outcome, found in ORACLE.items():
        terminalreporter.write_line(f"{outcome}: {len(found)}")
        if not outcome.startswith("equal"):
            for kind, why in sorted(found.items()):
                terminalreporter.write_line(f"    {kind}: {why[:140]}")
