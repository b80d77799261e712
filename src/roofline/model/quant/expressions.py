"""Regular expressions out of somebody else's config, which must end.

Python's ``re`` goes back and tries again, so that ``(a+)+`` or ``(.|.)*x`` on a name of 40
characters never ends, holds every other thread, and cannot be interrupted. So an expression is
taken apart before it is used (by re's own parser), the ways in which it can try a name are counted,
and one with too many is refused: nothing is repeated that itself has a choice, and what stands in a
row multiplies. All expressions of a config together have a number, a length and a time.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from math import comb
from typing import Any, TypeVar

from ...errors import InputError
from ...limits import EXPRESSION_CHARACTERS, EXPRESSION_SECONDS, EXPRESSION_WAYS, EXPRESSIONS

NAME = 80
"""Characters of a module's name, in counting the ways of trying one."""

_T = TypeVar("_T")


class Effort:
    """What the lists of one config may cost, and have cost."""

    def __init__(self) -> None:
        self.expressions = 0
        self.text = 0
        self.seconds = 0.0

    def take(self, text: str, where: str) -> None:
        """Count one more expression.

        Raises:
            InputError: it is one too many.
        """
        self.expressions += 1
        self.text += len(text)
        if self.expressions > EXPRESSIONS or self.text > EXPRESSION_CHARACTERS:
            raise InputError(
                f"{where}: more than {EXPRESSIONS} expressions, or {EXPRESSION_CHARACTERS} "
                "characters of them, in one config"
            )

    def spend(self, find: Callable[[str], _T], name: str, where: str) -> _T:
        """``find(name)``, its time counted.

        Raises:
            InputError: the config's lists have taken longer than they may.
        """
        if self.seconds > EXPRESSION_SECONDS:
            raise InputError(
                f"{where}: its lists take more than {EXPRESSION_SECONDS:g} s to hold against the "
                "model's modules; '--weights FORMAT' counts it as one format"
            )
        began = time.thread_time()
        try:
            return find(name)
        finally:
            self.seconds += time.thread_time() - began


_CURRENT: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def one_config() -> Iterator[None]:
    """All lists made in the block share what they may cost."""
    before = _CURRENT.set(Effort())
    try:
        yield
    finally:
        _CURRENT.reset(before)


def effort() -> Effort:
    """Of the config that is being read; of a list alone, its own."""
    return _CURRENT.get() or Effort()


def compiled(
    text: str, where: str, cost: Effort, *, tame: bool = False, anywhere: bool = False
) -> re.Pattern[str]:
    """An expression that ends.

    Args:
        text: the expression.
        where: for messages.
        cost: what it is counted to.
        tame: whether it was made here, of a glob.
        anywhere: whether it is looked for in a name instead of held against its begin.

    Raises:
        InputError: it is none, could take for ever, or is one too many.
    """
    cost.take(text, where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not tame and not is_tame(text, anywhere=anywhere):
                raise InputError(f"{where}: the expression {text[:60]!r} could take for ever")
            return re.compile(text)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        raise InputError(f"{where}: {text[:60]!r} is not an expression: {error}") from None


def is_tame(expression: str, *, anywhere: bool = False) -> bool:
    """Whether matching a name takes bounded time; counted, not tried.

    >>> [is_tame(e) for e in (r".*mlp\\.(up|down)_proj", "(a+)+", "(.|.)*x", "a?a?a?" * 20)]
    [True, False, False, False]

    Raises:
        re.error: it is no expression.
    """
    parser: Any = import_module("re._parser")
    try:
        opened, choices = _ways(list(parser.parse(expression)))
    except _Endless:
        return False
    opened += anywhere  # each place is tried, as if .*? stood before it
    return (
        opened <= 8
        and choices <= EXPRESSION_WAYS
        and choices * comb(NAME + opened, opened) <= EXPRESSION_WAYS
    )


class _Endless(Exception):
    pass


def _ways(items: list[Any]) -> tuple[int, int]:
    """Of a sequence: open repeats in a row, and the choices besides, multiplied.

    Raises:
        _Endless: something with a choice is repeated.
    """
    opened, choices = 0, 1
    for op, argument in items:
        more, times = _ways_of(str(op), argument)
        opened += more
        choices = min(choices * times, EXPRESSION_WAYS + 1)
    return opened, choices


def _ways_of(op: str, argument: Any) -> tuple[int, int]:
    if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeated(*argument)
    if op == "SUBPATTERN":
        return _ways(list(argument[3]))
    if op == "BRANCH":
        result = [_ways(list(branch)) for branch in argument[1]]
        return max(o for o, _ in result), sum(c for _, c in result)
    if op in ("ASSERT", "ASSERT_NOT"):
        return _ways(list(argument[1]))
    if op == "ATOMIC_GROUP":
        return _ways(list(argument))
    if op == "GROUPREF_EXISTS":
        result = [_ways(list(branch)) for branch in argument[1:] if branch]
        return max((o for o, _ in result), default=0), sum(c for _, c in result) or 1
    return 0, 1


def _repeated(least: int, most: Any, body: Any) -> tuple[int, int]:
    opened, choices = _ways(list(body))
    if int(most) <= 1:  # an option
        return opened, choices + 1
    narrow, _ = body.getwidth()
    if opened or choices > 1 or not narrow or _repeats(list(body)):
        raise _Endless
    if least == int(most):
        return 0, 1
    spread = int(most) - least + 1
    return (0, spread) if spread <= 16 else (1, 1)


def _repeats(items: list[Any]) -> bool:
    """Whether something in a sequence is repeated, be it a fixed number of times."""
    for op, argument in items:
        if str(op).endswith("REPEAT"):
            return True
        if str(op) == "SUBPATTERN" and _repeats(list(argument[3])):
            return True
    return False
