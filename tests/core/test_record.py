"""Records behave as frozen dataclasses do."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from functools import cached_property

import pytest

from roofline.record import field, record, replace


@record
class Pair:
    """Two numbers."""

    a: int
    b: int = 2

    @cached_property
    def total(self) -> int:
        """Their sum."""
        return self.a + self.b


@record
class Named(Pair):
    """And a name, with something of its own."""

    name: str = "x"
    kept: dict = field(default_factory=dict, compare=False)


def test_values_defaults_and_order():
    assert (Pair(1).a, Pair(1).b, Pair(b=3, a=4)) == (1, 2, Pair(4, 3))
    assert Named(1, 2, "y").name == "y"
    with pytest.raises(TypeError):
        Pair()
    with pytest.raises(TypeError):
        Pair(1, 2, 3)


def test_frozen():
    for change in (lambda p: setattr(p, "a", 2), lambda p: delattr(p, "a")):
        with pytest.raises(AttributeError, match="frozen"):
            change(Pair(1))


def test_equality_hash_and_repr():
    assert Pair(1) == Pair(1, 2) != Pair(2)
    assert hash(Pair(1)) == hash(Pair(1, 2))
    assert Pair(1) != (1, 2) and Named(1) != Pair(1)
    one, two = Named(1), Named(1)
    one.kept["more"] = 1
    assert one == two and hash(one) == hash(two)
    assert repr(Named(1)) == "Named(a=1, b=2, name='x')"


def test_what_is_its_own_is_its_own():
    assert Named(1).kept is not Named(1).kept
    one = Named(1)
    one.kept["more"] = 1
    assert replace(one, a=5).kept == {}
    assert replace(one, a=5) == Named(5)
    with pytest.raises(TypeError):
        replace(one, c=5)


def test_replace_takes_dataclasses_too():
    @dataclass(frozen=True)
    class D:
        x: int

    assert replace(D(1), x=2) == D(2)


def test_cached_properties_pickles_and_copies():
    p = Pair(1)
    assert p.total == 3
    assert pickle.loads(pickle.dumps(p)) == p == copy.deepcopy(p)
    assert replace(p, a=10).total == 12


def test_match():
    match Pair(1, 5):
        case Pair(a, 5):
            assert a == 1
        case _:
            pytest.fail("no match")


def test_post_init_runs():
    @record
    class Checked:
        n: int

        def __post_init__(self) -> None:
            if self.n < 0:
                raise ValueError("negative")

    with pytest.raises(ValueError, match="negative"):
        Checked(-1)
