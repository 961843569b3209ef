// DecoderTraits: what sets one family of attention-only decoders apart, as far as sizes go.
//
// Such a family is one row of such traits and no code. Plain data and a pure function; thread-safe.
#ifndef CAIRN_SPEC_DECODER_TRAITS_H_
#define CAIRN_SPEC_DECODER_TRAITS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/config_layers.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

enum class QueryKeyNorm : uint8_t {
  kNone,
  kHead,      // one weight vector for the channels of a head
  kAllHeads,  // one for the channels of all heads
};

struct DecoderTraits {
  std::string_view family;
  bool tied_head = false;
  Choice qkv_bias = {};
  Choice output_bias = {};
  Choice head_bias = {};
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  Choice has_query_key_norm = {"", true};
  FeedForwardTraits feed_forward = {};
  int norm_vectors = 2;
  int final_norm_vectors = 1;
  WindowRule windows = WindowRule::kNone;
  int64_t period = 0;  // every period-th layer is full by default
  bool sinks = false;  // a learned sink for each head
  std::optional<int64_t> learned_positions = std::nullopt;  // how many more than the context
};

// Dimensions may come changed by the family.
Result<ModelSpec> DecoderFromDimensions(const ConfigSource& source, const DecoderTraits& traits,
                                        const Dimensions& dimensions);
Result<ModelSpec> DecoderFromConfig(const ConfigSource& source, const DecoderTraits& traits);

}  // namespace cairn

#endif  // CAIRN_SPEC_DECODER_TRAITS_H_
