"""Splits that cannot be: each is refused with what would work."""

from __future__ import annotations

import pytest

from roofline import Case, InputError, Parallel, UnsupportedError, load_machine, load_model
from roofline.parallel.shard import divided


def split(model, **layout):
    return Case(load_model(model), load_machine("h100-sxm"), parallel=Parallel(**layout))


@pytest.mark.parametrize(
    ("model", "layout", "said"),
    [
        ("llama-3.1-8b", {"tp": 3}, "32 query heads.* by 3.*--tp may be 1, 2, 4, 8, 16 or 32"),
        ("llama-3.1-8b", {"tp": 64}, "--tp may be 1, 2, 4, 8, 16 or 32"),
        ("llama-3.1-8b", {"pp": 33}, "has 32 layers.*--pp may be 1 to 32"),
        ("llama-3.1-8b", {"tp": 2, "ep": 2}, "has no experts: leave --ep out"),
        ("qwen3-30b-a3b", {"tp": 8, "dp": 24, "ep": 192}, "128 experts.*--ep may be 1, 2"),
        ("qwen2.5-7b", {"tp": 8}, "28 query heads do not divide by 8.*--tp may be 1, 2 or 4"),
        ("gpt2", {"tp": 5}, "--tp may be 1, 2, 3, 4"),
    ],
)  # fmt: skip
def test_refused_with_what_would_work(model, layout, said):
    with pytest.raises(InputError, match=said):
        split(model, **layout)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen2.5-7b", "gpt2", "falcon-7b", "gemma-2-9b"])
def test_what_would_work_works(model):
    import re

    with pytest.raises(InputError) as error:
        split(model, tp=9999)
    offered = re.search(r"--tp may be ([\d, or]+)", str(error.value))[1]
    numbers = [int(n) for n in re.findall(r"\d+", offered)]
    assert numbers[0] == 1
    for tp in numbers:
        Case(load_model(model), load_machine("h100-sxm"), parallel=Parallel(tp=tp), link=1e9)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ({"tp": 0}, "tp must be a whole number from 1"),
        ({"pp": -1}, "pp must be"),
        ({"tp": 2.0}, "tp must be a whole number"),
        ({"tp": True}, "tp must be a whole number"),
        ({"tp": 1 << 30}, "tp must be"),
        ({"tp": 1 << 15, "pp": 1 << 15}, "devices"),
        ({"tp": 8, "ep": 3}, "ep may be 1, 2, 4, 8, or tp × dp a multiple of 3"),
        ({"ep": 8}, "ep may be 1, or tp × dp a multiple of 8"),
        ({"microbatches": 4}, "need pp of 2 or more"),
        ({"pp": 2, "microbatches": 0}, "microbatches must be"),
    ],
)
def test_layouts_that_are_none(layout, said):
    with pytest.raises(InputError, match=said):
        Parallel(**layout)


def test_a_part_that_nobody_knows_how_to_divide_is_named():
    class Odd:
        pass

    with pytest.raises(UnsupportedError, match="how Odd divides"):
        divided(Odd(), Parallel(tp=2))
    odd = Odd()
    assert divided(odd, Parallel(dp=2)) is odd
