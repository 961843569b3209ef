"""Models whose layers keep states of fixed size as GGUF files, by llama.cpp's converter; see gguf_converters.py."""

import math

from gguf_attention_models import LATENT_NAMES, latent, latent_keys
from gguf_converters import Case, rope_of
from gguf_writer import joined

def rates(tensor):
    return tensor.map(lambda logarithm: -math.exp(logarithm))


def plus_one(tensor):
    return tensor.map(lambda weight: weight + 1)


def delta_keys(config):
    return {"ssm.conv_kernel": config["linear_conv_kernel_dim"], "ssm.state_size": config["linear_key_head_dim"],
            "ssm.group_count": config["linear_num_key_heads"], "ssm.time_step_rank": config["linear_num_value_heads"],
            "ssm.inner_size": config["linear_value_head_dim"] * config["linear_num_value_heads"],
            "attention.recurrent_layers": [t == "linear_attention" for t in config["layer_types"]],
            "rope.dimension_count": int(config["head_dim"] * rope_of(config)["partial_rotary_factor"]),
            "expert_feed_forward_length": config.get("moe_intermediate_size"),
            "expert_shared_feed_forward_length": config.get("shared_expert_intermediate_size")}  # fmt: skip


def qwen3_next(name, tensor, config):
    if name.endswith("A_log"):
        return [("=ssm_a", rates(tensor))]
    if name.endswith("dt_bias"):
        return [("=ssm_dt.bias", tensor)]
    if name.endswith("conv1d.weight"):
        return [(name, tensor.squeezed())]
    if name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
        return [(name, plus_one(tensor))]
    if not name.endswith("in_proj_qkvz.weight"):
        return [(name, tensor)]
    heads, key = config["linear_num_key_heads"], config["linear_key_head_dim"]
    values = config["linear_num_value_heads"] // heads * config["linear_value_head_dim"]
    rows = lambda first, count: [h * 2 * (key + values) + first + i for h in range(heads) for i in range(count)]
    qkv = rows(0, key) + rows(key, key) + rows(2 * key, values)
    return [("=attn_qkv.weight", tensor.order(qkv)), ("=attn_gate.weight", tensor.order(rows(2 * key + values, values)))]


def in_turn(config, width):
    """Rows of value heads: the first of each key head, the second of each, ..."""
    heads = config["linear_num_key_heads"]
    shared = config["linear_num_value_heads"] // heads
    return [(h * shared + v) * width + i for v in range(shared) for h in range(heads) for i in range(width)]


def qwen35(name, tensor, config):
    values = config["linear_value_head_dim"]
    behind = 2 * config["linear_num_key_heads"] * config["linear_key_head_dim"]
    if name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
        tensor = tensor.order([*range(behind), *(behind + row for row in in_turn(config, values))])
    elif name.endswith("in_proj_z.weight"):
        tensor = tensor.order(in_turn(config, values))
    elif name.endswith(("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias")):
        tensor = tensor.order(in_turn(config, 1))
    elif name.endswith("out_proj.weight"):
        tensor = tensor.transposed().order(in_turn(config, values)).transposed()
    return qwen3_next(name, tensor, config)


DELTA_NAMES = {
    "post_attention_layernorm": "post_attention_norm",
    "linear_attn.in_proj_ba": "ssm_ba", "linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.conv1d": "ssm_conv1d",
    "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
}  # fmt: skip


def kimi_keys(config):
    return latent_keys(config) | {
        "attention.head_count_kv": [0 if t == "linear_attention" else 1 for t in config["layer_types"]],
        "attention.key_length": config["kv_lora_rank"] + config["qk_rope_head_dim"], "attention.value_length": None,
        "context_length": config["model_max_length"], "expert_used_count": config["num_experts_per_token"],
        "expert_gating_func": 2, "ssm.conv_kernel": config["linear_conv_kernel_dim"], "kda.head_dim": config["linear_head_dim"]}  # fmt: skip


def kimi(name, tensor, config):
    name = name.replace("block_sparse_moe.", "mlp.")
    for theirs, ours in (("w1", "gate_proj"), ("w2", "down_proj"), ("w3", "up_proj")):
        name = name.replace(f"experts.{theirs}.", f"experts.{ours}.")
    if name.endswith("A_log"):
        return [("=ssm_a", rates(tensor))]
    if name.endswith("dt_bias"):
        return [("=ssm_dt.bias", tensor)]
    if name.endswith("conv1d.weight"):
        channels, _, kernel = tensor.shape
        return [(name, tensor.reshaped(1, channels, 1, kernel))]
    return latent(name, tensor, config)


KDA_NAMES = {f"self_attn.{ours}": f"ssm_{theirs}" for ours, theirs in
             (("q_conv1d", "conv1d_q"), ("k_conv1d", "conv1d_k"), ("v_conv1d", "conv1d_v"), ("f_a_proj", "f_a"),
              ("f_b_proj", "f_b"), ("g_a_proj", "g_a"), ("g_b_proj", "g_b"), ("b_proj", "beta"), ("o_norm", "norm"))}  # fmt: skip


def mamba_keys(config):
    return {"context_length": 1 << 20, "feed_forward_length": 0, "attention.head_count": 0,
            "ssm.conv_kernel": config["conv_kernel"], "ssm.inner_size": config["intermediate_size"],
            "ssm.state_size": config["state_size"], "ssm.time_step_rank": config["time_step_rank"],
            "attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"], "ssm.dt_b_c_rms": False}  # fmt: skip


def mamba2_keys(config):
    return {"context_length": 1 << 20, "feed_forward_length": 0, "attention.head_count": 0, "attention.key_length": None,
            "attention.value_length": None, "ssm.conv_kernel": config["conv_kernel"],
            "ssm.inner_size": config["num_heads"] * config["head_dim"], "ssm.state_size": config["state_size"],
            "ssm.time_step_rank": config["num_heads"], "ssm.group_count": config["n_groups"],
            "attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"]}  # fmt: skip


def mamba(name, tensor, config):
    name = name.replace("mixer.", "mamba.")
    if name.endswith("A_log"):
        return [("=ssm_a", rates(tensor))]
    if name.endswith("conv1d.weight"):
        return [(name, tensor.squeezed())]
    if name.endswith(".D"):
        return [("=ssm_d", tensor)]
    return [(name, tensor)]


def mamba2(name, tensor, config):
    groups = config.get("n_groups") or config.get("mamba_n_groups")
    if name.endswith("dt_bias"):
        return [("=ssm_dt.bias", tensor)]
    if name.endswith("mixer.norm.weight") or name.endswith("mamba.norm.weight"):
        return [("=ssm_norm.weight", tensor.reshaped(groups, tensor.shape[0] // groups))]
    if name.endswith(("A_log", ".D")):
        tensor = tensor.reshaped(tensor.shape[0], 1)
    return mamba(name, tensor, config)


MAMBA_NAMES = {
    "embeddings": "token_embd", "norm_f": "output_norm", "norm": "attn_norm",
    "mamba.in_proj": "ssm_in", "mamba.conv1d": "ssm_conv1d", "mamba.x_proj": "ssm_x", "mamba.dt_proj": "ssm_dt",
    "mamba.out_proj": "ssm_out", "mamba.dt_layernorm": "ssm_dt_norm", "mamba.b_layernorm": "ssm_b_norm",
    "mamba.c_layernorm": "ssm_c_norm",
}  # fmt: skip


def jamba_keys(config):
    attends = lambda i: i % config["attn_layer_period"] == config["attn_layer_offset"]
    return {"attention.head_count_kv": [config["num_key_value_heads"] if attends(i) else 0 for i in range(config["num_hidden_layers"])],
            "ssm.conv_kernel": config["mamba_d_conv"], "ssm.inner_size": config["mamba_expand"] * config["hidden_size"],
            "ssm.state_size": config["mamba_d_state"], "ssm.time_step_rank": config["mamba_dt_rank"]}  # fmt: skip


def jamba(name, tensor, config):
    return mamba(name.replace("feed_forward.", "mlp."), tensor, config)


def falcon_keys(config):
    return {"ssm.conv_kernel": config["mamba_d_conv"], "ssm.inner_size": config["mamba_d_ssm"],
            "ssm.state_size": config["mamba_d_state"], "ssm.time_step_rank": config["mamba_n_heads"],
            "ssm.group_count": config["mamba_n_groups"],
            "attention.key_length": config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
            "attention.value_length": config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]}  # fmt: skip


def falcon(name, tensor, config):
    """Factors go into the weights."""
    attention = config["attention_in_multiplier"]
    factors = {"down_proj": config["mlp_multipliers"][1], "gate_proj": config["mlp_multipliers"][0],
               "k_proj": config["key_multiplier"] * attention, "q_proj": attention, "v_proj": attention,
               "o_proj": config["attention_out_multiplier"], "out_proj": config["ssm_out_multiplier"],
               "lm_head": config["lm_head_multiplier"], "embed_tokens": config["embedding_multiplier"]}  # fmt: skip
    stem = name.removesuffix(".weight").rpartition(".")[2]
    if stem in factors:
        tensor = tensor.map(lambda weight: weight * factors[stem])
    if stem == "in_proj":
        inner, states = config["mamba_d_ssm"], config["mamba_n_groups"] * config["mamba_d_state"]
        sizes = (inner, inner, states, states, config["mamba_n_heads"])
        parts = tensor.split(*sizes)
        scale = config["ssm_in_multiplier"]
        tensor = joined([part.map(lambda weight, f=factor: weight * scale * f)
                         for part, factor in zip(parts, config["ssm_multipliers"], strict=True)])  # fmt: skip
    return mamba2(name.replace("feed_forward.", "mlp."), tensor, config)


def nemotron_keys(config):
    types = config["layers_block_type"]
    of = lambda values: [values.get(t, 0) for t in types]
    return {"block_count": len(types), "feed_forward_length": of({"mlp": config["intermediate_size"], "moe": config["moe_intermediate_size"]}),
            "attention.head_count_kv": of({"full_attention": config["num_key_value_heads"]}),
            "attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"], "ssm.conv_kernel": config["conv_kernel"],
            "ssm.state_size": config["ssm_state_size"], "ssm.group_count": config["n_groups"],
            "ssm.inner_size": config["mamba_num_heads"] * config["mamba_head_dim"], "ssm.time_step_rank": config["mamba_num_heads"],
            "expert_feed_forward_length": config["moe_intermediate_size"],
            "expert_shared_feed_forward_length": config["moe_shared_expert_intermediate_size"],
            "expert_shared_count": config["n_shared_experts"], "expert_weights_norm": config["norm_topk_prob"],
            "expert_weights_scale": config["routed_scaling_factor"], "moe_latent_size": config["moe_latent_size"]}  # fmt: skip


def nemotron(name, tensor, config):
    if name.endswith("e_score_correction_bias"):
        return [("=exp_probs_b.bias", tensor)]
    if name.endswith("mixer.norm.weight"):
        return mamba2(name, tensor, config)
    for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
        name = name.replace(f"mixer.{part}", f"self_attn.{part}")
    for part in ("experts.", "shared_experts.", "gate.", "up_proj", "down_proj", "fc1_latent_proj", "fc2_latent_proj"):
        name = name.replace(f"mixer.{part}", f"mlp.{part}")
    return mamba2(name, tensor, config)


def lfm2_keys(config):
    return {"attention.head_count_kv": [0 if t == "conv" else config["num_key_value_heads"] for t in config["layer_types"]],
            "shortconv.l_cache": config["conv_L_cache"]}  # fmt: skip


def lfm2(name, tensor, config):
    return [(name, tensor.squeezed() if name.endswith("conv.conv.weight") else tensor)]


LFM2_NAMES = {
    "embedding_norm": "token_embd_norm", "operator_norm": "attn_norm", "ffn_norm": "ffn_norm",
    "conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj",
    "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
    "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
}  # fmt: skip


CASES = [
    Case("qwen3_next", "qwen3next", keys=delta_keys, names=DELTA_NAMES, convert=qwen3_next, same_bits=False),
    Case("qwen3_5_text", "qwen35", keys=delta_keys, names=DELTA_NAMES, convert=qwen35, same_bits=False, same_state=False),
    Case("qwen3_5_moe_text", "qwen35moe", keys=delta_keys, names=DELTA_NAMES, convert=qwen35, same_bits=False, same_state=False),
    Case("kimi_linear", "kimi-linear", keys=kimi_keys, names=LATENT_NAMES | KDA_NAMES, convert=kimi, same_bits=False),
    Case("mamba", "mamba", keys=mamba_keys, names=MAMBA_NAMES, convert=mamba, same_bits=False),
    Case("mamba2", "mamba2", keys=mamba2_keys, names=MAMBA_NAMES, convert=mamba2, same_bits=False),
    Case("jamba", "jamba", keys=jamba_keys, convert=jamba, same_bits=False,
         names=MAMBA_NAMES | {"final_layernorm": "output_norm", "pre_ff_layernorm": "ffn_norm", "mlp.router": "ffn_gate_inp"}),
    Case("falcon_h1", "falcon-h1", keys=falcon_keys, convert=falcon, same_bits=False,
         names=MAMBA_NAMES | {"final_layernorm": "output_norm", "pre_ff_layernorm": "ffn_norm"}),
    Case("falcon_h1_norm", "falcon-h1", keys=falcon_keys, convert=falcon, same_bits=False,
         names=MAMBA_NAMES | {"final_layernorm": "output_norm", "pre_ff_layernorm": "ffn_norm"}),
    Case("nemotron_h", "nemotron_h_moe", keys=nemotron_keys, names=MAMBA_NAMES, convert=nemotron, same_bits=False),
    Case("nemotron_h_latent", "nemotron_h_moe", keys=nemotron_keys, convert=nemotron, same_bits=False,
         names=MAMBA_NAMES | {"mlp.fc1_latent_proj": "ffn_latent_down", "mlp.fc2_latent_proj": "ffn_latent_up"}),
    Case("lfm2", "lfm2", keys=lfm2_keys, names=LFM2_NAMES, convert=lfm2),
]  # fmt: skip
