#include "cairn/weights/ggml_type.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace cairn {
namespace {

// By number. Types that have been withdrawn keep their names, so that old files get a clear error.
constexpr std::array<std::string_view, 43> kNames = {
    "f32",   "f16",        "q4_0",       "q4_1",       "q4_2",     "q4_3",     "q5_0",
    "q5_1",  "q8_0",       "q8_1",       "q2_k",       "q3_k",     "q4_k",     "q5_k",
    "q6_k",  "q8_k",       "iq2_xxs",    "iq2_xs",     "iq3_xxs",  "iq1_s",    "iq4_nl",
    "iq3_s", "iq2_s",      "iq4_xs",     "i8",         "i16",      "i32",      "i64",
    "f64",   "iq1_m",      "bf16",       "q4_0_4_4",   "q4_0_4_8", "q4_0_8_8", "tq1_0",
    "tq2_0", "iq4_nl_4_4", "iq4_nl_4_8", "iq4_nl_8_8", "mxfp4",    "nvfp4",    "q1_0",
    "q2_0",
};

}  // namespace

std::string GgmlTypeName(uint32_t type) {
  return type < kNames.size() ? std::string(kNames[type]) : fmt::format("type {}", type);
}

std::optional<DType> DTypeOfGgml(uint32_t type) {
  return type < kNames.size() ? DTypeFromName(kNames[type]) : std::nullopt;
}

std::optional<uint32_t> GgmlTypeOf(DType dtype) {
  for (uint32_t type = 0; type < kNames.size(); ++type) {
    if (kNames[type] == InfoOf(dtype).name) return type;
  }
  return std::nullopt;
}

}  // namespace cairn
