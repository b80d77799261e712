"""Ceilings that no library at hand can measure come from the instructions a processor has."""

from __future__ import annotations

import pytest

from roofline.engines.roofs import over_fp32


@pytest.mark.parametrize(
    ("precision", "features", "times"),
    [
        ("int8", "avx2", 2), ("int8", "avx2 avx_vnni", 4), ("int8", "avx512_vnni amx_int8", 32),
        ("int8", "asimddp", 4), ("int8", "asimddp i8mm", 8), ("bf16", "avx2", 1),
        ("bf16", "avx512_bf16", 2), ("bf16", "avx512_bf16 amx_bf16", 16), ("fp16", "asimdhp", 2),
        ("fp32", "amx_int8 avx512_bf16", 1),
    ],
)  # fmt: skip
def test_lanes_over_fp32(precision, features, times):
    assert over_fp32(precision, frozenset(features.split())) == times
