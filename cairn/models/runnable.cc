#include "cairn/models/runnable.h"

#include <string>
#include <variant>

namespace cairn {
namespace {

// What the layer loop lacks for the layer; empty: nothing.
std::string MissingFor(const LayerSpec& layer) {
  const auto* attention = std::get_if<AttentionSpec>(&layer.mixer);
  if (attention == nullptr) return KindOf(layer.mixer);
  if (attention->index) return KindOf(layer.mixer);
  if (attention->conv_kernel != 0) return "attention behind a convolution";
  if (attention->value_is_key) return "attention whose values are its keys";
  if (std::holds_alternative<MixtureSpec>(layer.feed_forward)) return "a mixture of experts";
  if (!std::holds_alternative<GatedMlpSpec>(layer.feed_forward)) return "a network without a gate";
  return "";
}

}  // namespace

Status CheckRunnable(const ModelSpec& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string missing = MissingFor(model.layers[i]);
    if (missing.empty()) continue;
    return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: layer {} is {}",
                model.family, i, missing);
  }
  if (model.sizing_only.empty()) return {};
  return Fail(ErrorCode::kUnsupported, "{} can be sized but not run yet: {}", model.family,
              model.sizing_only);
}

}  // namespace cairn
