"""Encoders, embedders and rerankers: all pairs, no cache, no decode."""

import json

import pytest

import roofline
from roofline.bound.case import Case
from roofline.cli import main
from roofline.count.quantity import all_pairs
from roofline.count.step import Step
from roofline.errors import InputError, UnsupportedError
from roofline.machine.load import load as load_machine
from roofline.model.load import from_config

BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768,
    "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
    "torch_dtype": "float16",
}  # fmt: skip
QWEN = {
    "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 256,
    "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 1000, "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}  # fmt: skip
LAYER = 256 * 256 * 2 + 2 * 256 * 128 + 3 * 256 * 512


def attention(model, step):
    work = model.encoder().work()
    return sum(c.flops for c in work.costs(step) if c.operator.kind == "attention")


def test_bert_by_hand():
    # 12 layers: 4·768² and 2·768·3072 weights a token, and 4·768 FLOPs for each of 512² pairs.
    model = from_config(BERT)
    step = Step.encode(1, 512)
    assert model.parameters == 109_482_240
    assert attention(model, step) == 12 * 4 * 768 * 512**2 == 9_663_676_416
    linear = 2 * 12 * (4 * 768**2 + 2 * 768 * 3072) * 512
    pooler = 2 * 768**2
    work = model.work()
    assert work.total("flops", step) == linear + 9_663_676_416 + pooler
    assert [work.total(k, step) for k in ("kv_read", "kv_write", "held", "state")] == [0] * 4
    assert work.total("weights", step) == linear // 512 + pooler
    # The batch multiplies sequences: eight times the FLOPs, the weights read once.
    assert work.total("flops", Step.encode(8, 512)) == 8 * work.total("flops", step)
    assert work.total("weights", Step.encode(8, 512)) == work.total("weights", step)


@pytest.mark.parametrize(("past", "new", "window"), [(0, 9, None), (0, 9, 3), (5, 7, 4),
                                                      (3, 1, 2), (0, 4, 100)])  # fmt: skip
def test_all_pairs_are_what_counting_one_by_one_gives(past, new, window):
    reach = window or 10**6
    keys = range(past + new)
    slow = sum(abs(q - k) < reach for q in range(past, past + new) for k in keys)
    group = roofline.Group(2, new, past)
    assert all_pairs(window).value((group,)) == 2 * slow


def test_a_bare_explain_encodes_and_a_decode_is_refused(tmp_path, capsys):
    path = tmp_path / "bert.json"
    path.write_text(json.dumps(BERT))

    def run(*more):
        code = main(["explain", str(path), "--on", "h100-sxm", "--no-chart", "--lang", "en", *more])
        out = capsys.readouterr()
        return code, out.out, out.err

    code, out, _ = run()
    assert code == 0 and "encode, batch 1, 512 tokens each" in out and "sequences/s" in out
    assert run("--phase", "encode", "--context", "128", "--batch", "8")[0] == 0
    for phase in ("decode", "prefill", "verify", "mixed"):
        code, _, err = run("--phase", phase)
        assert code == 2 and "--phase encode" in err and err.count("\n") == 1
    assert "one length" in run("--prompt", "5", "--context", "6")[2]
    assert "--past" in run("--past", "5")[2]
    for verb in ("predict", "page"):
        more = ["--engine", "vllm"] if verb == "predict" else []
        assert main([verb, str(path), "--on", "h100-sxm", *more]) == 2
        assert "explain" in capsys.readouterr().err
    assert (
        main(["sweep", str(path), "--on", "h100-sxm", "--format", "jsonl", "--batch", "1,4"]) == 0
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["phase"], r["context"], r["batch"]) for r in rows] == [
        ("encode", 512, 1), ("encode", 512, 4),
    ]  # fmt: skip
    assert main(["models", str(path), "--lang", "en"]) == 0
    assert "nothing is cached" in capsys.readouterr().out


def test_from_python():
    model = from_config(BERT)
    assert roofline.explain(model, "h100-sxm").step == Step.encode(1, 512)
    with pytest.raises(InputError, match='phase="encode"'):
        roofline.explain(model, "h100-sxm", Step.decode())
    case = Case(model, load_machine("h100-sxm"))
    with pytest.raises(InputError, match="--phase encode"):
        case.bound(Step.decode())
    climb = case.climb(Step.encode(1, 16))
    assert climb.limit is None and climb.crossing is not None


def test_what_comes_after_the_layers():
    words = from_config({**BERT, "architectures": ["BertForMaskedLM"]})
    scores = {**BERT, "architectures": ["BertForSequenceClassification"]}
    one = from_config({**scores, "id2label": {"0": "LABEL_0"}})
    assert words.parameters == 109_514_298  # BertForMaskedLM of transformers
    assert one.parameters == 109_483_009
    assert from_config({**scores, "num_labels": 3}).parameters == one.parameters + 2 * 769
    step = Step.encode(2, 8)
    plain = from_config(BERT).encoder().work().total("flops", step)
    assert one.work().total("flops", step) == plain + 2 * 2 * 768
    assert words.encoder().work().total("flops", step) == plain - 2 * 2 * 768**2  # no pooler


def test_a_config_that_decodes_is_a_decoder():
    model = from_config({**BERT, "architectures": ["BertLMHeadModel"], "is_decoder": True})
    assert model.causal and model.phase == "decode"
    assert model.work().total("kv_read", Step.decode(1, 10)) == 12 * 2 * 768 * 10 * 2


def test_causal_is_obeyed_in_decoders():
    model = from_config({**QWEN, "is_causal": False})
    step = Step.encode(3, 10)
    assert not model.causal and model.phase == "encode"
    assert attention(model, step) == 4 * 4 * 256 * 3 * 100
    plain = from_config(QWEN)
    assert plain.causal and plain.phase == "decode"
    # Asked to encode, a causal model keeps its mask, and has neither cache nor head.
    assert attention(plain, step) == 4 * 4 * 256 * 3 * 55
    work = plain.encoder().work()
    assert work.total("flops", step) == 2 * 4 * LAYER * 30 + 4 * 4 * 256 * 3 * 55
    assert work.total("kv_write", step) == work.total("held", step) == 0


def test_a_class_without_a_head_is_an_embedder():
    model = from_config({**QWEN, "architectures": ["Qwen2Model"]})
    assert model.causal and model.phase == "encode" and model.head is None
    ranks = from_config({**QWEN, "architectures": ["Qwen2ForSequenceClassification"],
                         "num_labels": 1})  # fmt: skip
    assert ranks.parameters == model.parameters + 256
    assert "causal" in roofline.explain(ranks, "h100-sxm", Step.encode(1, 4)).case.model.__dict__


def test_gemma_halves_its_window_both_ways():
    gemma = {
        "model_type": "gemma3_text", "hidden_size": 64, "intermediate_size": 96, "head_dim": 16,
        "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 1,
        "vocab_size": 100, "sliding_window": 8, "use_bidirectional_attention": True,
        "architectures": ["Gemma3TextModel"],
    }  # fmt: skip
    seen = sum(abs(q - k) <= 4 for q in range(20) for k in range(20))
    assert attention(from_config(gemma), Step.encode(1, 20)) == 4 * 64 * (5 * seen + 400)
    assert from_config({**gemma, "use_bidirectional_attention": "vision"}).causal


def test_types_of_remote_code_that_are_bidirectional():
    llama = {**QWEN, "model_type": "llama_bidirec", "architectures": ["LlamaBidirectionalModel"]}
    assert not from_config(llama).causal


def test_latent_attention_has_no_encode():
    with pytest.raises(UnsupportedError, match='phase="prefill"'):
        roofline.explain("deepseek-v3", "h200", Step.encode())


def test_nv_embed_with_its_latent_attention():
    text = {
        "model_type": "bidir_mistral", "architectures": ["MistralModel"], "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 32000,
    }  # fmt: skip
    config = {
        "model_type": "nvembed", "architectures": ["NVEmbedModel"], "hidden_size": 4096,
        "latent_attention_config": {"model_type": "latent_attention"}, "text_config": text,
        "torch_dtype": "float16",
    }  # fmt: skip
    model = from_config(config)
    assert model.phase == "encode" and round(model.parameters / 1e9, 2) == 7.85  # its model card
    plain = from_config(text)
    step = Step.encode(2, 100)
    ours, theirs = (m.encoder().work().total("flops", step) for m in (model, plain))
    # A token: to 32768 and back, a gated part of 16384, 512 latents; once: the latents' keys.
    token = 2 * 4096 * (2 * 32768 + 3 * 16384) + 4 * 512 * 32768
    assert ours - theirs == 200 * token + 2 * 512 * 4096 * 65536


def test_bart_encodes_with_its_own_layers():
    bart = {
        "model_type": "bart", "is_encoder_decoder": True, "d_model": 64, "encoder_layers": 3,
        "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 100,
        "max_position_embeddings": 32,
    }  # fmt: skip
    model = from_config(bart)
    assert model.phase == "decode" and attention(model, Step.encode(1, 7)) == 3 * 4 * 64 * 49
    assert roofline.explain(model, "h100-sxm", Step.encode(1, 7)).case.model.depth == 3


def test_t5_is_its_encoder():
    t5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 64,
          "num_layers": 3, "num_heads": 4, "d_kv": 16, "d_ff": 96, "vocab_size": 100}  # fmt: skip
    model = from_config(t5)
    assert attention(model, Step.encode(1, 7)) == 3 * 4 * 64 * 49
    assert any("decoder" in note for note in model.notes)
    with pytest.raises(InputError, match='phase="encode"'):
        roofline.explain(model, "h100-sxm", Step.decode())


def test_several_devices_divide_an_encoder():
    from roofline.parallel import Parallel

    step = Step.encode(4, 128)
    one = roofline.explain(from_config(BERT), "h100-sxm", step)
    two = roofline.explain(from_config(BERT), "h100-sxm", step, parallel=Parallel(tp=2))
    assert two.bound.sent > 0
    assert two.bound.flops == pytest.approx(one.bound.flops / 2, rel=1e-3)
