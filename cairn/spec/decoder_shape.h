// DecoderShape: the dimensions that every decoder file states, whatever the family.
//
// Read from a config.json or GGUF metadata with all checks that need no knowledge of the family;
// the family files add what is special. Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SPEC_DECODER_SHAPE_H_
#define CAIRN_SPEC_DECODER_SHAPE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct DecoderShape {
  struct Layer {
    int64_t heads = 0;
    int64_t kv_heads = 0;  // divides heads
    int64_t intermediate = 0;
  };
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t key_width = 0;
  int64_t value_width = 0;
  TokenCount context_length;
  double norm_epsilon = 0;
  std::vector<Layer> layers;  // at least one
};

// The text part of a config.json.
struct ConfigSource {
  const HfConfig& config;
  // The text part sits inside a multimodal config, which writes only what differs from the class
  // defaults. Elsewhere a missing dimension is an error.
  bool nested = false;
  std::optional<bool> outer_tied_head = std::nullopt;  // what the multimodal config says
};

// Class defaults of a family's config, for nested text parts.
struct ConfigDefaults {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;    // 0: as many as heads, nested or not
  int64_t head_width = 0;  // nested or not; 0: hidden / heads
  int64_t context_length = 0;
  double norm_epsilon = 1e-6;  // nested or not
  bool tied_head = false;      // nested or not
};

Result<DecoderShape> ShapeFromConfig(const ConfigSource& source, const ConfigDefaults& defaults);
Result<bool> TiedHeadFromConfig(const ConfigSource& source, const ConfigDefaults& defaults);
// The activation under `key`; "silu", "gelu", "gelu_pytorch_tanh".
Result<Activation> ActivationFromConfig(const HfConfig& config, std::string_view key,
                                        std::string_view absent);

// Layers of multi-token prediction are in block_count but are not decoder layers.
Result<DecoderShape> ShapeFromGguf(const Metadata& metadata, std::string_view architecture);

// The fields of the model that the shape decides, without layers.
ModelSpec ModelOfShape(std::string_view family, const DecoderShape& shape);
// Scale key_width^-0.5, all keys visible, no rotation.
AttentionSpec AttentionOfShape(const DecoderShape& shape, size_t layer);
// A window that can't bind within the context is none.
Lifetime WindowLifetime(TokenCount context_length, std::optional<int64_t> window);

}  // namespace cairn

#endif  // CAIRN_SPEC_DECODER_SHAPE_H_
