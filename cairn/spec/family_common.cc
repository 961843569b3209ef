// What several families read alike: which layers slide, windows, caps, Gemma's scale in GGUF.
#include <algorithm>
#include <cmath>

#include "cairn/spec/family.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

// period 0: all slide; else each period ends with a full layer.
std::vector<bool> SlidingLayersOfPeriod(size_t layers, int64_t period) {
  std::vector<bool> sliding;
  sliding.reserve(layers);
  for (size_t i = 0; i < layers; ++i) {
    sliding.push_back(period == 0 || (static_cast<int64_t>(i) + 1) % period != 0);
  }
  return sliding;
}

}  // namespace

Result<std::vector<bool>> SlidingLayersFromConfig(const HfConfig& config, size_t layers,
                                                  int64_t period) {
  if (!config.Has("layer_types")) return SlidingLayersOfPeriod(layers, period);
  CAIRN_ASSIGN(const std::vector<std::string> types, config.Strings("layer_types", layers));
  std::vector<bool> sliding;
  for (const std::string& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return Fail(ErrorCode::kUnsupported,
                  "{}: layer_types[{}] is {}, expected sliding_attention or full_attention",
                  config.where(), sliding.size(), Quoted(type));
    }
    sliding.push_back(type == "sliding_attention");
  }
  return sliding;
}

Result<std::vector<bool>> SlidingLayersFromGguf(const Metadata& metadata,
                                                std::string_view architecture, size_t layers,
                                                int64_t default_period) {
  const std::string key = fmt::format("{}.attention.sliding_window_pattern", architecture);
  if (const MetadataValue* value = metadata.Find(key);
      value != nullptr && std::holds_alternative<std::vector<int64_t>>(*value)) {
    CAIRN_ASSIGN(const std::vector<int64_t> flags,
                 metadata.IntPerLayer(key, static_cast<int64_t>(layers), std::nullopt));
    std::vector<bool> sliding;
    sliding.reserve(flags.size());
    for (const int64_t flag : flags) sliding.push_back(flag != 0);
    return sliding;
  }
  CAIRN_ASSIGN(const int64_t period, metadata.IntOr(key, default_period));
  if (period < 0 || period > kMaxLayers) {
    return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected an integer from 0 to {}",
                metadata.where(), key, period, kMaxLayers);
  }
  return SlidingLayersOfPeriod(layers, period);
}

Result<std::optional<int64_t>> WindowFromGguf(const Metadata& metadata,
                                              std::string_view architecture) {
  const std::string key = fmt::format("{}.attention.sliding_window", architecture);
  CAIRN_ASSIGN(const int64_t window, metadata.IntOr(key, 0));
  if (window == 0) return std::nullopt;
  if (window < 0 || window > kMaxContext) {
    return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected an integer from 0 to {}",
                metadata.where(), key, window, kMaxContext);
  }
  return window;
}

Result<double> CapFromGguf(const Metadata& metadata, std::string_view key, double absent) {
  constexpr double kMaxCap = 1e6;
  CAIRN_ASSIGN(const double cap, metadata.FloatOr(key, absent));
  if (cap >= 0 && cap <= kMaxCap) return cap;
  return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected a number from 0 to {}",
              metadata.where(), key, cap, kMaxCap);
}

double GemmaScaleFromGguf(const DecoderShape& shape, size_t layers_of_27b) {
  const int64_t width = shape.layers.size() == layers_of_27b
                            ? shape.hidden / shape.layers.front().heads
                            : shape.key_width;
  return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1)));
}

}  // namespace cairn
