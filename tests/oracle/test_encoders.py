"""Encoders of transformers: parameters, and FLOPs of a batch, equal to the unit."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from roofline.count.step import Step
from roofline.model.load import from_config

BASES = {
    "albert": "Albert", "bert": "Bert", "camembert": "Camembert", "distilbert": "DistilBert",
    "electra": "Electra", "ernie": "Ernie", "eurobert": "EuroBert", "gte": "Gte",
    "jina_embeddings_v3": "JinaEmbeddingsV3", "modernbert": "ModernBert", "mpnet": "MPNet",
    "nomic_bert": "NomicBert", "roberta": "Roberta", "roberta-prelayernorm": "RobertaPreLayerNorm",
    "roc_bert": "RoCBert", "xlm-roberta": "XLMRoberta", "xlm-roberta-xl": "XLMRobertaXL",
}  # fmt: skip
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 96, "vocab_size": 100, "max_position_embeddings": 64}  # fmt: skip
DEBERTA: list[dict[str, Any]] = [
    {},
    {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "share_att_key": True,
     "position_buckets": 8, "norm_rel_ebd": "layer_norm", "position_biased_input": False},
    {"relative_attention": True, "pos_att_type": ["c2p"], "position_buckets": -1},
    {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8,
     "conv_kernel_size": 3},
]  # fmt: skip
BATCH, TOKENS = 3, 7


def counted(kind: str, name: str, device: str, **keys: Any) -> tuple[list[int], list[int]]:
    """Parameters and FLOPs of the class, and ours."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from torch.utils.flop_counter import FlopCounterMode

    made = getattr(transformers, name, None)
    if made is None:
        pytest.skip(f"this transformers has no {name}")
    transformers.logging.set_verbosity_error()
    config = transformers.CONFIG_MAPPING[kind](**keys)
    with torch.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made._from_config(config, attn_implementation="eager").eval()
        ids = torch.zeros(BATCH, TOKENS, dtype=torch.long)
    model.requires_grad_(False)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        model(input_ids=ids)
    counts = counter.get_flop_counts()
    flops = counter.get_total_flops() - sum(
        sum(counts.get(f"{name}.{path}", {}).values())
        for path, module in model.named_modules()
        if "Rotary" in type(module).__name__
    )
    data = json.loads(json.dumps(config.to_dict(), default=str))
    ours = from_config({**data, "architectures": [name]}, kind)
    work = ours.encoder().work()
    parameters = sum(p.numel() for p in model.parameters())
    return [parameters, flops], [ours.parameters, work.total("flops", Step.encode(BATCH, TOKENS))]


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("ending", ["Model", "ForSequenceClassification"])
def test_an_encoder_is_its_class(kind: str, ending: str) -> None:
    keys = {"num_labels": 1} if ending != "Model" else {}
    theirs, ours = counted(kind, BASES[kind] + ending, "meta", **keys)
    assert ours == theirs


@pytest.mark.parametrize("keys", DEBERTA)
def test_deberta_is_its_class(keys: dict[str, Any]) -> None:
    theirs, ours = counted("deberta-v2", "DebertaV2ForSequenceClassification", "cpu",
                           **SMALL, **keys)  # fmt: skip
    assert ours == theirs


@pytest.mark.parametrize(("kind", "name"), [("t5", "T5"), ("mt5", "MT5"), ("umt5", "UMT5")])
@pytest.mark.parametrize("way", ["relu", "gated-gelu"])
def test_t5_is_its_encoder(kind: str, name: str, way: str) -> None:
    keys = {"d_model": 64, "num_layers": 3, "num_heads": 4, "d_kv": 16, "d_ff": 96,
            "vocab_size": 100, "feed_forward_proj": way}  # fmt: skip
    theirs, ours = counted(kind, f"{name}EncoderModel", "cpu", **keys)
    assert ours == theirs


SEQ2SEQ = {
    "bart": "bart.BartEncoder", "blenderbot": "blenderbot.BlenderbotEncoder",
    "blenderbot-small": "blenderbot_small.BlenderbotSmallEncoder",
    "marian": "marian.MarianEncoder", "mbart": "mbart.MBartEncoder", "mvp": "mvp.MvpEncoder",
    "pegasus": "pegasus.PegasusEncoder", "plbart": "plbart.PLBartEncoder",
}  # fmt: skip


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_the_encoder_of_an_encoder_decoder(kind: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from importlib import import_module

    from torch.utils.flop_counter import FlopCounterMode

    module, name = SEQ2SEQ[kind].split(".")
    config = transformers.CONFIG_MAPPING[kind](
        encoder_layers=3, encoder_ffn_dim=96, encoder_attention_heads=4, d_model=64,
        decoder_attention_heads=8, decoder_ffn_dim=80, decoder_layers=2, vocab_size=100,
        pad_token_id=1, scale_embedding=False,
    )  # fmt: skip
    config._attn_implementation = "eager"
    found = import_module(f"transformers.models.{module}.modeling_{module}")
    model = getattr(found, name)(config).eval().requires_grad_(False)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        model(input_ids=torch.zeros(BATCH, TOKENS, dtype=torch.long))
    ours = from_config(json.loads(json.dumps(config.to_dict(), default=str)), kind)
    assert ours.phase == "decode"
    encoder = ours.encoder()
    assert encoder.parameters == sum(p.numel() for p in model.parameters())
    flops = encoder.work().total("flops", Step.encode(BATCH, TOKENS))
    assert flops == counter.get_total_flops()
