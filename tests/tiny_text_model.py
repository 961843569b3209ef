"""A tiny model that reads text: a byte to a token, random weights, and keys that are as hard to keep in few bits as those
of real models, with a constant in some channels that is far larger than what the text changes."""

import array
import json
import random
import struct

HIDDEN, HEADS, KEY_HEADS, WIDTH, INNER, LAYERS = 64, 4, 2, 32, 96, 3
VOCABULARY = 256
CONTEXT = 4096


def byte_letters():
    """GPT-2's letters for bytes, in the order of the ids that are given here."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters, others = {}, 0
    for byte in range(256):
        letters[byte] = chr(byte if byte in plain else 0x100 + others)
        others += byte not in plain
    return letters


def tokenizer():
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
        "pre_tokenizer": level, "decoder": level,
        "model": {"type": "BPE", "vocab": {letter: byte for byte, letter in byte_letters().items()}, "merges": []},
    }  # fmt: skip


def config():
    return {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu", "hidden_size": HIDDEN,
        "intermediate_size": INNER, "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "head_dim": WIDTH,
        "num_hidden_layers": LAYERS, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "tie_word_embeddings": True, "vocab_size": VOCABULARY, "torch_dtype": "float32", "use_sliding_window": False,
    }  # fmt: skip


def tensors(seed):
    draw = random.Random(seed)

    def normal(*shape, scale):
        count = 1
        for size in shape:
            count *= size
        return list(shape), [draw.gauss(0, scale) for _ in range(count)]

    yield "model.embed_tokens.weight", *normal(VOCABULARY, HIDDEN, scale=1.0)
    yield "model.norm.weight", [HIDDEN], [1.0] * HIDDEN
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{name}{norm}.weight", [HIDDEN], [1.0] * HIDDEN
        for part, rows in (("q", HEADS * WIDTH), ("k", KEY_HEADS * WIDTH), ("v", KEY_HEADS * WIDTH)):
            yield f"{name}self_attn.{part}_proj.weight", *normal(rows, HIDDEN, scale=0.2)
            bias = [0.0] * rows
            if part == "k":
                for channel in range(0, rows, 16):
                    bias[channel] = 12.0
            yield f"{name}self_attn.{part}_proj.bias", [rows], bias
        yield f"{name}self_attn.o_proj.weight", *normal(HIDDEN, HEADS * WIDTH, scale=0.15)
        yield f"{name}mlp.gate_proj.weight", *normal(INNER, HIDDEN, scale=0.1)
        yield f"{name}mlp.up_proj.weight", *normal(INNER, HIDDEN, scale=0.1)
        yield f"{name}mlp.down_proj.weight", *normal(HIDDEN, INNER, scale=0.1)


def write(folder, seed=1):
    """config.json, tokenizer.json and model.safetensors into the folder."""
    (folder / "config.json").write_text(json.dumps(config()))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    header, data = {}, bytearray()
    for name, shape, values in tensors(seed):
        begin = len(data)
        data += array.array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
