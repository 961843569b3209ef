"""Writes <type>.bin for each weight format: random stored bytes, then the float32 they stand for.

    pip install gguf==0.19.0 && python3 tests/golden_quants/make_quants.py

The floats are those of the gguf package, so the test that reads these files compares with another
implementation. Half-precision scales are kept finite; subnormal ones occur.
"""

import pathlib

import gguf
import numpy as np

# Byte offsets of half-precision numbers in a block.
HALVES = {
    "F16": [0],
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ4_NL": [0],
}
EXPONENT = 0x7C00


def finite_halves(blocks: np.ndarray, offsets: list[int]) -> None:
    for offset in offsets:
        half = blocks[:, offset : offset + 2].copy().view(np.uint16)
        half[(half & EXPONENT) == EXPONENT] ^= 0x4000
        blocks[:, offset : offset + 2] = half.view(np.uint8)


def main() -> None:
    folder = pathlib.Path(__file__).parent
    for name in ["F32", "F16", "BF16", *[n for n in HALVES if n != "F16"]]:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        count = {1: 64, 32: 4, 256: 2}[elements]
        blocks = np.random.default_rng(int(kind)).integers(0, 256, (count, size), dtype=np.uint8)
        finite_halves(blocks, HALVES.get(name, []))
        if name == "F32":
            blocks = np.random.default_rng(0).standard_normal((count, 1), dtype=np.float32).view(np.uint8)
        if name == "BF16":
            blocks[:, 1] &= 0xBF
        floats = gguf.quants.dequantize(blocks.reshape(-1), kind).astype(np.float32)
        assert floats.size == count * elements and np.isfinite(floats).all()
        (folder / f"{name.lower()}.bin").write_bytes(blocks.tobytes() + floats.tobytes())


if __name__ == "__main__":
    main()
