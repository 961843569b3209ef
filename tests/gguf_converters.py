"""Golden folders as GGUF files: keys, names and transforms of llama.cpp's converter, family by family.

A Case says which golden becomes which architecture, and what of its config GGUF can't say: the folder that the file is
compared with has that changed. `keys` and `convert` are what the family has of its own.
"""

import array
import dataclasses
import re
from typing import Callable

from gguf_writer import Tensor, stack

# What is behind "model.layers.N." or "model.", without ".weight" and ".bias".
NAMES = {
    "embed_tokens": "token_embd", "lm_head": "output", "norm": "output_norm",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
    "mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
}  # fmt: skip
PREFIX = re.compile(r"^(model\.|backbone\.)")
LAYER = re.compile(r"^layers\.(\d+)\.(.+)$")
EXPERT = re.compile(r"^(.*experts)\.(\d+)\.(\w+)\.weight$|^(.*altup_(?:unembed_)?projections)\.(\d+)()\.weight$")


@dataclasses.dataclass
class Case:
    golden: str
    architecture: str
    config: dict = dataclasses.field(default_factory=dict)  # what GGUF can't say
    keys: Callable = lambda config: {}
    names: dict = dataclasses.field(default_factory=dict)
    # (name behind "layers.N.", tensor, config): [(name, tensor)] with names as `names` has them, or whole GGUF names of a
    # layer after "=".
    convert: Callable = lambda name, tensor, config: [(name, tensor)]
    extra: Callable = lambda config: {}  # tensors that the converter makes
    same_bits: bool = True
    same_state: bool = True  # its numbers lie in the same order


def rope_of(config):
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def base_keys(config):
    """What the converter writes for every architecture."""
    keys = {"block_count": config.get("num_hidden_layers"), "vocab_size": config["vocab_size"]}
    for ours, theirs in (("max_position_embeddings", "context_length"), ("hidden_size", "embedding_length"),
                         ("intermediate_size", "feed_forward_length"), ("num_attention_heads", "attention.head_count"),
                         ("num_key_value_heads", "attention.head_count_kv"), ("n_group", "expert_group_count"),
                         ("topk_group", "expert_group_used_count"), ("head_dim", "attention.key_length"),
                         ("head_dim", "attention.value_length"), ("num_experts_per_tok", "expert_used_count")):  # fmt: skip
        if config.get(ours) is not None:
            keys[theirs] = config[ours]
    for name in ("num_local_experts", "num_experts", "n_routed_experts"):
        if config.get(name) is not None:
            keys["expert_count"] = config[name]
    for name in ("rms_norm_eps", "norm_eps"):
        if config.get(name) is not None:
            keys["attention.layer_norm_rms_epsilon"] = float(config[name])
    rope = rope_of(config)
    if "rope_theta" in rope:
        keys["rope.freq_base"] = float(rope["rope_theta"])
    if rope.get("rope_type") == "yarn":
        keys |= {"rope.scaling.type": "yarn", "rope.scaling.factor": float(rope["factor"]),
                 "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
                 "rope.scaling.yarn_beta_fast": float(rope["beta_fast"]),
                 "rope.scaling.yarn_beta_slow": float(rope["beta_slow"])}  # fmt: skip
    return keys


def to_gguf(case, config, tensors):
    """(metadata, {name: Tensor}) of a golden's config and {name: Tensor}."""
    metadata = {"general.architecture": case.architecture}
    for key, value in {**base_keys(config), **case.keys(config)}.items():
        if value is not None:
            metadata[f"{case.architecture}.{key}"] = value
    names = NAMES | case.names
    made = {}

    def add(layer, name, tensor):
        if name.startswith("="):
            made[f"blk.{layer}.{name[1:]}" if layer is not None else name[1:]] = tensor
            return
        stem, suffix = name, ""
        for ending in (".weight", ".bias"):
            if name.endswith(ending):
                stem, suffix = name.removesuffix(ending), ending
        made[(f"blk.{layer}." if layer is not None else "") + names[stem] + suffix] = tensor

    for name, tensor in stacked_experts(tensors).items():
        rest = PREFIX.sub("", name)
        layer = None
        if match := LAYER.match(rest):
            layer, rest = int(match[1]), match[2]
        for new, changed in case.convert(rest, tensor, config):
            add(layer, new, changed)
    return metadata, made | case.extra(config)


def stacked_experts(tensors):
    """Experts of their own as one tensor, and other matrices that are numbered."""
    result, parts = {}, {}
    for name, tensor in tensors.items():
        if match := EXPERT.match(name):
            base, index, part = (match[k] if match[1] else match[k + 3] for k in (1, 2, 3))
            parts.setdefault(".".join(filter(None, (base, part, "weight"))), {})[int(index)] = tensor
        else:
            result[name] = tensor
    for name, each in parts.items():
        result[name] = stack([each[e] for e in range(len(each))])
    return result


def floats(values):
    return Tensor([len(values)], array.array("f", values))
