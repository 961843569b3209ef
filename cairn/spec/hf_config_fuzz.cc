// Any bytes as a config.json: an error of one line, or a model whose state can be laid out.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/spec/families.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/rope.h"
#include "cairn/spec/state_layout.h"

namespace {

void CheckAttention(const cairn::AttentionSpec& attention) {
  CAIRN_CHECK(attention.kv_heads > 0 && attention.heads % attention.kv_heads == 0);
  CAIRN_CHECK(std::isfinite(attention.scale) && attention.scale > 0);
  if (!attention.rope) return;
  for (const float f : cairn::RopeFrequencies(*attention.rope)) {
    CAIRN_CHECK(std::isfinite(f) && f >= 0);
  }
}

void CheckModel(const cairn::ModelSpec& model) {
  CAIRN_CHECK(!model.layers.empty() &&
              model.layers.size() <= static_cast<size_t>(2 * cairn::kMaxLayers));
  CAIRN_CHECK(model.norm_epsilon > 0);
  if (model.uncounted.empty()) CAIRN_CHECK(model.hidden > 0 && model.vocabulary > 0);
  CAIRN_CHECK(model.context_length >= cairn::TokenCount(0));
  CAIRN_CHECK(model.draft_layers.size() <= 64 * 64);
  CAIRN_CHECK(model.notes.size() < 64);
  for (const std::string& note : model.notes) {
    CAIRN_CHECK(note.ends_with('.') && note.find('\n') == std::string::npos && note.size() < 1000);
  }
  for (const cairn::LayerSpec& layer : model.layers) {
    CAIRN_CHECK(!cairn::KindOf(layer.mixer).empty());
    const auto* attention = std::get_if<cairn::AttentionSpec>(&layer.mixer);
    if (attention != nullptr) CheckAttention(*attention);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto model = cairn::ModelSpecFromConfig(json, "config.json");
  if (!model) {
    CAIRN_CHECK(model.error().IsBadInput());
    CAIRN_CHECK(model.error().message.find('\n') == std::string::npos);
    CAIRN_CHECK(model.error().message.size() < 1000);
    return 0;
  }
  CheckModel(*model);
  const auto layout = cairn::StateLayout::Make(cairn::StateSpecOf(*model, {}));
  if (!layout) return 0;  // too large to be laid out
  // Purely recurrent models run, and their files name no context.
  const bool bounded = model->context_length > cairn::TokenCount(0);
  const cairn::TokenCount tokens = bounded ? model->context_length : cairn::TokenCount(4096);
  CAIRN_CHECK(layout->SeenRowBytes(tokens) >= cairn::Bytes(0));
  CAIRN_CHECK(layout->OpenWindowBytes(tokens) >= cairn::Bytes(0));
  CAIRN_CHECK(layout->AllocatedBytes(tokens) >= layout->ContentBytes(tokens));
  return 0;
}
