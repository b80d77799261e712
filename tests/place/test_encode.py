"""What an encoder reached: typed in with ``--phase encode``, and as sequences a second."""

import json

import pytest

from roofline.cli import main

BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768,
    "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
    "torch_dtype": "float16",
}  # fmt: skip
# 12·(4·768² + 2·768·3072) weights a token, 12·4·768 a pair, and the pooler once a sequence
EACH = 2 * 12 * (4 * 768**2 + 2 * 768 * 3072) * 512 + 12 * 4 * 768 * 512**2 + 2 * 768**2


@pytest.fixture
def place(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps(BERT))

    def run(verb, *options):
        model = ("--model", str(tmp_path)) if verb == "place" else (str(tmp_path),)
        code = main([verb, *model, "--on", "h100-sxm", *options])
        out, err = capsys.readouterr()
        return code, out + err

    return run


@pytest.mark.parametrize(
    "said",
    [("--context", "512", "--seconds", "16ms"), ("--prompt", "512", "--tokens-per-s", "1024000")],
)
def test_place_holds_an_encode_under_its_roof(place, said):
    options = ("--weights", "fp16", "--phase", "encode", "--batch", "32")
    code, text = place("place", *options, *said, "--json")
    found = json.loads(text)
    assert (code, found["flops"], found["bytes"]["kv"]) == (0, 32 * EACH, 0)
    assert found["share"] == pytest.approx(32 * EACH / 989e12 / 0.016, rel=1e-3)
    code, text = place("place", *options, *said, "--lang", "en")
    assert code == 0
    assert "20 % of the roof (3.13 ms at best, 16 ms measured)" in text
    assert "prefill" not in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--seconds", "16ms"), "--phase encode"),
        (("--phase", "encode", "--seconds", "16ms"), "--context"),
        (("--phase", "encode", "--context", "5", "--prompt", "5", "--seconds", "1s"), "one length"),
        (("x.json", "--phase", "encode"), "typed in"),
    ],
)
def test_what_place_cannot_tell_is_asked(place, options, says):
    code, text = place("place", "--weights", "fp16", *options)
    assert (code, "Traceback" in text) == (2, False)
    assert says in text


def test_sequences_a_second(place):
    options = ("--batch", "32", "--json", "--achieved")
    code, text = place("explain", *options, "2000 sequences/s")
    assert code == 0
    assert json.loads(text)["achieved"]["seconds"] == pytest.approx(0.016)
    assert json.loads(text) == json.loads(place("explain", *options, "2000 req/s")[1])
    code, text = place("explain", *options, "2000 parsecs")
    assert (code, "sequences/s" in text) == (2, True)
