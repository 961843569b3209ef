"""Writes GGUF files with nothing but the standard library, and changes tensors as converters do."""

import array
import math
import struct

U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
TYPE_F32, TYPE_Q8_0 = 0, 8
ALIGNMENT = 32


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

    def bytes(self):
        if self.kind == TYPE_F32:
            return self.values.tobytes()
        data = bytearray()
        for at in range(0, len(self.values), 32):
            block = self.values[at : at + 32]
            scale = struct.unpack("<e", struct.pack("<e", max(abs(x) for x in block) / 127))[0]
            data += struct.pack("<e32b", scale, *(max(-127, min(127, round(x / scale))) if scale else 0 for x in block))
        return bytes(data)

    def stored(self):
        """What its bytes stand for."""
        if self.kind == TYPE_F32:
            return self
        values = array.array("f")
        for scale, *codes in struct.iter_unpack("<e32b", self.bytes()):
            values.extend(scale * code for code in codes)
        return Tensor(self.shape, values)


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


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def typed(value):
    """(type, bytes) of a bool, int, float, str or list of such."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<B", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, str):
        return STRING, text(value)
    items = [typed(item) for item in value]
    return ARRAY, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)


def write(path, metadata, tensors):
    """`metadata` {key: value}, `tensors` {name: Tensor}."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = typed(value)
        head += text(key) + struct.pack("<I", kind) + data
    body = bytearray()
    for name, tensor in tensors.items():
        body += bytes(-len(body) % ALIGNMENT)
        head += text(name) + struct.pack("<I", len(tensor.shape))
        head += b"".join(struct.pack("<Q", size) for size in reversed(tensor.shape))
        head += struct.pack("<IQ", tensor.kind, len(body))
        body += tensor.bytes()
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + body)
