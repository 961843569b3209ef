// What a decoder's tensors are called in the files of a family.
//
// One row a naming scheme; a family that only renames tensors needs nothing but a row here.
#ifndef CAIRN_MODELS_TENSOR_NAMES_H_
#define CAIRN_MODELS_TENSOR_NAMES_H_

#include <string>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/spec/model_spec.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// Stems without ".weight" or ".bias". Layer stems follow `layer_prefix` + index + ".".
struct TensorNames {
  std::string_view embedding;
  std::string_view head;
  std::string_view final_norm;
  std::string_view layer_prefix;
  std::string_view mixer_norm;
  std::string_view mixer_output_norm;
  std::string_view query;
  std::string_view key;
  std::string_view value;
  std::string_view attention_output;
  std::string_view query_norm;
  std::string_view key_norm;
  std::string_view feed_forward_norm;
  std::string_view feed_forward_output_norm;
  std::string_view gate;
  std::string_view up;
  std::string_view down;
};

// The scheme of `file` for a model of this spec, and the prefix that all its tensors share
// ("model." or "language_model.model." in safetensors; empty in GGUF).
struct NamingScheme {
  const TensorNames* names;
  std::string prefix;

  std::string Global(std::string_view stem) const;
  std::string Layer(LayerIndex layer, std::string_view stem) const;
  // The head lies beside the model, not in it: "lm_head" rather than "model.lm_head".
  std::string Head() const;
};

NamingScheme NamingSchemeOf(const WeightFile& file, const ModelSpec& spec);

}  // namespace cairn

#endif  // CAIRN_MODELS_TENSOR_NAMES_H_
