#include "cairn/spec/gguf_keys.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "cairn/spec/limits.h"

namespace cairn {

Result<int64_t> GgufKeys::Check(std::string_view name, int64_t value, IntRange range) const {
  if (value >= range.min && value <= range.max) return value;
  return Wrong(name, value, fmt::format("an integer from {} to {}", range.min, range.max));
}

std::unexpected<Error> GgufKeys::Wrong(std::string_view name, int64_t value,
                                       std::string_view expected) const {
  return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected {}", where(), Key(name),
              value, expected);
}

std::unexpected<Error> GgufKeys::Missing(std::string_view name) const {
  return Fail(ErrorCode::kNotFound, "{}: key {} is missing", where(), Key(name));
}

Result<int64_t> GgufKeys::Int(std::string_view name, IntRange range) const {
  CAIRN_ASSIGN(const int64_t value, metadata_.Int(Key(name)));
  return Check(name, value, range);
}

Result<int64_t> GgufKeys::IntOr(std::string_view name, IntRange range, int64_t absent) const {
  if (!Has(name)) return absent;
  return Int(name, range);
}

Result<double> GgufKeys::Float(std::string_view name) const {
  CAIRN_ASSIGN(const double value, metadata_.Float(Key(name)));
  if (!std::isfinite(value)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected a finite number", where(),
                Key(name), value);
  }
  if (std::abs(value) > std::numeric_limits<float>::max()) return value;
  const auto stored = static_cast<float>(value);
  if (static_cast<double>(stored) != value) return value;
  return std::strtod(fmt::format("{}", stored).c_str(), nullptr);
}

Result<double> GgufKeys::FloatOr(std::string_view name, double absent) const {
  if (!Has(name)) return absent;
  return Float(name);
}

Result<bool> GgufKeys::BoolOr(std::string_view name, bool absent) const {
  return metadata_.BoolOr(Key(name), absent);
}

Result<std::string> GgufKeys::StringOr(std::string_view name, std::string_view absent) const {
  CAIRN_ASSIGN(const std::string_view value, metadata_.StringOr(Key(name), absent));
  return std::string(value);
}

Result<GgufBlocks> GgufKeys::Blocks() const {
  GgufBlocks blocks;
  CAIRN_ASSIGN(blocks.all, Int("block_count", {1, kMaxLayers}));
  CAIRN_ASSIGN(const int64_t predicting, IntOr("nextn_predict_layers", {0, blocks.all - 1}, 0));
  blocks.layers = blocks.all - predicting;
  return blocks;
}

Result<std::vector<int64_t>> GgufKeys::PerLayer(std::string_view name, const GgufBlocks& blocks,
                                                IntRange range) const {
  const bool trunk_alone = metadata_.ArraySize(Key(name)) == static_cast<uint64_t>(blocks.layers);
  CAIRN_ASSIGN(
      std::vector<int64_t> values,
      metadata_.IntPerLayer(Key(name), trunk_alone ? blocks.layers : blocks.all, std::nullopt));
  for (const int64_t value : values) CAIRN_TRY(Check(name, value, range));
  values.resize(static_cast<size_t>(blocks.layers));
  return values;
}

Result<std::vector<int64_t>> GgufKeys::PerLayerOr(std::string_view name, const GgufBlocks& blocks,
                                                  IntRange range, int64_t absent) const {
  if (Has(name)) return PerLayer(name, blocks, range);
  return std::vector<int64_t>(static_cast<size_t>(blocks.layers), absent);
}

Result<std::optional<int64_t>> GgufVocabulary(const GgufKeys& keys) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  constexpr IntRange kRange = {1, kMaxVocabulary};
  const std::optional<uint64_t> tokens = keys.metadata().ArraySize(kTokens);
  if (tokens) {
    if (*tokens < 1 || *tokens > static_cast<uint64_t>(kMaxVocabulary)) {
      return Fail(ErrorCode::kInvalidArgument, "{}: key {} has {} entries, expected 1 to {}",
                  keys.where(), kTokens, *tokens, kMaxVocabulary);
    }
    return static_cast<int64_t>(*tokens);
  }
  if (!keys.Has("vocab_size")) return std::nullopt;
  CAIRN_ASSIGN(const int64_t size, keys.Int("vocab_size", kRange));
  return size;
}

}  // namespace cairn
