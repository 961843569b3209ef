"""Models with attention in all layers as GGUF files, by llama.cpp's converter; see gguf_converters.py."""

import math
import statistics

from gguf_converters import Case, floats, rope_of

# --- attention and networks


def phi3_keys(config):
    rope = rope_of(config)
    head = config["hidden_size"] // config["num_attention_heads"]
    original = rope["original_max_position_embeddings"]
    scale = config["max_position_embeddings"] / original
    return {"rope.dimension_count": int(rope["partial_rotary_factor"] * head),
            "rope.scaling.original_context_length": original,
            "rope.scaling.attn_factor": math.sqrt(1 + math.log(scale) / math.log(original)),
            "attention.sliding_window": config["sliding_window"] or 0}  # fmt: skip


def phi3_extra(config):
    rope = rope_of(config)
    return {f"rope_factors_{name}.weight": floats(rope[f"{name}_factor"]) for name in ("short", "long")}


def hunyuan_keys(config):
    rope, width = rope_of(config), config["head_dim"]
    return {"rope.freq_base": rope["rope_theta"] * rope["alpha"] ** (width / (width - 2)), "rope.scaling.type": "none",
            "rope.scaling.factor": 1.0}  # fmt: skip


def gpt_oss(name, tensor, config):
    if name == "self_attn.sinks":
        return [("=attn_sinks.weight", tensor)]
    if name.endswith("experts.down_proj"):
        return [("mlp.experts.down_proj.weight", tensor.transposed())]
    if name.endswith("experts.down_proj_bias"):
        return [("mlp.experts.down_proj.bias", tensor)]
    if name.endswith("experts.gate_up_proj"):
        gate, up = tensor.transposed().every_second()
        return [("mlp.experts.gate_proj.weight", gate), ("mlp.experts.up_proj.weight", up)]
    if name.endswith("experts.gate_up_proj_bias"):
        experts, width = tensor.shape
        gate, up = tensor.reshaped(experts, width, 1).every_second()
        return [("mlp.experts.gate_proj.bias", gate.reshaped(experts, width // 2)),
                ("mlp.experts.up_proj.bias", up.reshaped(experts, width // 2))]  # fmt: skip
    return [(name, tensor)]


def llama4(name, tensor, config):
    name = name.replace("feed_forward.", "mlp.")
    if name.endswith("experts.down_proj"):
        return [(name + ".weight", tensor.transposed())]
    if name.endswith("experts.gate_up_proj"):
        turned = tensor.transposed()
        gate, up = turned.split(turned.shape[1] // 2, turned.shape[1] // 2)
        return [("mlp.experts.gate_proj.weight", gate), ("mlp.experts.up_proj.weight", up)]
    return [(name, tensor)]


def llama3_divisors(config):
    rope = rope_of(config)
    low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
    context, width = rope["original_max_position_embeddings"], config["head_dim"]
    divisors = []
    for pair in range(width // 2):
        length = 2 * math.pi * rope["rope_theta"] ** (2 * pair / width)
        if length < context / high:
            divisors.append(1.0)
        elif length > context / low:
            divisors.append(factor)
        else:
            smooth = (context / length - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return {"rope_freqs.weight": floats(divisors)}


# --- latent attention


def latent_keys(config):
    keys = {"attention.head_count_kv": 1, "attention.kv_lora_rank": config["kv_lora_rank"],
            "attention.q_lora_rank": config["q_lora_rank"],
            "attention.key_length": config["kv_lora_rank"] + config["qk_rope_head_dim"],
            "attention.value_length": config["kv_lora_rank"],
            "attention.key_length_mla": config["qk_nope_head_dim"] + config["qk_rope_head_dim"],
            "attention.value_length_mla": config["v_head_dim"], "rope.dimension_count": config["qk_rope_head_dim"],
            "expert_feed_forward_length": config["moe_intermediate_size"],
            "expert_shared_count": config.get("n_shared_experts") or config.get("num_shared_experts"),
            "expert_weights_scale": float(config["routed_scaling_factor"]),
            "leading_dense_block_count": config.get("first_k_dense_replace", 1)}  # fmt: skip
    if config.get("norm_topk_prob"):
        keys["expert_weights_norm"] = True
    if rope_of(config).get("mscale_all_dim"):
        keys["rope.scaling.yarn_log_multiplier"] = 0.1 * rope_of(config)["mscale_all_dim"]
    return keys


def index_keys(config):
    return latent_keys(config) | {
        "expert_gating_func": 2, "attention.indexer.head_count": config["index_n_heads"],
        "attention.indexer.key_length": config["index_head_dim"], "attention.indexer.top_k": config["index_topk"],
        **({"attention.indexer.types": [t == "full" for t in config["indexer_types"]]} if "indexer_types" in config else {})}  # fmt: skip


def latent(name, tensor, config):
    if name.endswith("e_score_correction_bias"):
        return [("=exp_probs_b.bias", tensor)]
    if not name.endswith("kv_b_proj.weight"):
        return [(name, tensor)]
    keys, values = config["qk_nope_head_dim"], config["v_head_dim"]
    k_b, v_b = tensor.reshaped(config["num_attention_heads"], keys + values, config["kv_lora_rank"]).split(keys, values)
    return [("=attn_k_b.weight", k_b.transposed()), ("=attn_v_b.weight", v_b)]


LATENT_NAMES = {
    "self_attn.q_a_proj": "attn_q_a", "self_attn.q_b_proj": "attn_q_b", "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.indexer.wq_b": "indexer.attn_q_b", "self_attn.indexer.wk": "indexer.attn_k",
    "self_attn.indexer.k_norm": "indexer.k_norm", "self_attn.indexer.weights_proj": "indexer.proj",
}  # fmt: skip

# --- Gemma


def gemma_keys(config):
    slides = [t == "sliding_attention" for t in config["layer_types"]]
    ropes = config["rope_parameters"]
    return {"attention.sliding_window": config["sliding_window"], "attention.sliding_window_pattern": slides,
            "attention.shared_kv_layers": config["num_kv_shared_layers"],
            "embedding_length_per_layer_input": config["hidden_size_per_layer_input"],
            "rope.freq_base": ropes["full_attention"]["rope_theta"], "rope.freq_base_swa": ropes["sliding_attention"]["rope_theta"],
            "final_logit_softcapping": config["final_logit_softcapping"]}  # fmt: skip


def gemma3n_keys(config):
    quantile = statistics.NormalDist().inv_cdf
    return gemma_keys(config) | {
        "altup.active_idx": config["altup_active_idx"], "altup.num_inputs": config["altup_num_inputs"],
        "activation_sparsity_scale": [quantile(part) if part else -math.inf for part in config["activation_sparsity_pattern"]]}  # fmt: skip


def gemma3n(name, tensor, config):
    if name.endswith("correct_output_scale"):
        return [("=altup_correct_scale.weight", tensor)]
    return [(name, tensor)]


GEMMA_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm", "embed_tokens_per_layer": "per_layer_token_embd",
    "per_layer_model_projection": "per_layer_model_proj", "per_layer_projection_norm": "per_layer_proj_norm",
    "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
    "altup_projections": "altup_proj", "altup_unembed_projections": "altup_unembd_proj",
    "altup.modality_router": "altup_router", "altup.router_norm": "altup_router_norm",
    "altup.prediction_coefs": "altup_predict_coef", "altup.correction_coefs": "altup_correct_coef",
    "laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r", "laurel.post_laurel_norm": "laurel_post_norm",
    "post_feedforward_layernorm_1": "post_ffw_norm_1", "post_feedforward_layernorm_2": "post_ffw_norm_2",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
}  # fmt: skip


def full_heads(config, name, absent):
    own = config["per_layer_config"]
    return next(iter(own.values())).get(name, absent)


def gemma4_keys(config):
    full = full_heads(config, "head_dim", config["head_dim"])
    kv_heads = full_heads(config, "num_key_value_heads", config["num_key_value_heads"])
    sharing = config["num_hidden_layers"] - config["num_kv_shared_layers"]
    widths = [config["intermediate_size"] * (2 if config["use_double_wide_mlp"] and i >= sharing else 1)
              for i in range(config["num_hidden_layers"])]  # fmt: skip
    return gemma_keys(config) | {
        "attention.key_length": full, "attention.value_length": full, "attention.key_length_swa": config["head_dim"],
        "attention.value_length_swa": config["head_dim"], "feed_forward_length": widths,
        "attention.head_count_kv": [config["num_key_value_heads"] if t == "sliding_attention" else kv_heads for t in config["layer_types"]],
        "rope.dimension_count": full, "rope.dimension_count_swa": config["head_dim"],
        "expert_used_count": config["top_k_experts"], "expert_feed_forward_length": config["moe_intermediate_size"]}  # fmt: skip


def gemma4(name, tensor, config):
    whole = {"layer_scalar": "layer_output_scale.weight", "router.scale": "ffn_gate_inp.scale", "router.proj.weight": "ffn_gate_inp.weight",
             "router.per_expert_scale": "ffn_down_exps.scale", "experts.gate_up_proj": "ffn_gate_up_exps.weight",
             "experts.down_proj": "ffn_down_exps.weight"}  # fmt: skip
    return [(f"={whole[name]}" if name in whole else name, tensor)]


def gemma4_divisors(config):
    half = full_heads(config, "head_dim", config["head_dim"]) // 2
    turning = int(2 * half * config["rope_parameters"]["full_attention"]["partial_rotary_factor"] / 2)
    return {"rope_freqs.weight": floats([1.0] * turning + [1e30] * (half - turning))}


def permuted(name, tensor, config):
    """Pairs that turn together side by side."""
    if not name.startswith(("self_attn.q_proj.", "self_attn.k_proj.")):
        return [(name, tensor)]
    heads = config["num_attention_heads"] if ".q_proj" in name else config["num_key_value_heads"]
    width = tensor.shape[0] // heads
    return [(name, tensor.order([h * width + half * width // 2 + i for h in range(heads) for i in range(width // 2) for half in (0, 1)]))]


CASES = [
    Case("llama_mha", "llama", convert=permuted, same_bits=False, same_state=False),
    Case("smollm3", "smollm3", {"no_rope_layers": [1, 1, 1, 0, 1, 1]}, convert=permuted, same_bits=False, same_state=False),
    Case("qwen2", "qwen2", {"use_sliding_window": False, "layer_types": ["full_attention"] * 4}),
    Case("qwen3", "qwen3"),
    Case("qwen3_moe", "qwen3moe", keys=lambda c: {"expert_feed_forward_length": c["moe_intermediate_size"]}),
    Case("phi3", "phi3", keys=phi3_keys, extra=phi3_extra),
    Case("phi3_long", "phi3", keys=phi3_keys, extra=phi3_extra),
    Case("hunyuan_v1_dense", "hunyuan-dense", keys=hunyuan_keys, same_bits=False,
         names={"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm"}),
    Case("gpt_oss", "gpt-oss", {"swiglu_limit": 7.0}, convert=gpt_oss,
         keys=lambda c: {"attention.sliding_window": c["sliding_window"], "expert_feed_forward_length": c["intermediate_size"]},
         names={"post_attention_layernorm": "post_attention_norm", "mlp.router": "ffn_gate_inp"}),
    Case("llama4_text", "llama4",
         {"attention_chunk_size": 8192, "attn_scale": 0.1, "floor_scale": 8192, "no_rope_layers": [1, 1, 1, 0, 1, 1],
          "layer_types": ["chunked_attention"] * 3 + ["full_attention"] + ["chunked_attention"] * 2},
         convert=llama4, extra=llama3_divisors, same_bits=False,
         keys=lambda c: {"feed_forward_length": c["intermediate_size_mlp"], "expert_feed_forward_length": c["intermediate_size"],
                         "interleave_moe_layer_step": c["interleave_moe_layer_step"]},
         names={"mlp.router": "ffn_gate_inp"}),
    Case("deepseek_v2_lite", "deepseek2", {"rope_parameters.mscale": 0.8}, keys=latent_keys, names=LATENT_NAMES, convert=latent,
         same_bits=False),
    Case("deepseek_v3", "deepseek2", {"rope_parameters.mscale": 0.8}, keys=lambda c: latent_keys(c) | {"expert_gating_func": 2},
         names=LATENT_NAMES, convert=latent, same_bits=False),
    Case("glm4_moe_lite", "deepseek2", keys=latent_keys, names=LATENT_NAMES, convert=latent),
    Case("deepseek_v32", "deepseek32", {"rope_parameters.mscale": 0.8}, keys=index_keys, names=LATENT_NAMES, convert=latent,
         same_bits=False),
    Case("glm_moe_dsa", "glm-dsa", keys=index_keys, names=LATENT_NAMES, convert=latent),
    Case("gemma3n_text", "gemma3n", keys=gemma3n_keys, names=GEMMA_NAMES, convert=gemma3n, same_bits=False),
    Case("gemma4_ple", "gemma4", keys=gemma4_keys, names=GEMMA_NAMES, convert=gemma4, extra=gemma4_divisors),
    Case("gemma4_keqv_moe", "gemma4", keys=gemma4_keys, names=GEMMA_NAMES, convert=gemma4, extra=gemma4_divisors),
]  # fmt: skip
