// Dimensions of a decoder in every spelling that config.json files use.
//
// Looser than decoder_shape.h, which reads what the engine runs: a model can be sized without its
// vocabulary, its feed-forward width or its context. Where spellings of one thing stand side by
// side they must agree. Plain data and pure functions; thread-safe.
#ifndef CAIRN_SPEC_CONFIG_DIMENSIONS_H_
#define CAIRN_SPEC_CONFIG_DIMENSIONS_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Zero: the file doesn't say. What the state needs is never zero.
struct Dimensions {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t key_width = 0;
  int64_t value_width = 0;
  int64_t intermediate = 0;
  int64_t vocabulary = 0;
  TokenCount context_length;
};

// The first of the spellings that is present; an error when another one says otherwise.
Result<std::optional<int64_t>> FirstInt(const HfConfig& config,
                                        std::span<const std::string_view> spellings,
                                        IntRange range);
Result<int64_t> RequireInt(const HfConfig& config, std::span<const std::string_view> spellings,
                           IntRange range);

Result<int64_t> LayerCountFromConfig(const HfConfig& config);

// Everything but heads and widths; hidden, intermediate, vocabulary and context may stay zero.
Result<Dimensions> FrameFromConfig(const HfConfig& config);
// All of it. Without a KV head count there are as many as heads.
Result<Dimensions> DimensionsFromConfig(const HfConfig& config);
// The same where something else than num_hidden_layers tells the number of layers.
Result<Dimensions> DimensionsOfLayers(const HfConfig& config, int64_t layers);
// A positive integer that the state is computed from.
Result<int64_t> StateInt(const HfConfig& config, std::string_view key, int64_t max);
Result<int64_t> StateIntOr(const HfConfig& config, std::string_view key, int64_t max,
                           int64_t absent);
// heads x width within the limits, heads a multiple of kv_heads.
Status CheckHeads(const HfConfig& config, const AttentionSpec& attention);

// A model without layers yet, sizing only; its head is tied where the config or else the family
// says so.
Result<ModelSpec> SizedModel(const ConfigSource& source, std::string_view family,
                             const Dimensions& dimensions, bool tied_head);
AttentionSpec AttentionOf(const Dimensions& dimensions);

// A window that can't bind within the context is none.
Lifetime LifetimeOfWindow(TokenCount context_length, std::optional<int64_t> window);
// sliding_window and its other spellings; null and absent are none.
Result<std::optional<int64_t>> WindowFromConfig(const HfConfig& config);
// "float32", "bfloat16", "float16" under the key; nothing if it is absent.
Result<std::optional<DType>> StateTypeFromConfig(const HfConfig& config, std::string_view key);

}  // namespace cairn

#endif  // CAIRN_SPEC_CONFIG_DIMENSIONS_H_
