// The numbers under which GGUF files store their tensor types.
#ifndef CAIRN_WEIGHTS_GGML_TYPE_H_
#define CAIRN_WEIGHTS_GGML_TYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cairn/base/dtype.h"

namespace cairn {

// The name that the GGML project gives the type, "type 99" for a number it hasn't given out.
std::string GgmlTypeName(uint32_t type);

struct GgmlBlock {
  int elements = 0;
  int bytes = 0;
};
// How the type packs elements; absent for numbers that name no type, or a withdrawn one.
std::optional<GgmlBlock> GgmlBlockOf(uint32_t type);

// Absent for types that are not supported.
std::optional<DType> DTypeOfGgml(uint32_t type);

// Inverse of DTypeOfGgml; absent for a dtype that GGUF doesn't have.
std::optional<uint32_t> GgmlTypeOf(DType dtype);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGML_TYPE_H_
