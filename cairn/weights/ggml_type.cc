#include "cairn/weights/ggml_type.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace cairn {
namespace {

struct GgmlType {
  std::string_view name;
  GgmlBlock block;
};

// By number. Types that have been withdrawn keep their names, so that old files get a clear error,
// and have no block.
constexpr auto kTypes = std::to_array<GgmlType>({
    {"f32", {1, 4}},        {"f16", {1, 2}},        {"q4_0", {32, 18}},     {"q4_1", {32, 20}},
    {"q4_2", {0, 0}},       {"q4_3", {0, 0}},       {"q5_0", {32, 22}},     {"q5_1", {32, 24}},
    {"q8_0", {32, 34}},     {"q8_1", {32, 36}},     {"q2_k", {256, 84}},    {"q3_k", {256, 110}},
    {"q4_k", {256, 144}},   {"q5_k", {256, 176}},   {"q6_k", {256, 210}},   {"q8_k", {256, 292}},
    {"iq2_xxs", {256, 66}}, {"iq2_xs", {256, 74}},  {"iq3_xxs", {256, 98}}, {"iq1_s", {256, 50}},
    {"iq4_nl", {32, 18}},   {"iq3_s", {256, 110}},  {"iq2_s", {256, 82}},   {"iq4_xs", {256, 136}},
    {"i8", {1, 1}},         {"i16", {1, 2}},        {"i32", {1, 4}},        {"i64", {1, 8}},
    {"f64", {1, 8}},        {"iq1_m", {256, 56}},   {"bf16", {1, 2}},       {"q4_0_4_4", {0, 0}},
    {"q4_0_4_8", {0, 0}},   {"q4_0_8_8", {0, 0}},   {"tq1_0", {256, 54}},   {"tq2_0", {256, 66}},
    {"iq4_nl_4_4", {0, 0}}, {"iq4_nl_4_8", {0, 0}}, {"iq4_nl_8_8", {0, 0}}, {"mxfp4", {32, 17}},
    {"nvfp4", {64, 36}},    {"q1_0", {128, 18}},    {"q2_0", {64, 18}},
});

}  // namespace

std::string GgmlTypeName(uint32_t type) {
  return type < kTypes.size() ? std::string(kTypes[type].name) : fmt::format("type {}", type);
}

std::optional<GgmlBlock> GgmlBlockOf(uint32_t type) {
  if (type >= kTypes.size() || kTypes[type].block.bytes == 0) return std::nullopt;
  return kTypes[type].block;
}

std::optional<DType> DTypeOfGgml(uint32_t type) {
  return type < kTypes.size() ? DTypeFromName(kTypes[type].name) : std::nullopt;
}

std::optional<uint32_t> GgmlTypeOf(DType dtype) {
  for (uint32_t type = 0; type < kTypes.size(); ++type) {
    if (kTypes[type].name == InfoOf(dtype).name) return type;
  }
  return std::nullopt;
}

}  // namespace cairn
