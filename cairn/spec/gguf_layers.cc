#include "cairn/spec/gguf_layers.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr IntRange kFlag = {0, 1};

std::vector<bool> Flags(const std::vector<int64_t>& numbers) {
  std::vector<bool> flags;
  flags.reserve(numbers.size());
  for (const int64_t number : numbers) flags.push_back(number != 0);
  return flags;
}

class LayerReader {
 public:
  LayerReader(const GgufKeys& keys, const GgufFrame& frame, const GgufTensors& tensors,
              const GgufArchitecture& row)
      : keys_(keys), frame_(frame), tensors_(tensors), row_(row) {}

  Result<std::vector<bool>> Recurrent() const {
    std::vector<bool> recurrent(Layers(), row_.recurrent != GgufRecurrent::kNothing);
    switch (row_.recurrent_layers) {
      case GgufRecurrentLayers::kAll:
      case GgufRecurrentLayers::kBesideAttention:
        return recurrent;
      case GgufRecurrentLayers::kWithoutHeads:
        for (size_t i = 0; i < Layers(); ++i) recurrent[i] = frame_.kv_heads[i] == 0;
        return recurrent;
      case GgufRecurrentLayers::kWithoutNetwork:
        for (size_t i = 0; i < Layers(); ++i) {
          recurrent[i] = frame_.kv_heads[i] == 0 && frame_.intermediate[i] == 0;
        }
        return recurrent;
      case GgufRecurrentLayers::kByInterval:
        return ByInterval();
    }
    return recurrent;
  }

  // With neither a window nor a chunk none slides.
  Status Sliding(GgufLayers& layers) const {
    constexpr std::string_view kWindow = "attention.sliding_window";
    constexpr std::string_view kPattern = "attention.sliding_window_pattern";
    CAIRN_ASSIGN(layers.window, keys_.IntOr(kWindow, {0, kMaxContext}, row_.window));
    // Chunks are switched off by a window of 0.
    layers.chunked = row_.chunk != 0 && (layers.window != 0 || !keys_.Has(kWindow));
    layers.slides.assign(Layers(), false);
    if (layers.window == 0 && !layers.chunked) return {};
    if (keys_.IsArray(kPattern)) {
      CAIRN_ASSIGN(const auto listed, keys_.PerLayer(kPattern, frame_.blocks, kFlag));
      layers.slides = Flags(listed);
      return {};
    }
    CAIRN_ASSIGN(const int64_t period, keys_.IntOr(kPattern, {0, kMaxLayers}, row_.period));
    for (size_t i = 0; i < Layers(); ++i) {
      const auto layer = static_cast<int64_t>(i);
      const int64_t full_at = row_.full_first ? layer : layer + 1;
      layers.slides[i] = period == 0 || full_at % period != 0;
    }
    return {};
  }

  Result<std::vector<bool>> Indexed() const {
    constexpr std::string_view kTypes = "attention.indexer.types";
    if (keys_.Has(kTypes)) {
      CAIRN_ASSIGN(const auto types, keys_.PerLayer(kTypes, frame_.blocks, kFlag));
      return Flags(types);
    }
    constexpr std::string_view kNames[] = {"indexer.attn_k", "indexer.k_proj", "indexer.k_norm"};
    if (auto found = ByTensors(kNames)) return *std::move(found);
    std::vector<bool> indexed(Layers(), true);
    if (row_.index_layers == GgufIndexLayers::kBehindDense) {
      CAIRN_ASSIGN(const int64_t dense,
                   keys_.IntOr("leading_dense_block_count", {0, kMaxLayers}, 0));
      for (size_t i = 0; i < Layers(); ++i) indexed[i] = static_cast<int64_t>(i) >= dense;
    }
    constexpr TokenCount kNewerContext{1 << 20};
    if (row_.index_layers == GgufIndexLayers::kByContextSize &&
        frame_.context_length >= kNewerContext) {
      for (size_t i = 3; i < Layers(); ++i) indexed[i] = i % 4 == 2;
    }
    return indexed;
  }

 private:
  size_t Layers() const { return static_cast<size_t>(frame_.blocks.layers); }

  // The layers that have one of the tensors; nothing where not all are known, or none has one.
  std::optional<std::vector<bool>> ByTensors(std::span<const std::string_view> names) const {
    if (!tensors_.complete) return std::nullopt;
    std::vector<bool> found(Layers(), false);
    for (size_t i = 0; i < Layers(); ++i) {
      for (const std::string_view name : names) {
        found[i] = found[i] || tensors_.has(fmt::format("blk.{}.{}.weight", i, name));
      }
    }
    if (std::ranges::find(found, true) == found.end()) return std::nullopt;
    return found;
  }

  Result<std::vector<bool>> ByInterval() const {
    constexpr std::string_view kListed = "attention.recurrent_layers";
    if (keys_.Has(kListed)) {
      CAIRN_ASSIGN(const auto listed, keys_.PerLayer(kListed, frame_.blocks, kFlag));
      return Flags(listed);
    }
    // Of the delta rule's layers and of lightning attention's.
    constexpr std::string_view kNames[] = {"ssm_conv1d", "attn_norm_2"};
    if (auto found = ByTensors(kNames)) return *std::move(found);
    CAIRN_ASSIGN(const int64_t interval,
                 keys_.IntOr("full_attention_interval", {1, kMaxLayers}, row_.interval));
    std::vector<bool> recurrent(Layers());
    for (size_t i = 0; i < Layers(); ++i) {
      recurrent[i] = (static_cast<int64_t>(i) + 1) % interval != 0;
    }
    return recurrent;
  }

  const GgufKeys& keys_;
  const GgufFrame& frame_;
  const GgufTensors& tensors_;
  const GgufArchitecture& row_;
};

}  // namespace

Result<GgufLayers> LayersFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                  const GgufTensors& tensors, const GgufArchitecture& row,
                                  bool has_index) {
  const LayerReader reader(keys, frame, tensors, row);
  GgufLayers layers;
  CAIRN_ASSIGN(layers.recurrent, reader.Recurrent());
  CAIRN_TRY(reader.Sliding(layers));
  layers.indexed.assign(frame.heads.size(), false);
  if (!has_index) return layers;
  CAIRN_ASSIGN(layers.indexed, reader.Indexed());
  return layers;
}

}  // namespace cairn
