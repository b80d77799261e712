"""The other verbs of the core, and what all verbs share."""

from __future__ import annotations

import argparse
import csv
import io
import json

import pytest

from roofline.cli import main, parser, present


def run(capsys, *argv):
    code = main(list(argv))
    out = capsys.readouterr()
    return code, out.out, out.err


def test_help_names_every_verb(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    assert all(verb in out for verb in present())


@pytest.mark.parametrize("verb", sorted(present()))
def test_every_verb_has_help(capsys, verb):
    with pytest.raises(SystemExit) as done:
        main([verb, "--help"])
    assert done.value.code == 0
    assert "usage: roofline" in capsys.readouterr().out


def test_an_option_means_one_thing_in_every_verb():
    shown = {}
    for verb in present():
        for action in parser(verb)._subparsers._group_actions[0].choices[verb]._actions:  # type: ignore
            for option in action.option_strings:
                if action.help != argparse.SUPPRESS:
                    shown.setdefault(option, set()).add(action.metavar)
    assert shown["--out"] == shown["-o"] == {"FILE"}
    assert shown["--output"] == {"N"}
    assert "npm|PATH" not in shown["--engine"]


def test_former_spellings_are_still_taken(capsys, tmp_path):
    for verb, option in (("plot", "--output"), ("page", "--output")):
        path = tmp_path / f"{verb}.svg"
        assert run(capsys, verb, "llama-3.2-1b", "--on", "a10", option, str(path))[0] == 0
        assert path.exists()


def test_models(capsys):
    code, out, _ = run(capsys, "models", "--json")
    models = json.loads(out)["models"]
    assert code == 0 and len(models) >= 40
    assert all(m["source"]["title"] and m["source"]["date"] for m in models)
    one = run(capsys, "models", "llama-3.1-8b", "--lang", "en")[1]
    assert "8,030,261,248 parameters" in one


def test_models_says_at_which_context_its_cache_is(capsys):
    # Gemma-3-27B: 62 layers of 16 heads, 2·128 numbers, 2 bytes; 52 of them see 1024 tokens.
    layer = 16 * 2 * 128 * 2
    whole = layer * (10 * 32768 + 52 * 1024)
    (m,) = json.loads(run(capsys, "models", "gemma-3-27b", "--json")[1])["models"]
    assert (m["context"], m["kv_bytes_per_sequence"]) == (32768, whole)
    assert (m["kv_bytes_per_token"], m["kv_bytes_first_token"]) == (whole / 32768, 62 * layer)
    out = run(capsys, "models", "gemma-3-27b", "--lang", "en")[1]
    assert "cache/token at 32k" in out and "95.2 kB" in out and "508 kB for the first" in out
    out = run(capsys, "models", "gemma-3-27b", "--context", "128k", "--lang", "en")[1]
    assert "cache/token at 128k" in out and "11.2 GB at 128k tokens" in out
    assert run(capsys, "models", "gemma-3-27b", "--context", "0")[0] == 2


def test_models_filter_and_nothing_found(capsys):
    out = run(capsys, "models", "qwen3", "a3b", "--lang", "en")[1]
    assert "qwen3-30b-a3b" in out and "llama" not in out
    assert "nothing known has all of: xyzzy" in run(capsys, "models", "xyzzy", "--lang", "en")[1]


def test_machines(capsys):
    machines = json.loads(run(capsys, "machines", "--json")[1])["machines"]
    assert len(machines) >= 80
    for m in machines:
        for kind in ("datasheet", "measured"):
            for figure in [*m[kind]["bandwidth"].values(), *m[kind]["compute"].values()]:
                assert figure["source"], m["id"]
                assert figure["date"], m["id"]


def test_several_machines_are_listed(capsys):
    out = run(capsys, "machines", "a100", "--lang", "en")[1]
    assert "a100-80gb-sxm" in out and "a100-40gb-pcie" in out


def test_sweep_csv_agrees_with_explain(capsys):
    _, out, _ = run(
        capsys, "sweep", "llama-3.1-8b", "--on", "h100-sxm", "rtx-4090", "--batch", "1:64",
        "--context", "1k,8k", "--weights", "bf16,int4", "--format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 2 * 7 * 2 * 2
    row = next(
        r for r in rows
        if (r["machine"], r["weights"], r["context"], r["batch"])
        == ("rtx-4090", "int4:128", "8192", "16")
    )  # fmt: skip
    _, out, _ = run(
        capsys, "explain", "llama-3.1-8b", "--on", "rtx-4090", "--weights", "int4",
        "--context", "8k", "--batch", "16", "--json",
    )  # fmt: skip
    one = json.loads(out)
    assert float(row["intensity"]) == pytest.approx(one["intensity"], rel=1e-8)
    assert float(row["seconds"]) == pytest.approx(one["bound"]["overlapped_s"], rel=1e-8)
    assert float(row["tokens_per_s"]) == pytest.approx(one["bound"]["tokens_per_s"], rel=1e-8)
    assert row["memory_bound"] == str(one["verdict"]["memory_bound"]).lower()


def test_sweep_jsonl_is_json(capsys):
    out = run(
        capsys, "sweep", "qwen3-30b-a3b", "--on", "h100-sxm", "--format", "jsonl", "--batch", "1,2"
    )[1]
    rows = [json.loads(line) for line in out.splitlines()]
    assert [r["batch"] for r in rows] == [1, 2]
    assert rows[0]["memory_bound"] is True and rows[0]["fits"] is True


def test_sweep_table_says_where_each_saturates(capsys):
    out = run(capsys, "sweep", "llama-3.1-8b", "--on", "h100-sxm", "l4", "--lang", "en", "--steps")[
        1
    ]
    assert "59.9" in out and "never" in out and "crosses at" in out


def test_sweep_leaves_out_what_cannot_be(capsys):
    code, out, err = run(
        capsys, "sweep", "llama-3.1-8b", "--on", "h100-sxm", "a100-80gb-sxm", "--compute", "fp8",
        "--format", "csv", "--batch", "1",
    )  # fmt: skip
    assert code == 0
    assert "left out" in err and "a100-80gb-sxm" not in out and "h100-sxm" in out


@pytest.mark.parametrize("batch", ["5:1", "0:4", "1:4:0", "a", "1:", ":", "", "-1:3", "1,,2"])
def test_sweep_refuses_impossible_lists(capsys, batch):
    code, out, err = run(capsys, "sweep", "llama-3.1-8b", "--on", "h100-sxm", f"--batch={batch}")
    assert code == 2 and out == "" and "--batch" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0 and "explain" in out


def test_output_that_cannot_show_braille_is_ascii(capsys, monkeypatch):
    class Latin(io.StringIO):
        encoding = "latin-1"

    latin = Latin()
    monkeypatch.setattr("sys.stdout", latin)
    assert main(["explain", "llama-3.1-8b", "--on", "h100-sxm", "--lang", "en"]) == 0
    chart = latin.getvalue().split("would help")[1].split("\n\n")[1]
    assert chart.isascii()
