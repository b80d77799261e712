"""Which keys of a config change what a model costs: for those that no reader asked for.

A reader asks for the keys that its family knows. Of the rest most are harmless (token ids,
dropout, rotary tables, training), and some are not: a new kind of cache, of experts, of layer.
Their names say so, because makers name numbers of things and widths alike; what is only
announced, and known to change nothing that is counted, is listed.
"""

from __future__ import annotations

import re

from ..pattern import pattern

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

NAMED = frozenset(
    """num_experts num_local_experts n_routed_experts moe_num_experts num_experts_per_tok
    moe_intermediate_size n_shared_experts kv_lora_rank q_lora_rank qk_rope_head_dim
    index_topk index_n_heads state_size ssm_state_size mamba_num_heads linear_num_value_heads
    linear_num_key_heads attention_chunk_size hybrid_override_pattern block_configs
    full_attention_interval num_kv_shared_layers hidden_size_per_layer_input compress_ratios
    layers_block_type attn_layer_period expert_layer_period zero_expert_num
    moe_latent_size attn_type_list sparse_attention_config linear_attn_config
    cross_attention_layers cross_layer_interval use_cla is_moe""".split()
)
"""Unread and set, they are refused whatever their value."""

_THINGS = r"(?:experts?|heads?|layers|blocks|stacks|streams|cycles|loops|memories|slots)"
_COUNTED = pattern(
    rf"(?:(?:num|n|no|moe|number)_(?:\w+_)?{_THINGS}(?:_\w+)?"
    r"|\w*_lora_rank|\w*latent_(?:size|dim|rank|width)|(?:kv|cache)_(?:compress|share|group)\w*"
    r"|(?:ssm|mamba|linear|conv|rwkv|delta|gdn|kda|swa|hyper|hc|mhc|engram|ngram|memory)_\w*"
    r"(?:size|dim|heads?|rank|num|width|kernel|layers|mult|rows)\w*"
    rf"|index(?:er)?_\w*(?:topk|top_k|size|{_THINGS}|dim)\w*"
    r"|\w*(?:experts?|moe|mlp|ffn|head|heads)_\w*(?:intermediate|hidden)?_?(?:size|dim|width)"
    r"|\w+_(?:pattern|layer_types|layers_enum|period)"
    r")\Z"
)
"""Numbers of things and widths of them, as makers name them: refused where nobody read them."""

_LOOKS = pattern(
    r"expert|moe|head|rank|latent|(?:\A|_)kv(?:_|\Z)|ssm|mamba|conv|state|index|topk|top_k|memory"
    r"|ngram|shar|compress|width|(?:\A|_)dims?(?:_|\Z)|size|intermediate|ffn|mlp|layer|block|cycle"
    r"|loop|depth|pattern|freq|interval|period|group|chunk|window|sparse|stream|adapter|gate"
    r"|gating|sink|lora|hash|cross|recur|hyper|residual|bias|parallel|norm|attention|attn"
)
"""What else could be structure: refused where a type was told by somebody, not by the config."""

_HARMLESS = pattern(
    r"token|dropout|_drop|drop_|pdrop|coef|(?:\A|_)eps|epsilon|init|loss|rope|rotary|theta|scal|factor"
    r"|multiplier|softcap|soft_cap|dtype|fp32|kernel|impl|label|beam|vision|visual|image|video"
    r"|audio|speech|flash|fused|cache_implementation|max_|_max\b|seq_len|seqlen|length|tp\Z"
    r"|jitter|router_|routed_|topk_prob|topk_group|topk_method|n_group|expert_group|score|scoring"
    r"|penalty|pretrain|checkpoint|gradient|training|chunk_size|temperature|version|truncat"
    r"|mask|summary|time_step|learned_pos|alpha|beta|offload|quant|lr_|attn_uses|clip|prefix"
    r"|output_|return_|pooler|problem|finetun|template|partition|degree|ep_size|layer_?norm_e"
    r"|norm_topk|norm_type|norm_eps|_act\Z|activation|softmax|logit|logn|mup|std\Z|wte|verbose"
)
"""Words of names that decide nothing that is counted."""

_ANNOUNCED = frozenset(
    """head_dim num_key_value_heads num_attention_heads num_kv_heads intermediate_size
    dense_intermediate_size intermediate_size_mlp num_query_groups kv_channels multi_query
    mamba_headdim mamba_expand qk_head_dim num_hidden_layers num_layers n_layer n_head n_embd
    hidden_size layer_types mlp_layer_types max_window_layers sliding_window
    sliding_window_size sliding_window_pattern _sliding_window_pattern
    prefix_dense_sliding_window_pattern no_rope_layers no_rope_layer_interval
    num_nextn_predict_layers mtp_num_hidden_layers num_mtp_modules mtp_transformer_layers
    mtp_layers_block_type mtp_hybrid_override_pattern num_logits_to_keep first_k_dense_replace
    full_attn_idxs attn_layer_offset global_attn_every_n_layers interleave_moe_layer_step
    index_block_size index_head_dim index_local_blocks index_share_for_mtp_iteration
    index_skip_topk_offset index_topk_blocks index_topk_freq indexer_rope_interleave
    shared_experts_intermediate_size vocab_size_per_layer_input activation_sparsity_pattern
    attention_types attention_type block_size num_random_blocks conv_L_cache local_attention
    num_codebooks num_decoder_layers encoder_attention_heads encoder_ffn_dim encoder_layers
    share_encoder_decoder_embeddings classifier_proj_size input_embedding_size
    output_embedding_size task_type_vocab_size layer_rope_theta hc_eps hc_sinkhorn_iters
    hc_magnitude use_expert_bias use_parallel_residual attention_bias use_qk_norm qk_norm_type
    residual_in_fp32 rescale_prenorm_residual norm_reduction_force_float32 use_gemma_norm
    use_routing_bias use_moe_router_bias enable_moe_fp32_combine moe_renormalize
    moe_shared_expert_overlap moe_routed_scaling_factor moe_norm_min expert_selection_fn
    shared_expert_combination_strategy expert_dtype num_heads ln_before_adapter
    add_out_norm mamba_norm_before_gate kda_safe_gate kda_lower_bound
    gate_soft_cap cls_token_id parallel_attn attention_value_scale patch_size num_channels
    moe_layer_freq n_inner num_gqa_groups moe_shared_expert_intermediate_size qkv_multipliers
    attention_head_dim use_mixed_mlp_moe moe_drop_tokens moe_layer_num_skipped
    enable_expert_tensor_parallelism num_experts_per_token mlp_type mlp_bias use_bias
    moe_capacity moe_group moe_use_aux_free moe_gate moe_multimodal_dispatch_use_allgather
    dim_model_base embedding_fraction n_ctx shared_moe_mode moe_aux_loss_coeff norm_head
    norm_softmax multi_query_attention shared_layers hash_layers weight_block_size hidden_sizes
    image_size tensor_parallel_degree sequence_parallel num_image_tokens query_num norm_bias
    pad_vocab_size_multiple pad_vocab_size_to_multiple_of embed_layernorm norm_after
    layernorm_full_attention_alpha postnorm attention_layer_norm group_query_attention
    use_mla norm_expert_weight use_sliding_window""".split()
)
"""Announced by published configs, and without effect on what is counted where nobody reads it."""


_SWITCHES = frozenset(
    """attention_bias use_bias mlp_bias norm_bias use_qk_norm qk_norm_type sliding_window
    sliding_window_size sliding_window_pattern use_expert_bias use_parallel_residual
    parallel_attn norm_after attention_layer_norm use_mla add_out_norm""".split()
)
"""Of these, what does change shapes or windows where somebody else's architecture obeys it."""

SYNONYMS = (
    frozenset(
        """num_experts num_local_experts n_routed_experts moe_num_experts
    num_routed_experts""".split()
    ),
    frozenset(
        """num_experts_per_tok num_experts_per_token moe_topk moe_k moe_top_k top_k_experts
    experts_per_token num_selected_experts""".split()
    ),
    frozenset(
        """n_shared_experts num_shared_experts num_shared_expert
    moe_num_shared_experts""".split()
    ),
    frozenset("""moe_intermediate_size expert_ffn_hidden_size moe_ffn_hidden_size""".split()),
)
"""Names of one thing: what another of them says too needs no reader."""


def left(data: dict[str, Any], seen: set[str], *, strict: bool) -> list[str]:
    """Keys that are set, that nobody read, and that change what a model costs.

    Args:
        data: the config.
        seen: keys that were read.
        strict: whether all that looks like structure counts, not what surely is alone.
    """
    result = []
    for key in sorted(data.keys() - seen):
        value = data[key]
        if not value or _said(data, seen, key):
            continue
        if key in NAMED:
            result.append(key)
        elif strict and key in _SWITCHES:
            if not (key.startswith("sliding") and data.get("use_sliding_window") is False):
                result.append(key)
        elif key in _ANNOUNCED or _HARMLESS.search(key) or not _structural(value):
            continue
        elif (_COUNTED.match(key) and _number(value)) or (strict and _LOOKS.search(key)):
            result.append(key)
    return result


def _said(data: dict[str, Any], seen: set[str], key: str) -> bool:
    # Whether a key that was read says the same of the same thing.
    names = next((names for names in SYNONYMS if key in names), frozenset())
    return any(data.get(n) == data[key] for n in names & seen)


def _number(value: Any) -> bool:
    # Numbers of things, and lists with one a layer; a switch or a word is none.
    if isinstance(value, list):
        return all(isinstance(v, (int, float, str)) for v in value)
    return isinstance(value, int) and not isinstance(value, bool)


def _structural(value: Any) -> bool:
    if isinstance(value, float):
        return False
    return not isinstance(value, str) or bool(re.fullmatch(r"[\w*\-,.|]{8,}", value))
