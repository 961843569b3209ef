// Stored weights as floats: the definition of every weight format, and the embedding look-up.
// Equal to the GGUF project's own dequantization, bit for bit. Thread-safe.
#ifndef CAIRN_KERNELS_DEQUANTIZE_H_
#define CAIRN_KERNELS_DEQUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cairn/base/dtype.h"

namespace cairn {

// True for what DequantizeRow reads: kF32 .. kIQ4_NL.
bool IsWeightFormat(DType dtype);

// REQUIRES: IsWeightFormat(dtype), `elements` is a multiple of its block, `row` holds that many.
void DequantizeRow(DType dtype, std::span<const std::byte> row, float* out, int64_t elements);

}  // namespace cairn

#endif  // CAIRN_KERNELS_DEQUANTIZE_H_
