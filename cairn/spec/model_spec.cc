#include "cairn/spec/model_spec.h"

#include <utility>

namespace cairn {
namespace {

// Keys lie transposed in tiles, so that the lanes of a kernel are positions; values lie row by row,
// so that they are channels.
LayerState StateOf(const AttentionSpec& attention, StateCodecs codecs) {
  Rows keys;
  keys.name = "keys";
  keys.heads = attention.kv_heads;
  keys.width = attention.key_width;
  keys.lifetime = attention.lifetime;
  keys.codec = codecs.keys;
  keys.order = RowOrder::kTransposedTiles;
  keys.position = attention.rope ? PositionApplied::kWhenStored : PositionApplied::kNone;
  Rows values;
  values.name = "values";
  values.heads = attention.kv_heads;
  values.width = attention.value_width;
  values.lifetime = attention.lifetime;
  values.codec = codecs.values;
  values.order = RowOrder::kRowMajor;
  return LayerState{{std::move(keys), std::move(values)}};
}

}  // namespace

StateSpec StateSpecOf(const ModelSpec& model, StateCodecs codecs) {
  StateSpec spec;
  spec.layers.reserve(model.layers.size());
  for (const LayerSpec& layer : model.layers) {
    spec.layers.push_back(
        std::visit([&](const auto& mixer) { return StateOf(mixer, codecs); }, layer.mixer));
  }
  return spec;
}

}  // namespace cairn
