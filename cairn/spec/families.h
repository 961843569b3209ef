// families: from a model's own description, config.json or GGUF metadata, to its ModelSpec.
//
// One family_*.cc per family and one row of the table in families.cc; an architecture without a row
// is an error that lists the rows. Pure functions; thread-safe.
#ifndef CAIRN_SPEC_FAMILIES_H_
#define CAIRN_SPEC_FAMILIES_H_

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// `where` is the file's path, for errors. Of a multimodal config the text part is described.
Result<ModelSpec> ModelSpecFromConfig(std::string_view json, std::string_view where);

// What only a GGUF file's tensor table tells.
struct GgufTensors {
  std::function<bool(std::string_view name)> has;
  std::vector<float> rope_divisors;  // rope_freqs.weight; empty without that tensor
  bool complete = true;              // false: there may be more tensors than `has` knows
  // How many channels a tensor makes, its outermost size; nothing without that tensor.
  std::function<std::optional<int64_t>(std::string_view name)> rows = nullptr;
  // rope_factors_short.weight and rope_factors_long.weight.
  std::vector<float> rope_short_divisors = {};
  std::vector<float> rope_long_divisors = {};
};

// Norm weights of Gemma files already hold the 1 that is added, and query and key rows of Llama
// files lie in interleaved order; the result says so.
Result<ModelSpec> ModelSpecFromGguf(const Metadata& metadata, const GgufTensors& tensors);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILIES_H_
