#!/usr/bin/env python3
"""Makes the seeds of the weight-file fuzzers: small files that between them use every feature.

Run from the project's root; rewrites seed_* in tests/corpora/gguf_fuzz and safetensors_fuzz and
leaves other files there (found by fuzzing) alone.
"""

import json
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = dict(zip((U8, I8, U16, I16, U32, I32, F32, BOOL, U64, I64, F64), "BbHhIifBQqd"))
# GGML type: (number, elements of a block, bytes of a block)
TYPES = {
    "f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q5_0": (6, 32, 22),
    "q5_1": (7, 32, 24), "q8_0": (8, 32, 34), "q2_k": (10, 256, 84), "q3_k": (11, 256, 110),
    "q4_k": (12, 256, 144), "q5_k": (13, 256, 176), "q6_k": (14, 256, 210), "iq2_xxs": (16, 256, 66),
    "iq4_nl": (20, 32, 18), "i8": (24, 1, 1), "i32": (26, 1, 4), "i64": (27, 1, 8), "bf16": (30, 1, 2),
}  # fmt: skip


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack("<" + PACK[kind], value)


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + scalar(kind, value)


def array(key, kind, values):
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(scalar(kind, value) for value in values)


def gguf(pairs, tensors, version=3, alignment=32):
    """tensors: (name, dimensions innermost first, type name)."""
    table, data = b"", b""
    for name, dimensions, kind in tensors:
        number, block, block_bytes = TYPES[kind]
        elements = 1
        for size in dimensions:
            elements *= size
        table += text(name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, number, len(data))
        data += bytes(elements // block * block_bytes)
        data += bytes(-len(data) % alignment)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs) + table
    return head + bytes(-len(head) % alignment) + data


# Architectures that between them have every kind of layer.
HEADERS = ("gemma4", "glm-dsa", "qwen35", "nemotron_h", "kimi-linear", "deepseek4", "rwkv7", "lfm2", "minimax-01",
           "falcon-h1", "openelm", "glm5-next", "jamba", "llama4", "gpt-oss")  # fmt: skip


def described_pair(key, value):
    kinds = ((bool, BOOL), (int, U32), (float, F32), (str, STRING))
    one = value[0] if isinstance(value, list) else value
    kind = next(kind for python, kind in kinds if isinstance(one, python))
    return array(key, kind, value) if isinstance(value, list) else pair(key, kind, value)


def header_seeds():
    """The descriptions of tests/data/gguf_metadata.jsonl, one of each architecture."""
    seeds = {}
    for line in (HERE.parent / "data" / "gguf_metadata.jsonl").read_text().splitlines():
        pairs = json.loads(line)["gguf"]
        name = pairs["general.architecture"]
        if name in HEADERS and f"header_{name}" not in seeds:
            seeds[f"header_{name}"] = gguf([described_pair(*item) for item in pairs.items()], [])
    return seeds


def gguf_seeds():
    llama = [
        pair("general.architecture", STRING, "llama"),
        pair("llama.block_count", U32, 1),
        pair("llama.rope.freq_base", F32, 10000.0),
        array("llama.attention.head_count_kv", I32, [2]),
        array("tokenizer.ggml.tokens", STRING, ["<s>", "a", "b"]),
        array("tokenizer.ggml.scores", F32, [0.0, -1.0, -2.0]),
    ]
    every = [pair(f"k{kind}", kind, 1) for kind in PACK]
    every += [array(f"a{kind}", kind, [0, 1]) for kind in PACK]
    return {
        "empty": gguf([], []),
        "v2": gguf(llama, [("token_embd.weight", (4, 3), "f32")], version=2),
        "llama": gguf(llama, [("token_embd.weight", (32, 3), "q8_0"), ("output_norm.weight", (32,), "f32")]),
        "types": gguf([], [(kind, (block,), kind) for kind, (_, block, _) in TYPES.items()]),
        "values": gguf(every + [pair("s", STRING, "x"), array("empty", STRING, [])], []),
        "aligned": gguf([pair("general.alignment", U32, 8)], [("t", (1, 2, 1, 2), "f16")], alignment=8),
    } | header_seeds()


def safetensors(header, data=b""):
    body = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(body)) + body + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    sizes = {"F32": 4, "F16": 2, "BF16": 2, "I32": 4, "I64": 8, "I8": 1, "U8": 1, "F64": 8, "BOOL": 1, "F8_E4M3": 1}
    types, end = {}, 0
    for dtype, size in sizes.items():
        types[dtype] = entry(dtype, [1], end, end + size)
        end += size
    index = {"metadata": {"total_size": 4}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}
    return {
        "empty": safetensors({}),
        "metadata": safetensors({"__metadata__": {"format": "pt"}, "a": entry("F32", [2, 1], 0, 8)}, bytes(8)),
        "types": safetensors(types, bytes(end)),
        "scalar": safetensors({"s": entry("U8", [], 0, 1), "none": entry("F32", [0, 3], 1, 1)}, bytes(1)),
        "index": json.dumps(index).encode(),
    }


def main():
    for target, seeds in (("gguf_fuzz", gguf_seeds()), ("safetensors_fuzz", safetensors_seeds())):
        folder = HERE / target
        folder.mkdir(exist_ok=True)
        for name, data in seeds.items():
            (folder / f"seed_{name}").write_bytes(data)


if __name__ == "__main__":
    main()
