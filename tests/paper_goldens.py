#!/usr/bin/env python3
"""Writes the goldens of the models in paper_models.py into tests/golden; paper_models_test.py holds them to it.

    tests/paper_goldens.py [NAME...]

Each has random weights, drawn from its seed by the standard library alone, and what the scalar model makes of them.
"""

import array
import json
import math
import pathlib
import random
import struct
import sys

import paper_models

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
PROMPT, GREEDY = 80, 24

RETNET = {"architectures": ["RetNetForCausalLM"], "model_type": "retnet", "hidden_size": 48, "num_hidden_layers": 4, "num_heads": 4,
          "expand_k": 1, "expand_v": 2, "intermediate_size": 80, "hidden_act": "swish", "use_output_gate": True,
          "elementwise_affine": True, "norm_eps": 1e-3, "max_position_embeddings": 512, "vocab_size": 160,
          "tie_word_embeddings": False}
CLA = {"architectures": ["HunYuanForCausalLM"], "model_type": "hunyuan", "hidden_size": 48, "intermediate_size": 40,
       "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu", "attention_bias": False,
       "use_cla": True, "cla_share_factor": 2, "use_qk_norm": True, "num_experts": 4, "moe_topk": 1, "use_mixed_mlp_moe": True,
       "num_shared_expert": 1, "moe_drop_tokens": False, "moe_random_routing_dropped_token": False, "rms_norm_eps": 1e-3,
       "rope_theta": 10000.0, "rope_scaling": {"alpha": 100.0, "factor": 1.0, "type": "dynamic"},
       "max_position_embeddings": 512, "vocab_size": 160, "tie_word_embeddings": True}
# Three layers share, none of their keys is normed, and networks are dense: the paper's own form.
CLA_PLAIN = {**CLA, "num_hidden_layers": 7, "cla_share_factor": 3, "use_qk_norm": False, "num_experts": 1,
             "use_mixed_mlp_moe": False, "rope_scaling": None}
KIMI_K3 = {"architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3", "tie_word_embeddings": False,
           "text_config": {
               "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "hidden_size": 48, "vocab_size": 160,
               "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 72,
               "hidden_act": "situ", "activation_situ_beta": 1.5, "activation_situ_linear_beta": 2.5, "attn_res_block_size": 2,
               "linear_attn_config": {"full_attn_layers": [4, 5], "kda_layers": [1, 2, 3], "num_heads": 3, "head_dim": 12,
                                      "short_conv_kernel_size": 4, "gate_lower_bound": -3.0, "use_full_rank_gate": True},
               "q_lora_rank": 20, "kv_lora_rank": 24, "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 14,
               "mla_use_nope": True, "mla_use_output_gate": True, "first_k_dense_replace": 1, "moe_layer_freq": 1,
               "num_experts": 6, "num_experts_per_token": 2, "num_shared_experts": 2, "moe_intermediate_size": 20,
               "routed_expert_hidden_size": 28, "latent_moe_use_norm": True, "moe_renormalize": True,
               "moe_router_activation_func": "sigmoid", "topk_method": "noaux_tc", "num_expert_group": 1, "topk_group": 1,
               "routed_scaling_factor": 1.7, "rms_norm_eps": 1e-3, "max_position_embeddings": 512, "tie_word_embeddings": False}}


def mlp(shapes, place, width, hidden):
    gate, up, down = paper_models.names_of_mlp(place)
    shapes |= {f"{place}.{gate}.weight": (width, hidden), f"{place}.{up}.weight": (width, hidden), f"{place}.{down}.weight": (hidden, width)}


def retnet_shapes(config):
    hidden = config["hidden_size"]
    shapes = {"model.embeddings.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        place = f"model.layers.{layer}"
        shapes |= {f"{place}.attn_norm.weight": (hidden,), f"{place}.mlp_norm.weight": (hidden,)}
        for name, rows in (("q", hidden), ("k", hidden), ("v", 2 * hidden), ("g", 2 * hidden)):
            shapes[f"{place}.attn.{name}_proj.weight"] = (rows, hidden)
        shapes[f"{place}.attn.o_proj.weight"] = (hidden, 2 * hidden)
        shapes[f"{place}.attn.g_norm_swish_gate.weight"] = (2 * hidden // config["num_heads"],)
        mlp(shapes, f"{place}.mlp", config["intermediate_size"], hidden)
    return shapes | {"model.norm.weight": (hidden,), "lm_head.weight": (config["vocab_size"], hidden)}


def hunyuan_shapes(config):
    hidden, width = config["hidden_size"], config["hidden_size"] // config["num_attention_heads"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        place = f"model.layers.{layer}"
        shapes |= {f"{place}.input_layernorm.weight": (hidden,), f"{place}.post_attention_layernorm.weight": (hidden,)}
        shapes |= {f"{place}.self_attn.{name}_proj.weight": (hidden, hidden) for name in "qo"}
        if layer % config["cla_share_factor"] == 0:
            rows = config["num_key_value_heads"] * width
            shapes |= {f"{place}.self_attn.{name}_proj.weight": (rows, hidden) for name in "kv"}
        if config["use_qk_norm"]:
            shapes |= {f"{place}.self_attn.{name}_layernorm.weight": (width,) for name in ("query", "key")}
        if config["num_experts"] == 1:
            mlp(shapes, f"{place}.mlp", config["intermediate_size"], hidden)
            continue
        shapes[f"{place}.mlp.gate.wg.weight"] = (config["num_experts"], hidden)
        for name in ["shared_mlp"] + [f"experts.{e}" for e in range(config["num_experts"])]:
            mlp(shapes, f"{place}.mlp.{name}", config["intermediate_size"], hidden)
    return shapes | {"model.norm.weight": (hidden,)}


def delta_shapes(place, linear, hidden):
    channels, width = linear["num_heads"] * linear["head_dim"], linear["head_dim"]
    shapes = {f"{place}.{name}_proj.weight": (channels, hidden) for name in "qkvg"}
    shapes |= {f"{place}.{name}_conv1d.weight": (channels, 1, linear["short_conv_kernel_size"]) for name in "qkv"}
    # The released file pads the rates to a head's width.
    return shapes | {f"{place}.f_a_proj.weight": (width, hidden), f"{place}.f_b_proj.weight": (channels, width),
                     f"{place}.b_proj.weight": (linear["num_heads"], hidden), f"{place}.A_log": (width,),
                     f"{place}.dt_bias": (channels,), f"{place}.o_norm.weight": (width,), f"{place}.o_proj.weight": (hidden, channels)}


def latent_shapes(place, config):
    hidden, heads, value = config["hidden_size"], config["num_attention_heads"], config["v_head_dim"]
    nope, shared, rank, latent = (config[key] for key in ("qk_nope_head_dim", "qk_rope_head_dim", "q_lora_rank", "kv_lora_rank"))
    return {f"{place}.q_a_proj.weight": (rank, hidden), f"{place}.q_a_layernorm.weight": (rank,),
            f"{place}.q_b_proj.weight": (heads * (nope + shared), rank),
            f"{place}.kv_a_proj_with_mqa.weight": (latent + shared, hidden), f"{place}.kv_a_layernorm.weight": (latent,),
            f"{place}.kv_b_proj.weight": (heads * (nope + value), latent), f"{place}.g_proj.weight": (heads * value, hidden),
            f"{place}.o_proj.weight": (hidden, heads * value)}


def latent_experts_shapes(place, config):
    hidden, latent, width = config["hidden_size"], config["routed_expert_hidden_size"], config["moe_intermediate_size"]
    shapes = {f"{place}.gate.weight": (config["num_experts"], hidden), f"{place}.gate.e_score_correction_bias": (config["num_experts"],),
              f"{place}.routed_expert_down_proj.weight": (latent, hidden), f"{place}.routed_expert_norm.weight": (latent,),
              f"{place}.routed_expert_up_proj.weight": (hidden, latent)}
    for expert in range(config["num_experts"]):
        mlp(shapes, f"{place}.experts.{expert}", width, latent)
    mlp(shapes, f"{place}.shared_experts", config["num_shared_experts"] * width, hidden)
    return shapes


def kimi_k3_shapes(outer):
    config, top = outer["text_config"], "language_model.model"
    hidden, linear = config["hidden_size"], config["linear_attn_config"]
    shapes = {f"{top}.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        place = f"{top}.layers.{layer}"
        shapes |= {f"{place}.{name}.weight": (hidden,) for name in ("input_layernorm", "post_attention_layernorm")}
        for branch in ("self_attention_res", "mlp_res"):
            shapes |= {f"{place}.{branch}_norm.weight": (hidden,), f"{place}.{branch}_proj.weight": (1, hidden)}
        delta = layer + 1 in linear["kda_layers"]
        shapes |= delta_shapes(f"{place}.self_attn", linear, hidden) if delta else latent_shapes(f"{place}.self_attn", config)
        if layer < config["first_k_dense_replace"]:
            mlp(shapes, f"{place}.mlp", config["intermediate_size"], hidden)
        else:
            shapes |= latent_experts_shapes(f"{place}.block_sparse_moe", config)
    shapes |= {f"{top}.output_attn_res_norm.weight": (hidden,), f"{top}.output_attn_res_proj.weight": (1, hidden)}
    return shapes | {f"{top}.norm.weight": (hidden,), "language_model.lm_head.weight": (config["vocab_size"], hidden)}


# name: config, model, its tensors, seed, bound of the logits' difference. Seeds are such that no choice is close.
GOLDENS = {
    "hunyuan_cla": (CLA, paper_models.Hunyuan, hunyuan_shapes, 8, 1e-4),
    "hunyuan_cla_plain": (CLA_PLAIN, paper_models.Hunyuan, hunyuan_shapes, 1, 1e-4),
    "kimi_k3": (KIMI_K3, paper_models.KimiK3, kimi_k3_shapes, 1, 2e-4),
    "retnet": (RETNET, paper_models.RetNet, retnet_shapes, 1, 1e-4),
}


def draw(generator, name, shape, heads):
    """float32 values of a tensor, so large that all of them matter."""
    count, columns = math.prod(shape), shape[-1]
    normal = lambda deviation: [generator.gauss(0, deviation) for _ in range(count)]
    if name.endswith("A_log"):
        values = [generator.uniform(-1, 1.5) if i < heads else 0.0 for i in range(count)]
    elif name.endswith("dt_bias"):
        values = normal(1)
    elif name.endswith("e_score_correction_bias"):
        values = [generator.uniform(-0.2, 0.2) for _ in range(count)]
    elif len(shape) == 1:
        values = [generator.uniform(0.5, 1.5) for _ in range(count)]
    elif "conv1d" in name:
        values = normal(0.6)
    elif "embed" in name:
        values = normal(0.4)
    else:
        values = normal((3 if "lm_head" in name else 1.3) / math.sqrt(columns))
    return array.array("f", values)


def draw_weights(config, shapes, seed):
    generator = random.Random(seed)
    heads = config.get("text_config", {}).get("linear_attn_config", {}).get("num_heads", 0)
    return {name: (shape, draw(generator, name, shape, heads)) for name, shape in shapes.items()}


def nested(shape, values):
    """Lists of lists, as the models read tensors."""
    if len(shape) == 1:
        return list(values)
    size = len(values) // shape[0]
    return [nested(shape[1:], values[i : i + size]) for i in range(0, len(values), size)]


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        end = len(data) + len(values) * values.itemsize
        header[name] = {"dtype": {"f": "F32", "q": "I64"}[values.typecode], "shape": shape, "data_offsets": [len(data), end]}
        data += values.tobytes()
    text = json.dumps(header)
    text += " " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode() + data)


def describe_state(history):
    """What state.json says: the tensors after the prompt, the bytes of each layer after 1, 2, ... tokens."""
    layers = []
    for layer in sorted({int(name.split(".")[1]) for name in history[0]}):
        mine = lambda state: {name: shape for name, shape in state.items() if name.startswith(f"state.{layer}.")}
        size = lambda state: sum(4 * math.prod(shape) for shape in mine(state).values())
        tensors = [{"name": name.split(".", 2)[2], "shape": shape, "bytes_f32_model": 4 * math.prod(shape)}
                   for name, shape in mine(history[PROMPT - 1]).items()]
        layers.append({"layer": layer, "tensors": tensors, "bytes_by_tokens_f32_model": [size(state) for state in history]})
    return layers


def state_history(model_class, config, weights):
    """Shapes after each number of tokens; they don't depend on the tokens."""
    model, history = model_class(config, weights), []
    for _ in range(PROMPT + GREEDY):
        model.step(0)
        history.append({name: shape for name, (shape, _) in model.state().items()})
    return history


def write_golden(name):
    config, model_class, shapes, seed, bound = GOLDENS[name]
    tensors = draw_weights(config, shapes(config), seed)
    weights = {tensor: nested(*value) for tensor, value in tensors.items()}
    model = model_class(config, weights)
    vocabulary = (config.get("text_config") or config)["vocab_size"]
    generator = random.Random(seed + 1000)
    prompt = [generator.randrange(vocabulary) for _ in range(PROMPT)]
    logits = [model.step(token) for token in prompt]
    state = {tensor: (shape, array.array("f", values)) for tensor, (shape, values) in model.state().items()}
    greedy, chosen_from, closest = [], [], math.inf
    last = logits[-1]
    for _ in range(GREEDY):
        best, second = sorted(last, reverse=True)[:2]
        closest = min(closest, best - second)
        greedy.append(last.index(best))
        chosen_from.append(last)
        last = model.step(greedy[-1])
    flat = lambda rows: array.array("f", paper_models.joined(rows))
    folder = GOLDEN / name
    folder.mkdir(exist_ok=True)
    write_tensors(folder / "model.safetensors", tensors)
    write_tensors(folder / "expected.safetensors", {
        "prompt_ids": ([PROMPT], array.array("q", prompt)), "greedy_ids": ([GREEDY], array.array("q", greedy)),
        "logits": ([PROMPT, vocabulary], flat(logits)), "greedy_logits": ([GREEDY, vocabulary], flat(chosen_from))} | state)
    everything = paper_models.joined(logits)
    deviation = math.sqrt(paper_models.dot(everything, everything) / len(everything))
    meta = {"name": name, "reference": "tests/paper_models.py, float64", "seed": seed, "suggested_atol": bound,
            "logits": {"std": deviation, "greedy_distinct_tokens": len(set(greedy))},
            "margins": {"greedy_top1_minus_top2_min": closest,
                        "topk_selection_gap_min": model.closest_pick if model.closest_pick < math.inf else None},
            "perturbation": {"below_1e-3": [{"tensor": tensor, "change": "zero"} for tensor in tensors if ".0.self_attention_res_" in tensor]}}
    write_json(folder / "meta.json", meta)
    write_json(folder / "config.json", config)
    write_json(folder / "state.json", {"name": name, "layers": describe_state(state_history(model_class, config, weights))})
    print(f"{name}: {json.dumps(meta['logits'])} {json.dumps(meta['margins'])}")


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or GOLDENS:
        write_golden(chosen)
