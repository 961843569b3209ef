// WeightFormat: how many bytes weights take in a stored form, scales and zero points with them.
//
// Constant data and pure functions; thread-safe.
#ifndef CAIRN_SIZING_WEIGHT_FORMAT_H_
#define CAIRN_SIZING_WEIGHT_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"

namespace cairn {

// Which weights a form is used for where no checkpoint says otherwise.
enum class WeightScope : uint8_t {
  kAll,       // plain floats: every weight
  kMatrices,  // GGUF: every matrix, the embedding's and the head's too
  kLinear,    // matrices of layers; embedding, head, routers stay 16 bit
  kExperts,   // routed experts; in models without, as kLinear
};

// `block_elements` consecutive weights take `block_bytes` bytes, so that a group's scale and a
// fraction of a byte of zero points are exact.
struct WeightFormat {
  std::string name;  // "bf16", "awq"
  int64_t block_elements = 1;
  int64_t block_bytes = 2;
  WeightScope scope = WeightScope::kAll;
  std::string rule;  // what a block is: "4 bits, per 128 a 16-bit scale and a 4-bit zero point"

  double BitsPerWeight() const {
    return 8.0 * static_cast<double>(block_bytes) / static_cast<double>(block_elements);
  }
  bool operator==(const WeightFormat&) const = default;
};

// Blocks begun count whole. REQUIRES: elements >= 0.
Bytes StoredBytes(const WeightFormat& format, ElementCount elements);

// "f32", "bf16", "fp8", "int4", "awq", "mxfp4", "q4_k", ...; case doesn't count.
Result<WeightFormat> WeightFormatFromName(std::string_view name);

// Integers or floats of `bits` (1 to 16) with a scale of `scale_bits` for every `group` weights and
// a zero point as wide as a weight where there is one. A group of 0: one scale for a row, not
// counted.
WeightFormat GroupedFormat(std::string name, int bits, int64_t group, int scale_bits,
                           bool zero_points);

}  // namespace cairn

#endif  // CAIRN_SIZING_WEIGHT_FORMAT_H_
