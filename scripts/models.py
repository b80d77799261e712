"""Keep the model catalogue in order: its layout, and the tables of it in the docs.

    python scripts/models.py              rewrite the catalogue's layout and the docs' tables
    python scripts/models.py trim FILE    what of a published config.json the catalogue keeps

The catalogue is written so that it can be read and compared by people: one block a model,
names in its first line, the source and the config in a line each.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CATALOGUE = os.path.join(ROOT, "src", "roofline", "model", "catalogue.json")
PAGES = {lang: os.path.join(ROOT, "docs", lang, "models.md") for lang in ("en", "zh")}

BLOCKS = ("source", "config", "quant_config")
BEGIN, END = "<!-- models: made by scripts/models.py -->", "<!-- end of models -->"

DROPPED = frozenset(
    # Which tokens mean what, and how text is generated.
    """bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id
    image_token_id image_token_index video_token_id audio_token_id vision_start_token_id
    vision_end_token_id boa_token_id boi_token_id boi_token_index eoa_token_id
    eoa_token_index eoi_token_id eoi_token_index media_placeholder_token_id ignore_index
    image_placeholder video_placeholder tokenizer_class prefix
    bad_words_ids begin_suppress_tokens suppress_tokens diversity_penalty do_sample
    early_stopping encoder_no_repeat_ngram_size exponential_decay_length_penalty
    forced_bos_token_id forced_eos_token_id length_penalty max_length min_length
    no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores
    remove_invalid_values repetition_penalty temperature top_k top_p typical_p
    num_logits_to_keep
    """
    # How positions are turned, values scaled, softened and normalised: no shape, no product.
    """rope_theta rope_scaling rope_parameters rope_interleave rope_local_base_freq
    swa_rope_theta compress_rope_theta rotary_pct rotary_emb_base rotary_dim
    partial_rotary_factor original_max_position_embeddings initial_context_length
    indexer_rope_interleave use_mrope layer_norm_eps layer_norm_epsilon layernorm_epsilon
    rms_norm_eps norm_eps norm_epsilon hc_eps hc_sinkhorn_iters swiglu_limit swiglu_alpha
    attention_value_scale routed_scaling_factor moe_router_scaling_factor norm_topk_prob
    scoring_func router_jitter_noise final_logit_softcapping attn_logit_softcapping
    logit_scale query_pre_attn_scalar clip_qkv time_step_floor time_step_limit
    time_step_max time_step_min
    """
    # How it was trained.
    """attention_dropout attn_pdrop embd_pdrop resid_pdrop hidden_dropout activation_dropout
    dropout layerdrop classifier_dropout initializer_range initializer_factor init_std
    router_aux_loss_coef aux_loss_alpha seq_aux pretraining_tp ep_size
    rescale_prenorm_residual residual_in_fp32 gradient_checkpointing
    """
    # How the library that reads it behaves.
    """transformers_version auto_map _name_or_path use_cache output_attentions
    output_hidden_states output_router_logits return_dict return_dict_in_generate
    problem_type id2label label2id pruned_heads task_specific_params torchscript
    use_bfloat16 tf_legacy_loss finetuning_task chunk_size_feed_forward
    cross_attention_hidden_size is_decoder is_encoder_decoder add_cross_attention
    tie_encoder_decoder use_mamba_kernels _attn_implementation
    """.split()
)
"""Keys of a config.json that fix neither a shape nor a format."""

DROPPED_IN_BLOCKS = frozenset(
    "num_sink_tokens sparsify unshifted_sink use_prefill_window_in_sink_attention "
    "window_length".split()
)
"""Within ``block_configs``: always null or false in what is published."""

HEADINGS = {
    "en": ("name", "model", "parameters", "active", "architecture", "format", "released", "also"),
    "zh": ("名称", "模型", "参数量", "激活参数", "架构", "格式", "发布", "别名"),
}


def trim(value: Any, drop: frozenset[str] = DROPPED) -> Any:
    """A published config without the keys that fix neither a shape nor a format."""
    if isinstance(value, dict):
        return {
            k: trim(v, DROPPED_IN_BLOCKS if k == "block_configs" else drop)
            for k, v in value.items()
            if k not in drop and not (k == "use_bidirectional_attention" and v is not True)
        }
    if isinstance(value, list):
        return [trim(v, drop) for v in value]
    return value


def layout(catalogue: dict[str, Any]) -> str:
    """The catalogue as text: a block a model, a line each for names, source and config."""
    blocks = []
    for model in catalogue["models"]:
        names = {k: v for k, v in model.items() if k not in BLOCKS}
        lines = [dump(names)[:-1]]
        lines += [f'  "{k}": {dump(model[k])}' for k in BLOCKS if k in model]
        blocks.append(",\n".join(lines) + "}")
    head = f'{{"schema": {dump(catalogue["schema"])},\n "models": [\n'
    return head + ",\n".join(blocks) + "\n]}\n"


def dump(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def weights(model: dict[str, Any]) -> str:
    """The format of a checkpoint's weights, in a word."""
    config = model["config"]
    inner = config.get("text_config", config)
    method = model.get("quant_config", {}).get("quantization", {}).get("quant_algo")
    quantised = config.get("quantization_config") or inner.get("quantization_config") or {}
    method = method or quantised.get("quant_algo") or quantised.get("quant_method")
    dtype = config.get("torch_dtype") or config.get("dtype")
    return str(method or dtype or inner.get("torch_dtype") or inner.get("dtype") or "").lower()


def table(models: list[dict[str, Any]], lang: str) -> str:
    """The models as a Markdown table."""
    rows = [HEADINGS[lang], ("---",) * len(HEADINGS[lang])]
    for model in models:
        count = model["parameters_published"] + (" ¹" if "parameters_note" in model else "")
        rows.append(
            (
                f"`{model['id']}`",
                f"[{model['name']}]({model['source']['url']})",
                count,
                model.get("active_published", ""),
                f"`{model['config']['model_type']}`",
                weights(model),
                model["released"] or "",
                ", ".join(f"`{a}`" for a in model["aliases"]),
            )
        )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([BEGIN, "", *lines, "", END])


def page(text: str, models: list[dict[str, Any]], lang: str) -> str:
    """A page with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    _, result, after = rest.partition(END)
    if not result:
        raise SystemExit(f"docs/{lang}/models.md lacks the lines that the table goes between")
    return before + table(models, lang) + after


def read(path: str) -> str:
    """A file's text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(args: list[str]) -> None:
    """Run the command line."""
    if args[:1] == ["trim"] and len(args) == 2:
        print(dump(trim(json.loads(read(args[1])))))
        return
    if args:
        raise SystemExit(__doc__)
    catalogue = json.loads(read(CATALOGUE))
    texts = {CATALOGUE: layout(catalogue)}
    texts |= {p: page(read(p), catalogue["models"], lang) for lang, p in PAGES.items()}
    for path, text in texts.items():
        if text != read(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print("rewritten:", os.path.relpath(path, ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
