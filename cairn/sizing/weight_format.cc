#include "cairn/sizing/weight_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/dtype.h"

namespace cairn {
namespace {

struct Row {
  std::string_view names;  // spaces between
  int bits;
  int64_t group;  // 0: scales aren't counted
  int scale_bits;
  bool zero_points;
  WeightScope scope;
};

// Groups as the formats' usual producers write them.
constexpr auto kRows = std::to_array<Row>({
    {"f32 fp32 float32", 32, 0, 0, false, WeightScope::kAll},
    {"bf16 bfloat16", 16, 0, 0, false, WeightScope::kAll},
    {"f16 fp16 float16 half", 16, 0, 0, false, WeightScope::kAll},
    {"fp8 f8_e4m3 fp8_e4m3 f8", 8, 0, 0, false, WeightScope::kLinear},
    {"fp8_block fp8-block", 8, 128 * 128, 32, false, WeightScope::kLinear},
    {"int8 w8a8 i8", 8, 0, 0, false, WeightScope::kLinear},
    {"int4 w4a16", 4, 128, 16, false, WeightScope::kLinear},
    {"awq", 4, 128, 16, true, WeightScope::kLinear},
    {"gptq", 4, 128, 16, true, WeightScope::kLinear},
    {"nf4 bnb4 bnb-4bit", 4, 64, 8, false, WeightScope::kLinear},
    {"nvfp4", 4, 16, 8, false, WeightScope::kLinear},
    {"mxfp8", 8, 32, 8, false, WeightScope::kLinear},
    {"mxfp4", 4, 32, 8, false, WeightScope::kExperts},
});

// GGUF's block formats that the engine's own table doesn't have: name, weights, bytes.
struct BlockRow {
  std::string_view name;
  int64_t elements;
  int64_t bytes;
};
constexpr auto kBlockRows = std::to_array<BlockRow>({
    {"iq1_s", 256, 50},
    {"iq1_m", 256, 56},
    {"iq2_xxs", 256, 66},
    {"iq2_xs", 256, 74},
    {"iq2_s", 256, 82},
    {"iq3_xxs", 256, 98},
    {"iq3_s", 256, 110},
    {"iq4_xs", 256, 136},
});

constexpr size_t kMaxName = 32;

std::string Lower(std::string_view name) {
  std::string lower;
  for (const char letter : name.substr(0, kMaxName)) {
    const auto byte = static_cast<unsigned char>(letter);
    lower += std::isprint(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '?';
  }
  return lower;
}

bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::optional<WeightFormat> GgufFormat(const std::string& name) {
  const auto blocks = [&](int64_t elements, int64_t bytes) {
    return WeightFormat{name, elements, bytes, WeightScope::kMatrices,
                        fmt::format("{} weights in {} bytes", elements, bytes)};
  };
  for (const BlockRow& row : kBlockRows) {
    if (row.name == name) return blocks(row.elements, row.bytes);
  }
  const std::optional<DType> dtype = DTypeFromName(name);
  // Lloyd-Max codes are a form of state.
  const bool is_gguf = dtype && InfoOf(*dtype).block_elements > 1 && InfoOf(*dtype).row_bytes == 0;
  if (!is_gguf) return std::nullopt;
  return blocks(InfoOf(*dtype).block_elements, InfoOf(*dtype).block_bytes);
}

}  // namespace

Bytes StoredBytes(const WeightFormat& format, ElementCount elements) {
  CAIRN_CHECK(elements >= ElementCount(0));
  const int64_t whole = elements.value() / format.block_elements;
  const int64_t rest = elements.value() % format.block_elements;
  // A block begun takes its share of bytes, rounded up.
  const int64_t tail =
      (rest * format.block_bytes + format.block_elements - 1) / format.block_elements;
  return Bytes(whole * format.block_bytes + tail);
}

WeightFormat GroupedFormat(std::string name, int bits, int64_t group, int scale_bits,
                           bool zero_points) {
  CAIRN_CHECK(bits >= 1 && bits <= 32 && group >= 0 && group <= (1 << 20) && scale_bits >= 0);
  WeightFormat format;
  format.name = std::move(name);
  format.scope = WeightScope::kLinear;
  const int64_t elements = std::max<int64_t>(group, 1);
  int64_t block_bits = elements * bits;
  if (group > 0) block_bits += scale_bits + (zero_points ? bits : 0);
  // As many groups as fill whole bytes.
  const int64_t groups = 8 / std::gcd<int64_t>(8, block_bits);
  format.block_elements = elements * groups;
  format.block_bytes = block_bits * groups / 8;
  format.rule = fmt::format("{} bits", bits);
  if (group > 0) {
    format.rule += fmt::format(", for every {} a scale of {} bits", group, scale_bits);
    if (zero_points) format.rule += fmt::format(" and a zero point of {} bits", bits);
  }
  return format;
}

Result<WeightFormat> WeightFormatFromName(std::string_view name) {
  const std::string lower = Lower(name);
  for (const Row& row : kRows) {
    if (!HasWord(row.names, lower)) continue;
    const std::string_view first = row.names.substr(0, row.names.find(' '));
    WeightFormat format =
        GroupedFormat(std::string(first), row.bits, row.group, row.scale_bits, row.zero_points);
    format.scope = row.scope;
    return format;
  }
  if (std::optional<WeightFormat> format = GgufFormat(lower)) return *std::move(format);
  return Fail(ErrorCode::kInvalidArgument,
              "--weights-dtype {}: no such form of weights; f32, bf16, f16, fp8, fp8_block, int8, "
              "int4, awq, gptq, nf4, nvfp4, mxfp4, mxfp8 and GGUF's q8_0, q6_k, q4_k, q4_0, "
              "iq4_xs, ... are",
              lower);
}

}  // namespace cairn
