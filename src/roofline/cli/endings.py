"""How a run ends: each ending is one sentence on the error output, and its documented code.

0 done; 1 roofline could not do it; 2 the question was wrong; 130 interrupted. Streams that are
closed, full or cannot show a letter are endings too. A fault of roofline's own is said in one line,
with its place; `ROOFLINE_TRACEBACK=1` shows all of it.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys

from ..errors import MissingExtra, RooflineError

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

NEEDED = {"numpy": "NumPy", "shtab": "shtab"}
"""What an installation brings by itself; a checkout that was never installed may lack it."""

JSON = "roofline-json"
"""The handler of letters that an encoding lacks, for JSON: its own escapes."""


def begin() -> None:
    """Make streams that are closed or narrow harmless.

    Raises:
        RooflineError: standard output is closed: there is nowhere to answer.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    narrow("replace", sys.stderr)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        raise RooflineError("standard output is closed")
    narrow("replace", sys.stdout)


def narrow(errors: str, stream: Any) -> None:
    """Say what becomes of letters that a stream's encoding lacks."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        stream.reconfigure(errors=errors)


def narrow_json() -> None:
    """Write letters that the encoding lacks as JSON does."""
    codecs.register_error(JSON, _escaped)
    narrow(JSON, sys.stdout)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


def of(error: BaseException, verb: str | None) -> int:
    """Say an ending; its code. What is none of the endings is raised again."""
    if isinstance(error, RooflineError):
        say(str(error))
        return error.exit_code
    if isinstance(error, ModuleNotFoundError) and error.name in NEEDED:
        say(str(MissingExtra(NEEDED[error.name], "", str(verb))))
        return MissingExtra.exit_code
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return 130
    if isinstance(error, MemoryError):
        say("there is not enough memory for this; ask for less at a time")
        return 1
    if isinstance(error, BrokenPipeError):
        _silence(sys.stdout)
        return 0
    if isinstance(error, OSError):
        _silence_full()
        name = f"{error.filename}: " if error.filename else ""
        say(f"{name}{error.strerror or type(error).__name__}")
        return 1
    raise error


def say(text: str) -> None:
    """One line on the error output, if there is one."""
    line = "".join(c if c.isprintable() or c == "\n" else " " for c in f"roofline: {text}")
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


def flushed(code: int) -> int:
    """The code, once all output is out; 1 where it could not be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except (OSError, ValueError) as error:
        _silence(sys.stdout)
        say(f"standard output: {getattr(error, 'strerror', None) or 'closed'}")
        code = code or 1
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _silence(sys.stderr)
    return code


def _silence_full() -> None:
    # What could not be written is not tried again as the process ends.
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _silence(sys.stdout)


def _silence(stream: Any) -> None:
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fault(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Say what nobody expected in one line: for `sys.excepthook`."""
    if os.environ.get("ROOFLINE_TRACEBACK"):
        sys.__excepthook__(kind, error, traceback)
        return
    if issubclass(kind, KeyboardInterrupt):
        say("interrupted")
        return
    place = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = f"{os.path.basename(code.co_filename)}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    text = " ".join(str(error).split())[:200]
    say(f"a fault of its own, please report it: {kind.__name__}: {text} ({place}); "
        "ROOFLINE_TRACEBACK=1 shows all of it")  # fmt: skip
