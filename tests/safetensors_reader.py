"""Reads .safetensors files with nothing but the standard library."""

import array
import json
import struct

CODES = {"F32": "f", "I32": "i", "I64": "q", "U8": "B"}


def read(path):
    """{name: (shape, array of values)}"""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        first, end = info["data_offsets"]
        values = array.array(CODES[info["dtype"]])
        values.frombytes(data[8 + size + first : 8 + size + end])
        tensors[name] = (info["shape"], values)
    return tensors


def write_tokens(path, tokens):
    """A file with int32 `tokens`, as `cairn logits` reads it."""
    values = array.array("i", tokens)
    header = json.dumps({"tokens": {"dtype": "I32", "shape": [len(values)], "data_offsets": [0, 4 * len(values)]}})
    header += " " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode() + values.tobytes())
