#include "cairn/base/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Block layouts as in the GGUF specification, and our own.
constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"f32", 1, 4},      {"f16", 1, 2},      {"bf16", 1, 2},     {"q8_0", 32, 34},
    {"q4_0", 32, 18},   {"q4_1", 32, 20},   {"q5_0", 32, 22},   {"q5_1", 32, 24},
    {"q2_k", 256, 84},  {"q3_k", 256, 110}, {"q4_k", 256, 144}, {"q5_k", 256, 176},
    {"q6_k", 256, 210}, {"iq4_nl", 32, 18}, {"i32", 1, 4},      {"i64", 1, 8},
    {"i8", 1, 1},       {"u8", 1, 1},       {"f8_e4m3", 1, 1},  {"lm2", 32, 8, 1},
    {"lm3", 32, 12, 1}, {"lm4", 32, 16, 1}, {"lm5", 32, 20, 1},
}};

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

const DTypeInfo& InfoOf(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  CAIRN_CHECK(index < kInfo.size());
  return kInfo[index];
}

Bytes BytesOf(DType dtype, ElementCount elements) {
  const DTypeInfo& info = InfoOf(dtype);
  CAIRN_CHECK(elements.value() % info.block_elements == 0 && info.row_bytes == 0);
  return Bytes(elements.value() / info.block_elements * info.block_bytes);
}

Bytes RowBytesOf(DType dtype, int64_t width) {
  const DTypeInfo& info = InfoOf(dtype);
  CAIRN_CHECK(width % info.block_elements == 0);
  return Bytes(width / info.block_elements * info.block_bytes + info.row_bytes);
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (EqualsIgnoringCase(kInfo[i].name, name)) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace cairn
