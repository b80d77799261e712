"""Evaluation: rules, suites, scores; on small files of our own, and on the real data if there."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from roofline.cli import main
from roofline.errors import InputError, NotFound
from roofline.evaluate.data import Rule, read, sort_out
from roofline.evaluate.experts import experts
from roofline.evaluate.fixed import fixed
from roofline.evaluate.llamacpp import llamacpp
from roofline.evaluate.messages import messages
from roofline.evaluate.products import gemm
from roofline.evaluate.run import nearest, shipped
from roofline.evaluate.score import score
from roofline.evaluate.served import served
from roofline.evaluate.spread import kind, spreads
from roofline.evaluate.suite import Suite
from roofline.predicting.fit import Prior

REAL = os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "validation")
real = pytest.mark.skipif(not os.path.isdir(REAL), reason="needs ../shared/validation")


def write(folder: Path, name: str, rows: list[dict[str, object]], packed: bool = False) -> None:
    opened = gzip.open if packed else open
    path = folder / (f"{name}.csv.gz" if packed else f"{name}.csv")
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def gemm_rows(noise: float = 0.02) -> list[dict[str, object]]:
    """Products whose truth is known: 0.75 of the peak, 0.8 of the bandwidth, 5 µs."""
    rng = np.random.default_rng(2)
    sheets = {"a100_sxm": (312e12, 2.039e12), "h100_sxm": (989e12, 3.35e12)}
    rows: list[dict[str, object]] = []
    for system, (peak, stream) in sheets.items():
        for _ in range(150):
            m, n, k = (int(2 ** rng.integers(lo, hi)) for lo, hi in ((0, 14), (9, 14), (9, 14)))
            joint = math.hypot(
                2 * m * n * k / (0.75 * peak), 2 * (n * k + m * k + m * n) / (0.8 * stream)
            )
            t = (5e-6 + joint) * math.exp(noise * rng.standard_normal())
            rows.append(
                {
                    "system": system, "framework": "TEST", "version": "1", "gemm_dtype": "bfloat16",
                    "m": m, "n": n, "k": k, "latency_ms": t * 1e3,
                }
            )  # fmt: skip
    return rows


def test_a_fit_on_known_products_finds_them_on_an_unseen_machine(tmp_path: Path) -> None:
    write(tmp_path, "gemm", gemm_rows(), packed=True)
    (suite,) = gemm(str(tmp_path))
    assert suite.scored.sum() > 50
    found = score(suite)
    assert found.error("fitted") < 0.04 and found.error("machine") < 0.08  # type: ignore[operator]
    assert found.error("constant") > 1.3 * found.error("fitted")  # type: ignore[operator]
    assert found.above == 0
    inside, width = found.coverage["rows"]
    assert 0.8 <= inside <= 1 and 1 < width < 1.5
    (never,) = spreads([found])
    assert (never.kind, never.by, never.groups, never.distinct) == ("gemm 16 bit", "machine", 2, 2)
    assert found.coverage["machine"] == (never.mean, never.width)
    assert 0.6 < never.mean <= 1 and 1 < never.width < 2


def test_suites_of_a_kind_are_pooled() -> None:
    for name, expected in (
        ("gemm bfloat16 VLLM", "gemm 16 bit"),
        ("gemm int8_wo TRTLLM", "gemm 16 bit"),
        ("gemm fp8 SGLang", "gemm 8 bit"),
        ("gemm fp8_block VLLM", "gemm 8 bit blocks"),
        ("decode attention fp8 VLLM", "decode attention"),
        ("context attention fp8 TRTLLM", "context 8 bit"),
        ("experts bfloat16 TRTLLM", "experts 16 bit"),
        ("all-reduce NCCL", "all-reduce"),
        ("fixed batch vLLM nvidia", "fixed batch nvidia"),
        ("fixed batch vLLM amd", "fixed batch others"),
        ("served TPOT vllm", "served TPOT"),
        ("llama.cpp decode CUDA hbm", "llama.cpp decode CUDA, Vulkan"),
        ("llama.cpp decode Metal", "llama.cpp decode Metal"),
    ):
        assert kind(name) == expected


def test_rows_beside_inform_a_fit_but_not_of_what_is_left_out() -> None:
    def suite(machines: list[str], factor: float) -> Suite:
        rows = [{"machine": m} for m in machines]
        ones = np.ones(len(rows))
        return Suite("x", rows, factor * ones, lambda c: c["k"] * ones, {}, {"k": Prior(1.0)}, ones)

    own, other = suite(["a", "b"], 1.0), suite(["a", "b", "b", "b"], 3.0)
    assert own.coefficients()["k"] == pytest.approx(1.0, rel=0.02)

    def beside(lent: float) -> Suite:
        own = suite(["a", "b"], 1.0)
        own.beside, own.lent = (other,), lent
        return own

    own = beside(1.0)
    assert own.coefficients()["k"] > 2  # four rows against two
    assert beside(0.1).coefficients()["k"] == pytest.approx(1.0, rel=0.05)
    # without b, one row of each says something else: between them, not at the other's
    assert own.left_out("machine")[1] < 2.9


def test_the_verb_prints_tables_data_and_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "gemm", gemm_rows())
    for language in ("en", "zh"):
        assert main(["validate", str(tmp_path), "--lang", language]) == 0
        out = capsys.readouterr().out
        assert "gemm bfloat16 TEST" in out and "{" not in out
    out_path = tmp_path / "rows.csv"
    assert main(["validate", str(tmp_path), "--as-shipped", "--json", "--rows", str(out_path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "roofline.validation/1"
    (suite,) = data["suites"]
    assert 0 < suite["median_error"]["shipped"] < 0.3
    assert "fitted" not in suite["median_error"]
    with out_path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300 and {"measured_s", "shipped", "roof"} <= set(rows[0])
    assert main(["validate", str(tmp_path), "--as-shipped", "--markdown", "--lang", "en"]) == 0
    assert "| gemm bfloat16 TEST |" in capsys.readouterr().out


def test_wrong_folders_and_files_cost_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(tmp_path)]) == 2
    assert "no measurements there" in capsys.readouterr().err
    assert main(["validate", str(tmp_path), "--only", "speed"]) == 2
    assert "no kind 'speed'" in capsys.readouterr().err
    (tmp_path / "gemm.csv.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(InputError, match="not readable"):
        read(str(tmp_path), "gemm")
    (tmp_path / "moe.csv").write_text("")
    with pytest.raises(InputError, match="empty"):
        read(str(tmp_path), "moe")
    with pytest.raises(NotFound):
        read(str(tmp_path), "served")


def test_rules_count_what_they_set_aside() -> None:
    rows = [{"x": float(i)} for i in range(10)]
    rules = [
        Rule("low", "under 3", lambda r: r["x"] < 3),
        Rule("even", "even", lambda r: r["x"] % 2 == 0),
    ]
    kept, aside = sort_out(rows, rules)
    assert [r["x"] for r in kept] == [3, 5, 7, 9]
    assert aside == {"low": 3, "even": 3}


def test_a_suite_that_is_not_shipped_takes_the_nearest() -> None:
    held = {"gemm fp8 VLLM": {"a": 1.0}, "gemm bfloat16 TRTLLM": {"a": 2.0}, "x y": {"a": 3.0}}
    assert nearest("gemm fp8 VLLM", held) == {"a": 1.0}
    assert nearest("gemm nvfp4 TRTLLM", held) == {"a": 2.0}
    assert nearest("nothing like it", held) is None


def test_what_is_shipped_are_numbers_for_each_suite() -> None:
    for name, c in shipped().items():
        assert c, name
        assert all(0 < v < 3000 for v in c.values()), name


# ------------------------------------------------------------------ real data


@real
def test_matrix_products_are_predicted_as_the_report_says() -> None:
    errors = {}
    for suite in gemm(REAL):
        held = nearest(suite.name, shipped())
        assert held is not None
        errors[suite.name] = score(suite, held, fit=False).error("shipped")
    assert errors["gemm bfloat16 TRTLLM"] < 0.07
    assert errors["gemm fp8 TRTLLM"] < 0.10


@real
def test_fixed_batches_on_an_unseen_gpu() -> None:
    (suite,) = (s for s in fixed(REAL) if s.name == "fixed batch vLLM nvidia")
    own = np.array([r["machine"] == "a100-40gb-sxm" for r in suite.rows])
    c = suite.coefficients((~own & suite.scored).astype(float))
    kept = own & suite.scored
    assert kept.sum() > 100
    assert np.median(np.abs(suite.predict(c)[kept] / suite.measured[kept] - 1)) < 0.08


@real
def test_no_scored_run_beats_the_roof_but_what_is_explained() -> None:
    for suite in [*fixed(REAL), *served(REAL), *llamacpp(REAL)]:
        fast = (suite.measured * 1.01 < suite.bound) & suite.scored
        assert fast.sum() <= 1, [suite.rows[i] for i in np.flatnonzero(fast)[:3]]


@real
def test_served_models_without_a_precision_are_bf16() -> None:
    """The evidence behind the rule: under fp8 they would read at half of everyone's bandwidth."""
    (suite,) = (s for s in served(REAL) if s.name == "served TPOT trtllm")
    own = np.array([r["model"].endswith("8B-Instruct") for r in suite.rows])
    assert own.sum() > 100
    c = suite.coefficients(own.astype(float))
    assert 0.8 < c["linear.bandwidth"] <= 1.0
    assert np.median(np.abs(suite.predict(c)[own] / suite.measured[own] - 1)) < 0.06


@real
def test_intervals_hold_on_machines_never_seen() -> None:
    """On average over machines left out: each interval is that of the other machines."""
    scores = []
    for suite in [*experts(REAL), *messages(REAL), *llamacpp(REAL)]:
        if "CUDA" in suite.name or "Vulkan" in suite.name:
            continue  # fitted on each other's rows, as many fits again
        found = score(suite, fit=False)
        found.predictions["machine"] = suite.left_out("machine")
        scores.append(found)
    judged = {c.kind: c for c in spreads(scores)}
    assert len(judged) == 4
    for covered in judged.values():
        assert 0.85 <= covered.mean <= 0.95, covered
    assert judged["llama.cpp decode Metal"].width < 1.6


def test_a_format_that_is_not_known_is_set_aside_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_gemm(tmp_path, "w4a8_mxfp4_mxfp8")
    rows = tmp_path / "rows.csv"
    line = ["validate", str(tmp_path), "--only", "gemm", "--as-shipped", "--rows", str(rows)]
    assert main([*line, "--lang", "en"]) == 0
    assert "a number format that is not known: w4a8_mxfp4_mxfp8" in capsys.readouterr().out
    head = rows.read_text().split("\n")[0].split(",")
    assert len(set(head)) == len(head), "two columns of one name"


def test_a_cell_that_is_no_number_costs_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_gemm(tmp_path, "bfloat16", m="many")
    assert main(["validate", str(tmp_path), "--only", "gemm", "--as-shipped"]) == 2
    assert "column m: missing, or not a number" in capsys.readouterr().err


def write_gemm(folder: Path, last: str, m: str = "64") -> None:
    """Matrix products in bf16, and one more."""
    lines = ["system,framework,version,device,gemm_dtype,m,n,k,latency_ms,source"]
    for i in range(40):
        size = 512 * (1 + i % 8)
        lines.append(f"h100_sxm,TRTLLM,1,H100,bfloat16,{16 << i % 5},{size},4096,0.0{5 + i % 4},s")
    lines.append(f"h100_sxm,TRTLLM,1,H100,{last},{m},4096,4096,0.05,s")
    (folder / "gemm.csv").write_text("\n".join(lines) + "\n")
