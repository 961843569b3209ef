#!/usr/bin/env python3
"""Writes a GGUF file once more with its quantized weights as floats: the same model, for an engine without 8-bit activations.

    bench/float_weights.py models/gemma-3-270m-q4_k_m.gguf build/gemma-3-270m-f32.gguf

With quantized weights Cairn rounds activations to 8 bits, which carries the smallest change of the state on; with floats it
doesn't, so that `cairn eval` shows what a form of the state costs by itself. Needs PyPI's gguf (`make python-packages`).
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "build" / "python"))
import gguf  # noqa: E402
import numpy  # noqa: E402

OURS = ("GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.architecture")
FLOATS = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16)


def copy_metadata(reader, writer):
    for field in reader.fields.values():
        if field.name in OURS:
            continue
        kind = field.types[0]
        item = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=item)


def convert(source, target):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    for tensor in reader.tensors:
        data = tensor.data
        if tensor.tensor_type not in FLOATS:
            data = gguf.quants.dequantize(data, tensor.tensor_type).astype(numpy.float32)
        writer.add_tensor(tensor.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description="Write a GGUF file's weights as floats.")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    options = parser.parse_args()
    if not options.source.is_file():
        sys.exit(f"float_weights: {options.source} is not there; run `make models` first")
    convert(options.source, options.target)


if __name__ == "__main__":
    main()
