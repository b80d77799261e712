"""Numbers at the door of the Python API: whole, in range, and never of a width."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import roofline
from roofline import Group, Step
from roofline.bound.arrays import Table
from roofline.errors import InputError

CASE = roofline.Case(roofline.load_model("llama-3.1-8b"), roofline.load_machine("h100-sxm"))
TABLE = Table(CASE)
MAKE = {
    "decode": lambda n: Step.decode(n, 2048),
    "context": lambda n: Step.decode(1, n),
    "prefill": lambda n: Step.prefill(1, n),
    "encode": lambda n: Step.encode(n, 128),
    "verify": lambda n: Step.verify(1, n, 2048),
    "with_batch": lambda n: Step.decode().with_batch(n),
}
BAD = [-5, 0, 2**40 + 1, 10**400, 2.5, float("nan"), float("inf"), True, None, "8", [8], (1,), {},
       np.float32(3), np.array([]), np.array([[1]]), np.array([1, -5]), np.array([1.0, np.nan]),
       np.array([2**41]), np.array(["8"]), np.array([True]), np.int64(-5), object(),
       1j]  # fmt: skip


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("value", BAD, ids=[repr(b)[:20] for b in BAD])
def test_what_is_no_count_is_refused(make: str, value: Any) -> None:
    with pytest.raises(InputError) as refused:
        MAKE[make](value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_numpys_integers_count_as_pythons(kind: type) -> None:
    assert Step.decode(kind(8), kind(100)) == Step.decode(8, 100)
    assert type(Step.decode(kind(8)).batch) is int


def test_no_width_overflows() -> None:
    """int64 gave 25 million tokens/s where 24.37 are right, with a warning or none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step = Step.decode(np.int64(2**40), np.int64(2**20))
        one = CASE.bound(step).tokens_per_s
        many = TABLE.bounds(Step.decode(np.array([2**40, 1]), 2**20)).tokens_per_s
        small = TABLE.bounds(Step.verify(1, np.array([255], dtype=np.uint8), 2048))
    assert one == CASE.bound(Step.decode(2**40, 2**20)).tokens_per_s
    assert many[0] == pytest.approx(one, rel=1e-12)
    assert small.overlapped_s[0] == pytest.approx(
        CASE.bound(Step.verify(1, 255, 2048)).overlapped_s, rel=1e-12
    )


def test_arrays_are_of_one_length_and_not_explained() -> None:
    with pytest.raises(InputError, match="one length; these have 2, 3"):
        TABLE.bounds(Step.decode(np.array([1, 2]), np.array([1, 2, 3])))
    with pytest.raises(InputError, match="arrays of them go to"):
        roofline.explain("llama-3.1-8b", "h100-sxm", Step.decode(np.array([1, 2])))


@pytest.mark.parametrize(
    "group",
    [
        Group(-5), Group(0), Group(float("nan")), Group(float("inf")), Group(2, 0),
        Group(2, 1, -3), Group("8"), Group(None), Group(True), Group(1 << 50), Group(-0.5),
        Group(10**400),
    ],
)  # fmt: skip
def test_groups_that_no_sequences_can_be_are_refused(group):
    with pytest.raises(InputError, match=r"batch|new_tokens|past"):
        Step("decode", (group,))


def test_numpy_integers_in_groups_do_not_overflow():
    step = Step("decode", (Group(np.int16(300), np.int8(1), np.int32(2047)),))
    assert step == Step.decode(300, 2048)
    assert all(type(n) is int for n in (step.batch, step.groups[0].past))
    big = np.int64(1 << 39)
    plain = Step("decode", (Group(1 << 39, 1, 1 << 39),))
    assert CASE.bound(Step("decode", (Group(big, 1, big),))) == CASE.bound(plain)


def test_a_step_of_no_phase_or_no_group_is_refused():
    for phase, groups in (("decode", ()), (None, (Group(1),))):
        with pytest.raises(InputError, match="a step is"):
            Step(phase, groups)
