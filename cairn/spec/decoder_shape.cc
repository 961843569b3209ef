#include "cairn/spec/decoder_shape.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr IntRange kLayersRange = {1, kMaxLayers};
constexpr IntRange kHiddenRange = {1, kMaxHidden};
constexpr IntRange kIntermediateRange = {1, kMaxIntermediate};
constexpr IntRange kHeadsRange = {1, kMaxHeads};
constexpr IntRange kHeadWidthRange = {1, kMaxHeadWidth};
constexpr IntRange kVocabularyRange = {1, kMaxVocabulary};
constexpr IntRange kContextRange = {1, kMaxContext};
constexpr FloatRange kEpsilonRange = {1e-12, 1};

// Reads dimensions of a config.json; a nested one may leave them to the class.
class ConfigDimensions {
 public:
  explicit ConfigDimensions(const ConfigSource& source) : source_(source) {}

  Result<int64_t> Read(std::string_view key, IntRange range, int64_t class_default) const {
    if (source_.nested && class_default != 0) {
      return source_.config.IntOr(key, range, class_default);
    }
    return source_.config.Int(key, range);
  }

 private:
  const ConfigSource& source_;
};

Result<int64_t> ReadKvHeads(const ConfigSource& source, const ConfigDefaults& defaults,
                            int64_t heads) {
  constexpr std::string_view kKey = "num_key_value_heads";
  const HfConfig& config = source.config;
  if (config.IsNull(kKey) || (!config.Has(kKey) && defaults.kv_heads == 0)) return heads;
  CAIRN_ASSIGN(const int64_t kv_heads,
               ConfigDimensions(source).Read(kKey, kHeadsRange, defaults.kv_heads));
  if (heads % kv_heads != 0) {
    return config.Wrong(kKey, fmt::format("a divisor of num_attention_heads ({})", heads));
  }
  return kv_heads;
}

Result<int64_t> ReadHeadWidth(const HfConfig& config, const ConfigDefaults& defaults,
                              int64_t hidden, int64_t heads) {
  if (config.Has("head_dim")) return config.Int("head_dim", kHeadWidthRange);
  if (defaults.head_width != 0) return defaults.head_width;
  if (hidden % heads != 0) {
    return config.Wrong("num_attention_heads",
                        fmt::format("a divisor of hidden_size ({}), or a head_dim", hidden));
  }
  const int64_t width = hidden / heads;
  if (width > kMaxHeadWidth) {
    return config.Wrong("hidden_size", fmt::format("at most {} channels a head", kMaxHeadWidth));
  }
  return width;
}

Result<TokenCount> ReadContextLength(const ConfigSource& source, int64_t class_default) {
  // The first Llama files call it max_sequence_length.
  const std::string_view key =
      source.config.Has("max_sequence_length") && !source.config.Has("max_position_embeddings")
          ? "max_sequence_length"
          : "max_position_embeddings";
  CAIRN_ASSIGN(const int64_t length,
               ConfigDimensions(source).Read(key, kContextRange, class_default));
  return TokenCount(length);
}

}  // namespace

Result<DecoderShape> ShapeFromConfig(const ConfigSource& source, const ConfigDefaults& defaults) {
  const ConfigDimensions read(source);
  DecoderShape shape;
  CAIRN_ASSIGN(const int64_t layers, read.Read("num_hidden_layers", kLayersRange, defaults.layers));
  CAIRN_ASSIGN(shape.vocabulary, read.Read("vocab_size", kVocabularyRange, defaults.vocabulary));
  CAIRN_ASSIGN(shape.hidden, read.Read("hidden_size", kHiddenRange, defaults.hidden));
  DecoderShape::Layer layer;
  CAIRN_ASSIGN(layer.intermediate,
               read.Read("intermediate_size", kIntermediateRange, defaults.intermediate));
  CAIRN_ASSIGN(layer.heads, read.Read("num_attention_heads", kHeadsRange, defaults.heads));
  CAIRN_ASSIGN(layer.kv_heads, ReadKvHeads(source, defaults, layer.heads));
  CAIRN_ASSIGN(shape.key_width, ReadHeadWidth(source.config, defaults, shape.hidden, layer.heads));
  shape.value_width = shape.key_width;
  if (layer.heads * shape.key_width > kMaxProjection) {
    return source.config.Wrong("num_attention_heads",
                               fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  CAIRN_ASSIGN(shape.context_length, ReadContextLength(source, defaults.context_length));
  CAIRN_ASSIGN(shape.norm_epsilon,
               source.config.FloatOr("rms_norm_eps", kEpsilonRange, defaults.norm_epsilon));
  shape.layers.assign(static_cast<size_t>(layers), layer);
  return shape;
}

Result<bool> TiedHeadFromConfig(const ConfigSource& source, const ConfigDefaults& defaults) {
  return source.config.BoolOr("tie_word_embeddings",
                              source.outer_tied_head.value_or(defaults.tied_head));
}

Result<Activation> ActivationFromConfig(const HfConfig& config, std::string_view key,
                                        std::string_view absent) {
  CAIRN_ASSIGN(const std::string name, config.StringOr(key, absent));
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") return Activation::kGeluTanh;
  if (name == "gelu") return Activation::kGeluErf;
  if (name == "relu2") return Activation::kReluSquared;
  return config.Unsupported(key, "silu, gelu, gelu_pytorch_tanh, relu2");
}

namespace {

Result<std::vector<DecoderShape::Layer>> GgufLayers(const GgufKeys& read) {
  CAIRN_ASSIGN(const GgufBlocks blocks, read.Blocks());
  CAIRN_ASSIGN(const auto heads, read.PerLayer("attention.head_count", blocks, kHeadsRange));
  CAIRN_ASSIGN(const auto intermediate,
               read.PerLayer("feed_forward_length", blocks, kIntermediateRange));
  std::vector<int64_t> kv_heads = heads;
  constexpr std::string_view kKvHeads = "attention.head_count_kv";
  if (read.Has(kKvHeads)) {
    CAIRN_ASSIGN(kv_heads, read.PerLayer(kKvHeads, blocks, kHeadsRange));
  }
  std::vector<DecoderShape::Layer> layers;
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] % kv_heads[i] != 0) {
      return read.Wrong(kKvHeads, kv_heads[i],
                        fmt::format("a divisor of attention.head_count ({})", heads[i]));
    }
    layers.push_back({heads[i], kv_heads[i], intermediate[i]});
  }
  return layers;
}

}  // namespace

Result<DecoderShape> ShapeFromGguf(const Metadata& metadata, std::string_view architecture) {
  const GgufKeys read(metadata, architecture);
  DecoderShape shape;
  CAIRN_ASSIGN(shape.layers, GgufLayers(read));
  CAIRN_ASSIGN(const auto vocabulary, GgufVocabulary(read));
  if (!vocabulary) return read.Missing("vocab_size");
  shape.vocabulary = *vocabulary;
  CAIRN_ASSIGN(shape.hidden, read.Int("embedding_length", kHiddenRange));
  const int64_t heads = shape.layers.front().heads;
  if (shape.hidden % heads != 0 && !metadata.Has(read.Key("attention.key_length"))) {
    return read.Wrong(
        "attention.head_count", heads,
        fmt::format("a divisor of embedding_length ({}), or attention.key_length", shape.hidden));
  }
  CAIRN_ASSIGN(shape.key_width,
               read.IntOr("attention.key_length", kHeadWidthRange, shape.hidden / heads));
  CAIRN_ASSIGN(shape.value_width,
               read.IntOr("attention.value_length", kHeadWidthRange, shape.hidden / heads));
  for (const DecoderShape::Layer& layer : shape.layers) {
    if (layer.heads * std::max(shape.key_width, shape.value_width) > kMaxProjection) {
      return read.Wrong("attention.head_count", layer.heads,
                        fmt::format("at most {} channels in all heads", kMaxProjection));
    }
  }
  CAIRN_ASSIGN(const int64_t context, read.Int("context_length", kContextRange));
  shape.context_length = TokenCount(context);
  constexpr std::string_view kEpsilon = "attention.layer_norm_rms_epsilon";
  CAIRN_ASSIGN(shape.norm_epsilon, metadata.Float(read.Key(kEpsilon)));
  if (!(shape.norm_epsilon >= kEpsilonRange.min && shape.norm_epsilon <= kEpsilonRange.max)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: key {} is {}, expected a number from {} to {}",
                metadata.where(), read.Key(kEpsilon), shape.norm_epsilon, kEpsilonRange.min,
                kEpsilonRange.max);
  }
  return shape;
}

ModelSpec ModelOfShape(std::string_view family, const DecoderShape& shape) {
  ModelSpec model;
  model.family = family;
  model.vocabulary = shape.vocabulary;
  model.hidden = shape.hidden;
  model.context_length = shape.context_length;
  model.norm_epsilon = shape.norm_epsilon;
  return model;
}

AttentionSpec AttentionOfShape(const DecoderShape& shape, size_t layer) {
  AttentionSpec attention;
  attention.heads = shape.layers[layer].heads;
  attention.kv_heads = shape.layers[layer].kv_heads;
  attention.key_width = shape.key_width;
  attention.value_width = shape.value_width;
  attention.scale = 1 / std::sqrt(static_cast<double>(shape.key_width));
  return attention;
}

Lifetime WindowLifetime(TokenCount context_length, std::optional<int64_t> window) {
  if (!window || TokenCount(*window) >= context_length) return Lifetime::All();
  return Lifetime::Window(TokenCount(*window));
}

}  // namespace cairn
