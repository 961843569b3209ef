// Family: one row of the table in families.cc. Included by families.cc and the family_*.cc only.
#ifndef CAIRN_SPEC_FAMILY_H_
#define CAIRN_SPEC_FAMILY_H_

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/families.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct Family {
  std::array<std::string_view, 2> model_types;  // of config.json; empty: unused
  Result<ModelSpec> (*from_config)(const ConfigSource& source);
  std::string_view architecture;  // general.architecture of GGUF; empty: stored as another family
  Result<ModelSpec> (*from_gguf)(const Metadata& metadata, const GgufTensors& tensors);
};

extern const Family kLlamaFamily;
extern const Family kMistralFamily;
extern const Family kSmolLm3Family;
extern const Family kGemmaFamily;
extern const Family kGemma2Family;
extern const Family kGemma3Family;

// Llama's block with what its relatives vary: one rotation for all layers, SiLU or what hidden_act
// says.
struct LlamaVariant {
  std::string_view family;
  ConfigDefaults defaults;
  double rope_base = 10000;
  bool config_has_biases = true;  // attention_bias and mlp_bias mean something
};
Result<ModelSpec> LlamaLikeFromConfig(const ConfigSource& source, const LlamaVariant& variant);
// Rows of queries and keys are stored in interleaved order; biases are those of the first layer.
Result<ModelSpec> LlamaLikeFromGguf(const Metadata& metadata, const GgufTensors& tensors,
                                    const LlamaVariant& variant);

// Gemma's surroundings: scaled embedding, tied head, and no way to see the future.
Result<ModelSpec> GemmaModelFromConfig(const ConfigSource& source, const DecoderShape& shape,
                                       std::string_view family, const ConfigDefaults& defaults);
ModelSpec GemmaModelFromGguf(const DecoderShape& shape, std::string_view family,
                             const GgufTensors& tensors);

// Whether layer `il` slides, by layer_types where the config has it, else (il + 1) % period != 0.
Result<std::vector<bool>> SlidingLayersFromConfig(const HfConfig& config, size_t layers,
                                                  int64_t period);
// <arch>.attention.sliding_window_pattern: one flag a layer, or a period N: il % N < N - 1 slides.
Result<std::vector<bool>> SlidingLayersFromGguf(const Metadata& metadata,
                                                std::string_view architecture, size_t layers,
                                                int64_t default_period);
// <arch>.attention.sliding_window; 0 and absent are none.
Result<std::optional<int64_t>> WindowFromGguf(const Metadata& metadata,
                                              std::string_view architecture);
// A cap such as <arch>.final_logit_softcapping; 0: none.
Result<double> CapFromGguf(const Metadata& metadata, std::string_view key, double absent);
// key_width^-0.5, but (hidden / heads)^-0.5 in the size with that many layers: GGUF has no
// query_pre_attn_scalar.
double GemmaScaleFromGguf(const DecoderShape& shape, size_t layers_of_27b);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILY_H_
