"""Ctrl-C that falls into a callback from C is not lost."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import pytest

from roofline.engines.interrupts import Interrupts


def in_a_callback() -> None:
    """Ctrl-C while C calls back into Python, which cannot pass an exception on."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def struck(_: int | None, __: int | None) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return 0

    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare(struck))


def test_what_a_callback_swallows_is_raised_at_the_next_step(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = sys.unraisablehook
    with Interrupts() as interrupts:
        interrupts.check()
        in_a_callback()  # swallowed
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()  # once
    assert sys.unraisablehook is before
    assert capfd.readouterr().err == ""


def test_what_else_goes_nowhere_is_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    class Broken:
        def __del__(self) -> None:
            raise ValueError("in a destructor")

    with Interrupts() as interrupts:
        Broken()
        interrupts.check()
    assert len(told) == 1
