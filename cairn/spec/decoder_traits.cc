#include "cairn/spec/decoder_traits.h"

#include <string>

namespace cairn {
namespace {

Result<AttentionSpec> AttentionFromTraits(const HfConfig& config, const DecoderTraits& traits,
                                          const Dimensions& dimensions) {
  AttentionSpec attention = AttentionOf(dimensions);
  CAIRN_ASSIGN(attention.qkv_bias, traits.qkv_bias.Read(config));
  CAIRN_ASSIGN(attention.output_bias, traits.output_bias.Read(config));
  CAIRN_ASSIGN(const bool normed, traits.has_query_key_norm.Read(config));
  if (normed && traits.query_key_norm == QueryKeyNorm::kHead) attention.query_key_norm = true;
  if (normed && traits.query_key_norm == QueryKeyNorm::kAllHeads) {
    attention.other_parameters += (attention.heads + attention.kv_heads) * attention.key_width;
  }
  if (traits.sinks) attention.other_parameters += attention.heads;
  return attention;
}

}  // namespace

Result<ModelSpec> DecoderFromDimensions(const ConfigSource& source, const DecoderTraits& traits,
                                        const Dimensions& dimensions) {
  const HfConfig& config = source.config;
  CAIRN_ASSIGN(ModelSpec model, SizedModel(source, traits.family, dimensions, traits.tied_head));
  CAIRN_ASSIGN(AttentionSpec attention, AttentionFromTraits(config, traits, dimensions));
  CAIRN_ASSIGN(const std::vector<Lifetime> lifetimes,
               LifetimesFromConfig(config, dimensions, traits.windows, traits.period));
  std::string missing;
  CAIRN_ASSIGN(const std::vector<FeedForwardSpec> networks,
               FeedForwardsFromConfig(config, dimensions, traits.feed_forward, missing));
  if (!missing.empty()) model.uncounted = missing + " is missing";
  CAIRN_ASSIGN(const bool head_bias, traits.head_bias.Read(config));
  if (head_bias) model.other_parameters += dimensions.vocabulary;
  if (traits.learned_positions) {
    model.other_parameters +=
        (dimensions.context_length.value() + *traits.learned_positions) * dimensions.hidden;
  }
  model.final_norm_vectors = traits.final_norm_vectors;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    attention.lifetime = lifetimes[i];
    model.layers.push_back(
        {.mixer = attention, .feed_forward = networks[i], .norm_vectors = traits.norm_vectors});
  }
  return model;
}

Result<ModelSpec> DecoderFromConfig(const ConfigSource& source, const DecoderTraits& traits) {
  CAIRN_ASSIGN(const Dimensions dimensions, DimensionsFromConfig(source.config));
  return DecoderFromDimensions(source, traits, dimensions);
}

}  // namespace cairn
