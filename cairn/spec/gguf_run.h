// How GGUF files of an architecture are run: their keys in the words of a config.json, which the
// family of Hugging Face folders describes, and what a converter has done to the tensors.
//
// One row an architecture, in the tables of gguf_run_*.cc; those whose family reads GGUF itself
// (family.h) have none. Pure functions; thread-safe.
#ifndef CAIRN_SPEC_GGUF_RUN_H_
#define CAIRN_SPEC_GGUF_RUN_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/config_writer.h"
#include "cairn/spec/families.h"
#include "cairn/spec/gguf_architectures.h"
#include "cairn/spec/gguf_config.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_layers.h"
#include "cairn/spec/gguf_mixers.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct GgufSource {
  const GgufKeys& keys;
  const GgufFrame& frame;
  const GgufTensors& tensors;
  const ModelSpec& sized;  // what the keys and tensors say of the layers
  const GgufLayers& layers;
};

struct GgufRun {
  std::string_view architecture;
  std::string_view model_type;           // of the config
  std::span<const GgufName> names = {};  // of keys that the common ones leave out
  // What of the config no name tells; it may choose another model_type.
  Status (*configure)(const GgufSource& source, ConfigWriter& config) = nullptr;
  bool takes_divisors = true;  // rope_freqs.weight is of all layers
};

std::span<const GgufRun> DenseGgufRuns();  // attention and networks
std::span<const GgufRun> GemmaGgufRuns();
std::span<const GgufRun> LatentGgufRuns();
std::span<const GgufRun> RecurrentGgufRuns();  // and hybrids

// `sized` with what it computes; where the file says something that can't be run, sized only, for
// that reason. Architectures without a row are left as they are.
ModelSpec WithGgufRun(const Metadata& metadata, const GgufTensors& tensors, ModelSpec sized,
                      const GgufArchitecture& architecture);

// "sliding_attention", "chunked_attention", "full_attention", "linear_attention" for each layer.
std::vector<std::string> LayerTypesOf(const GgufSource& source);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_RUN_H_
