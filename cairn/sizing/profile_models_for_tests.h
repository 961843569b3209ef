// Shapes of models that frameworks' profiles are tested on, and how to ask a profile.
#ifndef CAIRN_SIZING_PROFILE_MODELS_FOR_TESTS_H_
#define CAIRN_SIZING_PROFILE_MODELS_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <variant>

#include "cairn/sizing/profile.h"

namespace cairn {

inline void AddLayers(ModelSpec& model, int count, const MixerSpec& mixer) {
  for (int i = 0; i < count; ++i) {
    model.layers.push_back({.mixer = mixer, .feed_forward = NoFeedForward{}});
  }
}

inline AttentionSpec Heads(int64_t kv_heads, int64_t width, int64_t window = 0) {
  AttentionSpec attention;
  attention.heads = kv_heads;
  attention.kv_heads = kv_heads;
  attention.key_width = width;
  attention.value_width = width;
  if (window > 0) attention.lifetime = Lifetime::Window(TokenCount(window));
  return attention;
}

inline ModelSpec DenseModel(int layers, int64_t kv_heads, int64_t width) {
  ModelSpec model;
  AddLayers(model, layers, Heads(kv_heads, width));
  return model;
}

inline DeltaRuleSpec DeltaRule(int64_t key_heads, int64_t value_heads) {
  DeltaRuleSpec delta;
  delta.key_heads = key_heads;
  delta.value_heads = value_heads;
  delta.key_width = 128;
  delta.value_width = 128;
  delta.conv_kernel = 4;
  delta.dtype = DType::kF32;
  return delta;
}

// Qwen3.5-27B: 48 layers of Gated DeltaNet and 16 of attention.
inline ModelSpec DeltaModel27B() {
  ModelSpec model;
  for (int i = 0; i < 16; ++i) {
    AddLayers(model, 3, DeltaRule(16, 48));
    AddLayers(model, 1, Heads(4, 256));
  }
  return model;
}

// Gemma-4-31B: 50 layers with a window and 10 without, of other heads.
inline ModelSpec WindowModel31B() {
  ModelSpec model;
  for (int i = 0; i < 10; ++i) {
    AddLayers(model, 5, Heads(16, 256, 1024));
    AddLayers(model, 1, Heads(4, 512));
  }
  return model;
}

inline LatentAttentionSpec Latent(bool indexed) {
  LatentAttentionSpec latent;
  latent.heads = 64;
  latent.latent_width = 512;
  latent.rope_width = 64;
  if (indexed) latent.index = SparseIndexSpec{.query_heads = 64, .width = 128};
  return latent;
}

// DeepSeek-V4-Flash: 2 layers with the window only, 21 of ratio 4 and 20 of ratio 128.
inline ModelSpec CompressedModel() {
  CompressedAttentionSpec compressed;
  compressed.heads = 64;
  compressed.width = 512;
  compressed.window = Lifetime::Window(TokenCount(128));
  ModelSpec model;
  AddLayers(model, 2, compressed);
  compressed.ratio = 128;
  AddLayers(model, 20, compressed);
  compressed.ratio = 4;
  compressed.index = SparseIndexSpec{.query_heads = 64, .width = 128};
  AddLayers(model, 21, compressed);
  return model;
}

inline Result<Section> AskProfile(const ModelSpec& model, const std::string& profile,
                                  std::initializer_list<const char*> settings) {
  CAIRN_ASSIGN(ProfileQuestion question, ParseProfile(profile));
  for (const char* setting : settings) CAIRN_TRY(SetProfile(question, setting));
  return ProfileSection(model, question);
}

inline Section MustAsk(const ModelSpec& model, const std::string& profile,
                       std::initializer_list<const char*> settings) {
  auto section = AskProfile(model, profile, settings);
  REQUIRE_MESSAGE(section.has_value(), section.error().message);
  return *std::move(section);
}

inline const Cell& ValueOf(const Section& section, const std::string& key) {
  for (const Field& field : section.fields) {
    if (field.key == key) return field.value;
  }
  REQUIRE_MESSAGE(false, key);
  return section.fields.front().value;
}
inline bool HasField(const Section& section, const std::string& key) {
  for (const Field& field : section.fields) {
    if (field.key == key) return true;
  }
  return false;
}
inline int64_t IntOf(const Section& section, const std::string& key) {
  return std::get<int64_t>(ValueOf(section, key));
}
inline double NumberOf(const Section& section, const std::string& key) {
  return std::get<double>(ValueOf(section, key));
}

inline bool Prints(const Section& section, const std::string& line) {
  for (const Table& table : section.tables) {
    if (table.key != "log") continue;
    for (const auto& row : table.rows) {
      if (std::get<std::string>(row.front()).find(line) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace cairn

#endif  // CAIRN_SIZING_PROFILE_MODELS_FOR_TESTS_H_
