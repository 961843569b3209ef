"""Changes tensors as converters do, and has PyPI's gguf write them."""

import array
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "build" / "python"))  # scripts/python_packages.py
import gguf  # noqa: E402
import numpy  # noqa: E402

TYPE_F32, TYPE_Q8_0 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.Q8_0


class Tensor:
    """Floats in row-major order, the outermost size first."""

    def __init__(self, shape, values, kind=TYPE_F32):
        self.shape, self.values, self.kind = list(shape), values, kind

    def rows(self, first, count, step=1):
        width = len(self.values) // self.shape[0]
        picked = array.array("f")
        for row in range(first, first + count * step, step):
            picked.extend(self.values[row * width : (row + 1) * width])
        return Tensor([count, *self.shape[1:]], picked)

    def order(self, rows):
        """Those rows, in that order."""
        width = len(self.values) // self.shape[0]
        picked = array.array("f")
        for row in rows:
            picked.extend(self.values[row * width : (row + 1) * width])
        return Tensor([len(picked) // width, *self.shape[1:]], picked)

    def transposed(self):
        """The last two sizes swapped."""
        *stack, height, width = self.shape
        swapped = array.array("f")
        for base in range(0, len(self.values), height * width):
            for column in range(width):
                swapped.extend(self.values[base + column : base + height * width : width])
        return Tensor([*stack, width, height], swapped)

    def split(self, *sizes):
        """Rows of the last but one size, parted."""
        *stack, height, width = self.shape
        assert sum(sizes) == height
        parts, first = [], 0
        for size in sizes:
            part = array.array("f")
            for base in range(0, len(self.values), height * width):
                part.extend(self.values[base + first * width : base + (first + size) * width])
            parts.append(Tensor([*stack, size, width], part))
            first += size
        return parts

    def every_second(self):
        """Rows of the last but one size: the even ones, the odd ones."""
        *stack, height, width = self.shape
        matrices = Tensor([math.prod(stack) * height, width], self.values)
        return [Tensor([*stack, height // 2, width], matrices.rows(k, math.prod(stack) * height // 2, 2).values) for k in (0, 1)]

    def reshaped(self, *shape):
        assert math.prod(shape) == len(self.values)
        return Tensor(shape, self.values)

    def squeezed(self):
        return Tensor([size for size in self.shape if size != 1], self.values)

    def map(self, function):
        return Tensor(self.shape, array.array("f", [function(value) for value in self.values]))

    def quantized(self):
        """As Q8_0: blocks of 32 with a scale in 16 bits."""
        assert self.shape[-1] % 32 == 0
        return Tensor(self.shape, self.values, TYPE_Q8_0)

    def data(self):
        """As a file holds it."""
        floats = numpy.array(self.values, numpy.float32).reshape(self.shape)
        return floats if self.kind == TYPE_F32 else gguf.quants.quantize(floats, self.kind)

    def stored(self):
        """What that stands for."""
        floats = gguf.quants.dequantize(self.data(), self.kind)
        return Tensor(self.shape, array.array("f", floats.flatten().tolist()))


def values_of(tensors):
    values = array.array("f")
    for tensor in tensors:
        values.extend(tensor.values)
    return values


def stack(tensors):
    return Tensor([len(tensors), *tensors[0].shape], values_of(tensors))


def joined(tensors):
    """Rows of all of them."""
    return Tensor([sum(tensor.shape[0] for tensor in tensors), *tensors[0].shape[1:]], values_of(tensors))


def add_value(writer, key, value):
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def write(path, metadata, tensors):
    """`metadata` {key: value}, "general.architecture" among them; `tensors` {name: Tensor}."""
    writer = gguf.GGUFWriter(path, metadata["general.architecture"])
    for key, value in metadata.items():
        if key != "general.architecture":
            add_value(writer, key, value)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor.data(), raw_dtype=tensor.kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
