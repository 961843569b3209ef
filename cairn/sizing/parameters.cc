#include "cairn/sizing/parameters.h"

#include <variant>

namespace cairn {
namespace {

// Projections of a model with `hidden` channels.
struct Counter {
  int64_t hidden;

  int64_t operator()(const AttentionSpec& attention) const {
    const int64_t query = attention.heads * attention.key_width;
    const int64_t key = attention.kv_heads * attention.key_width;
    const int64_t value = attention.kv_heads * attention.value_width;
    const int64_t output = attention.heads * attention.value_width;
    int64_t count = hidden * (query + key + value + output);
    if (attention.qkv_bias) count += query + key + value;
    if (attention.output_bias) count += hidden;
    if (attention.query_key_norm) count += 2 * attention.key_width;
    return count;
  }

  int64_t operator()(const GatedMlpSpec& mlp) const {
    const int64_t count = 3 * hidden * mlp.intermediate;
    return mlp.bias ? count + 2 * mlp.intermediate + hidden : count;
  }
};

}  // namespace

ElementCount ParameterCount(const ModelSpec& model) {
  const Counter counter{model.hidden};
  const int64_t embedding = model.vocabulary * model.hidden;
  int64_t count = (model.tied_head ? 1 : 2) * embedding + model.hidden;
  for (const LayerSpec& layer : model.layers) {
    count += std::visit(counter, layer.mixer) + std::visit(counter, layer.feed_forward);
    count += (layer.branch_output_norms ? 4 : 2) * model.hidden;
  }
  return ElementCount(count);
}

}  // namespace cairn
