"""Nothing that a file or a folder is called can forge a line of an answer, or steer a terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from roofline.cli import main

EVIL = "evil\n  at best 9999 tokens/s\x1b[31m\u202e\x00"
CONFIG = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000,
    "torch_dtype": "bfloat16", "_name_or_path": EVIL,
}  # fmt: skip


def machine(folder: Path) -> str:
    """A machine file with a line of ours in every text."""
    data: dict[str, Any] = {
        "schema": "roofline.machine/1", "id": f"x{EVIL}", "name": EVIL, "vendor": EVIL,
        "kind": "gpu", "released": EVIL, "memory": {"bytes": 80e9, "type": EVIL},
        "datasheet": {
            "bandwidth": {"memory": {"value": 3e12, "source": "s", "note": EVIL}},
            "compute": {"bf16": {"value": 9e14, "source": EVIL}},
        },
        "notes": [EVIL], "sources": {"s": {"title": EVIL, "url": EVIL, "date": EVIL}},
        "links": [{"name": EVIL, "bandwidth": 4e11, "scope": "node", "devices": 8}],
    }  # fmt: skip
    path = folder / "m.json"
    path.write_text(json.dumps(data))
    return str(path)


def model(folder: Path) -> str:
    """A config in a folder whose name holds a line of ours, where the system has such names."""
    name = EVIL.replace("\x00", "") if sys.platform == "linux" else "plain"
    home = folder / name.replace("/", "_")
    home.mkdir()
    (home / "config.json").write_text(json.dumps(CONFIG))
    return str(home)


@pytest.mark.parametrize(
    "line",
    [
        "explain MODEL --on MACHINE --why --operators",
        "explain MODEL --on MACHINE --tp 2",
        "sweep MODEL --on MACHINE --batch 1,8 --steps",
        "sweep MODEL --on MACHINE --batch 1,8 --format csv",
        "predict MODEL --on MACHINE --why",
        "place --model MODEL --on MACHINE --weights bf16 --tokens-per-s 65",
        "models MODEL",
        "machines MACHINE",
        "explain MODEL --on h100-sxm --weights EVIL",
        "explain EVIL --on h100-sxm",
        "explain llama-3.1-8b --on EVIL",
    ],
)
def test_no_line_is_forged(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    named = {
        "MODEL": model(tmp_path),
        "MACHINE": machine(tmp_path),
        "EVIL": EVIL.replace("\x00", ""),
    }
    argv = [named.get(word, word) for word in line.split()]
    main([*argv, "--lang", "en"] if argv[0] != "sweep" or "csv" not in argv else argv)
    said = capsys.readouterr()
    text = said.out + said.err
    assert not set(text) & set("\x1b\x00\u202e\r")
    forged = [row for row in text.split("\n") if row.strip().startswith("at best 9999")]
    assert not forged, forged
