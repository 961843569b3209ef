"""Model descriptions for tests/check_logs: a config.json that has the shape which a record of a log tells.

A record gives layers and bytes, of one rank; what is made here is a config of a common family whose layers keep just
that: dense, latent, windows beside full attention, states beside attention, or compressed entries.
"""

import re

FRAME = {"hidden_size": 1024, "intermediate_size": 1024, "vocab_size": 1024, "num_attention_heads": 64,
         "max_position_embeddings": 1 << 24}  # fmt: skip
LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
FP8, NVFP4 = 1, 0.5625
# What a framework would be told, and the bytes of an element; the first that the record's text starts with.
KV_TYPES = (
    (r"turboquant.k8v4|k8v4", "turboquant_k8v4", 2),
    (r"fp8_ds_mla", "fp8_ds_mla", FP8), (r"fp8 raw", "fp8_raw", FP8), (r"fp8 scaled", "fp8", FP8),
    (r"fp8_e5m2", "fp8_e5m2", FP8), (r"fp8", "fp8", FP8), (r"u8|int8", "int8", 1), (r"nvfp4", "nvfp4", NVFP4),
    (r"turboquant_\w+", None, None), (r"\w+_per_token_head", None, None), (r"fp16|float16|bf16|bfloat16", "bf16", 2),
)  # fmt: skip


def kv_type(record):
    """(spelling, bytes of an element)"""
    text = str(record.get("kv_dtype") or "bf16").lower()
    for pattern, spelling, size in KV_TYPES:
        if found := re.match(pattern, text):
            return spelling or found.group(), size or record.get("arch", {}).get("elem_bytes") or 2
    return "bf16", record.get("arch", {}).get("elem_bytes") or 2


def heads_of(elements):
    """(heads, width) of keys, which with as many values make `elements` in a token's row."""
    for width in (256, 128, 64, 96, 80, 32, 16, 8, 4, 2):
        if elements % (2 * width) == 0 and elements > 0:
            return int(elements) // (2 * width), width
    raise ValueError(f"rows of {elements} elements")


def dense(layers, row_elements, tp=1):
    heads, width = heads_of(row_elements)
    return {"model_type": "llama", **FRAME, "num_hidden_layers": layers, "num_attention_heads": heads * tp,
            "num_key_value_heads": heads * tp, "head_dim": width}  # fmt: skip


def latent(layers, indexed=0):
    config = {"model_type": "deepseek_v3", **FRAME, **LATENT, "num_hidden_layers": layers}
    if indexed:
        types = ["full"] * indexed + ["shared"] * (layers - indexed)
        config |= {"model_type": "glm_moe_dsa", "index_head_dim": 128, "index_n_heads": 4, "indexer_types": types}
    return config


def rows_of(layers, keys, values):
    """Rows of so many key and value elements."""
    if values == 0:
        return {**latent(layers), "kv_lora_rank": keys - LATENT["qk_rope_head_dim"]}
    if keys == values:
        return dense(layers, keys + values)
    return {"model_type": "shape", "layers": layers, "kv_heads": 1, "head_dim": keys, "value_dim": values}


def windowed(full, sliding, window, full_elements, sliding_elements, tp):
    heads, width = heads_of(sliding_elements)
    global_heads, global_width = heads_of(full_elements)
    most = max(heads, global_heads) * tp
    return {"model_type": "gemma4_text", **FRAME, "num_hidden_layers": full + sliding, "num_attention_heads": most * 16,
            "num_key_value_heads": heads * tp, "head_dim": width, "num_global_key_value_heads": global_heads * tp,
            "global_head_dim": global_width, "attention_k_eq_v": True, "sliding_window": window,
            "layer_types": ["sliding_attention"] * sliding + ["full_attention"] * full}  # fmt: skip


def delta_state(total, columns):
    """Gated DeltaNet with heads of 128 channels: float states, then 16-bit ones."""
    for size in (4, 2):
        for keys in (16, 32, 8, 64, 4, 2, 128, 12, 20, 24, 40, 48):
            rest = total - columns * 2 * keys * 128 * 2
            per_head = 128 * 128 * size + columns * 128 * 2
            if rest > 0 and rest % per_head == 0 and rest // per_head % keys == 0:
                state = {"linear_num_key_heads": keys, "linear_num_value_heads": rest // per_head}
                return state | ({"mamba_ssm_dtype": "float32"} if size == 4 else {})
    return None


def mamba_state(total, columns):
    """Mamba 2 with heads of 8 channels, which are as good as any."""
    for size in (4, 2):
        for state in (128, 64, 256, 16):
            for groups in (8, 1, 2, 4, 16):
                rest = total - columns * 2 * groups * state * 2
                per_head = 8 * (state * size + columns * 2)
                if rest > 0 and rest % per_head == 0:
                    found = {"mamba_n_heads": rest // per_head, "mamba_d_state": state, "mamba_n_groups": groups}
                    return found | ({"mamba_ssm_dtype": "float32"} if size == 4 else {})
    return None


def kda_heads(total, columns):
    per_head = 128 * 128 * 4 + columns * 3 * 128 * 2
    return total // per_head if total % per_head == 0 else None


def types_of(full, states, word):
    return [word] * states + ["full_attention" if word != "mamba" else "attention"] * full


def latent_hybrid(full, states, total, columns):
    """KDA beside latent attention; None where the bytes are not such a state's."""
    heads = kda_heads(total, columns)
    if heads is None:
        return None
    listed = {"num_heads": heads, "head_dim": 128, "short_conv_kernel_size": 4,
              "kda_layers": list(range(1, states + 1)), "full_attn_layers": list(range(states + 1, states + full + 1))}
    return {"model_type": "kimi_linear", **FRAME, **LATENT, "num_hidden_layers": full + states,
            "num_key_value_heads": 1, "linear_attn_config": listed}  # fmt: skip


def hybrid(full, states, row_elements, state_bytes, drafted, tp, mamba_first):
    """States beside attention: of the kind whose sizes add up to the bytes."""
    heads, width = heads_of(row_elements)
    total, columns = state_bytes * tp, 3 + drafted
    config = {**FRAME, "num_hidden_layers": full + states, "num_attention_heads": heads * tp,
              "num_key_value_heads": heads * tp, "head_dim": width}  # fmt: skip
    for kind in ("mamba", "delta") if mamba_first else ("delta", "mamba"):
        if kind == "delta" and (state := delta_state(total, columns)):
            return config | state | {"model_type": "qwen3_5_text", "linear_key_head_dim": 128,
                                     "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
                                     "layer_types": types_of(full, states, "linear_attention")}  # fmt: skip
        if kind == "mamba" and (state := mamba_state(total, columns)):
            return config | state | {"model_type": "granitemoehybrid", "mamba_d_head": 8, "mamba_d_conv": 4,
                                     "layer_types": types_of(full, states, "mamba")}  # fmt: skip
    raise ValueError(f"no known state of {state_bytes} bytes on a rank")


def compressed(text, pages):
    """'43 = 2 SWA-only + 21 C4 (compress 4, with indexer) + 20 C128'"""
    plain = int(re.search(r"(\d+) SWA-only", text).group(1))
    ratios = [0] * plain
    for count, ratio in re.findall(r"(\d+) C(\d+)", text):
        ratios += [int(ratio)] * int(count)
    window = int(re.search(r"window (\d+)", " ".join(pages)).group(1))
    return {"model_type": "deepseek_v4", **FRAME, "num_hidden_layers": len(ratios), "num_key_value_heads": 1,
            "head_dim": 512, "sliding_window": window, "index_head_dim": 128, "index_n_heads": 4, "index_topk": 64,
            "compress_ratios": ratios}  # fmt: skip


def from_terms(text):
    """'78*576 + 21*132', '61*(656+132)': latent rows and index keys, times their layers."""
    terms = {}
    for layers, inner, row, factor in re.findall(r"(\d+)\s*\*\s*(?:\(([\d+ ]+)\)|(\d+))(?:\s*\*\s*(\d+))?", text):
        rows = [int(part) for part in (inner or row).split("+")]
        if factor:
            rows = [sum(rows) * int(factor)]
        for each in rows:
            terms[each] = int(layers)
    rows = [row for row in terms if row != 132]
    if len(rows) != 1 or rows[0] not in (576, 656, 1152):
        raise ValueError(f"rows of {text!r}")
    return latent(terms[rows[0]], terms.get(132, 0))


def of_bytes(bytes_per_token):
    """One layer of 16-bit heads that takes so many bytes a token."""
    return dense(1, bytes_per_token / 2)


def latent_of_bytes(bytes_per_token):
    """One latent row of so many bytes, each an element; to be kept as fp8_raw."""
    return {**latent(1), "kv_lora_rank": bytes_per_token - 64}


def names_of(record):
    """What the record's text may call a model of the catalogue, the longest names first."""
    text = re.sub(r"(\d+\.\d+)/\d+\.\d+-", r"\1-", str(record["model"]))  # "Qwen3.6/3.8-27B"
    names = set()
    for name in re.findall(r"[A-Za-z][\w.-]*\d[\w.-]*", text):
        parts = name.rstrip(".-").split("-")
        names |= {"-".join(parts[:count]) for count in range(1, len(parts) + 1) if count > 1 or len(parts) == 1}
    return sorted(names, key=len, reverse=True)
