"""``roofline explain``, as typed."""

from __future__ import annotations

import json

import pytest

from roofline.cli import main


def ask(capsys, *argv):
    code = main(["explain", *argv])
    out = capsys.readouterr()
    return code, out.out, out.err


def answer(capsys, *argv):
    code, out, err = ask(capsys, *argv, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_main_job(capsys):
    code, out, _ = ask(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--lang", "en")
    assert code == 0
    for part in (
        "Llama-3.1-8B, bf16 · decode, batch 1, context 2048 · NVIDIA H100 SXM (datasheet)",
        "memory-bound  1.05 FLOP/byte, ridge 295: 0.36 % of peak compute",
        "219 tokens/s, 4.56 ms a token",
        "climbs to 59.9 FLOP/byte and no further: no batch reaches the ridge",
        "from batch 56 the cache outweighs the weights",
        "int4 weights at most 3.69×",
        "ridge 295",
        "prefill of 2048",
        "limit 59.9",
    ):
        assert part in " ".join(out.split()) or part in out, part


def test_chinese(capsys):
    _, out, _ = ask(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--lang", "zh")
    assert "访存受限" in out and "任何 batch 都到不了 ridge" in out


def test_the_locale_chooses_the_language(capsys, monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "访存受限" in ask(capsys, "llama-3.1-8b", "--on", "h100-sxm")[1]


def test_json_has_the_promised_keys(capsys):
    data = answer(capsys, "llama-3.1-8b", "--on", "h100-sxm")
    assert data["schema"] == "roofline.explain/1"
    assert {"name", "parameters", "active_parameters"} <= data["model"].keys()
    assert data["step"]["groups"] == [{"batch": 1, "new_tokens": 1, "past": 2047}]
    kinds = {"weights", "kv_read", "kv_write", "state", "compulsory", "activations"}
    assert kinds <= data["bytes"].keys()
    assert {"overlapped_s", "serial_s", "tokens_per_s"} <= data["bound"].keys()
    assert {"code", "memory_bound", "shares", "levers"} <= data["verdict"].keys()
    assert data["crossing_batch"] is None and data["crossing_reason"] == "kv"
    assert {"weight_bytes", "kv_bytes_per_sequence", "max_batch"} <= data["fits"].keys()
    keys = {"name", "count", "flops", "bytes", "intensity", "seconds", "bound"}
    assert all(keys <= op.keys() for op in data["operators"])
    assert data["flops"] == sum(op["flops"] for op in data["operators"])
    # by hand: 32 layers of (q,k,v,o + gate,up,down) and the head, and attention over 2048
    matrices = 32 * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336) + 4096 * 128256
    assert data["bytes"]["weights"] == 2 * matrices
    assert data["flops"] == 2 * matrices + 32 * 2 * 32 * 256 * 2048
    assert data["bytes"]["kv_read"] == 32 * 8 * 256 * 2 * 2048
    assert data["bytes"]["kv_write"] == 32 * 8 * 256 * 2


@pytest.mark.parametrize(
    ("argv", "groups"),
    [
        (["--batch", "8", "--context", "8k"], [(8, 1, 8191)]),
        (["--phase", "prefill", "--prompt", "512"], [(1, 512, 0)]),
        (["--phase", "prefill", "--prompt", "512", "--past", "4096"], [(1, 512, 4096)]),
        (["--phase", "prefill", "--past", "1024", "--context", "2048"], [(1, 1024, 1024)]),
        (["--phase", "verify", "--drafted", "4"], [(1, 5, 2047)]),
        (
            ["--phase", "mixed", "--batch", "7", "--prompt", "512", "--prefill-batch", "2"],
            [(7, 1, 2047), (2, 512, 0)],
        ),
    ],
)
def test_steps(capsys, argv, groups):
    data = answer(capsys, "llama-3.1-8b", "--on", "h100-sxm", *argv)
    found = [(g["batch"], g["new_tokens"], g["past"]) for g in data["step"]["groups"]]
    assert found == groups


@pytest.mark.parametrize(
    "name",
    ["llama-3.1-8b", "Llama-3.1-8B", "meta-llama/Llama-3.1-8B", "LLAMA_3.1_8B", "llama3.1-8b"],
)
def test_names_are_forgiving(capsys, name):
    assert answer(capsys, name, "--on", "H100 SXM")["model"]["name"] == "Llama-3.1-8B"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["lama-3.1-8b", "--on", "h100-sxm"], "(did you mean llama-3.1-8b"),
        (["llama-3.1-8b", "--on", "h10-sxm"], "h100-sxm"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--weights", "int44"], "no format 'int44'"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--batch", "0"], "batch must be from 1"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--batch", "-3"], "--batch must be a whole number"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--batch", "1e9999"], "--batch must be a whole"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--context", "9" * 18], "context must be from 1"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--usable", "1.5"], "--usable must be over 0"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--lang", "tlh"], "no words for the language"),
        (["llama-3.1-8b", "--on", "a100-80gb-sxm", "--compute", "fp8"], "no fp8 compute ceiling"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--prompt", "9"], "--prompt has no meaning"),
        (["./nowhere/config.json", "--on", "h100-sxm"], "no such file"),
        (["llama-3.1-8b", "--on", "here"], "has not been measured yet"),
        (["llama-3.1-8b", "--on", "h100-sxm", "--achieved", "fast"], "--achieved is a speed"),
    ],
)
def test_wrong_questions_get_one_sentence(capsys, argv, says):
    code, out, err = ask(capsys, *argv)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.startswith("roofline: ") and err.count("\n") == 1


def test_a_precision_without_a_unit_is_said_not_guessed(capsys):
    data = answer(capsys, "llama-3.1-8b", "--on", "v100-sxm-32gb")
    assert any("no known bf16 ceiling" in note for note in data["notes"])
    assert data["machine"]["compute"]["bf16"]["precision"] == "fp16"


def test_a_machine_file_of_ones_own(capsys, tmp_path):
    assert main(["machines", "--template"]) == 0
    path = tmp_path / "mine.toml"
    path.write_text(capsys.readouterr().out)
    assert answer(capsys, "llama-3.1-8b", "--on", str(path))["ridge"] == pytest.approx(295.2, 1e-3)


def test_operators_and_why(capsys):
    _, out, _ = ask(
        capsys, "llama-3.1-8b", "--on", "h100-sxm", "--operators", "--why", "--no-chart",
        "--lang", "en",
    )  # fmt: skip
    assert "mlp.gate_up" in out
    assert "ridge = peak / bandwidth = 989 TFLOP/s / 3.35 TB/s = 295.2 FLOP/byte" in out
    assert "NVIDIA H100 Tensor Core GPU datasheet" in out


def test_a_step_that_does_not_fit(capsys):
    data = answer(capsys, "llama-3.1-70b", "--on", "rtx-4090")
    assert data["verdict"]["code"] == "capacity"
    assert data["fits"]["max_batch"] == 0
    assert data["verdict"]["memory_bound"] is True


def test_a_closed_pipe_is_no_error(capsys):
    import subprocess
    import sys

    command = (
        f"{sys.executable} -m roofline sweep llama-3.1-8b --on h100-sxm "
        "--batch 1:200000:1 --format csv | head -1"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin"})  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.startswith("model,machine")
