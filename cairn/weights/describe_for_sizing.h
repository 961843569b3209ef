// What a model is and how much its weights take, as far as what is there tells.
//
// For planning: neither tensors nor all files have to be there. Takes a .gguf file or the first
// megabytes of one, a part of a split one, a safetensors file, a config.json, a folder with any of
// these, or a cache folder of Hugging Face. Reads headers only. Thread-safe.
#ifndef CAIRN_WEIGHTS_DESCRIBE_FOR_SIZING_H_
#define CAIRN_WEIGHTS_DESCRIBE_FOR_SIZING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/model_description.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// All tensors stored in one form.
struct StoredTensors {
  std::string type;  // as the file calls it: "q4_k", "BF16"
  int64_t tensors = 0;
  ElementCount elements;
  std::optional<Bytes> bytes;  // nothing where the form's size isn't known
};

struct StoredWeights {
  std::optional<ElementCount> parameters;  // nothing where only the bytes are stated
  std::optional<Bytes> bytes;              // nothing where a form's size isn't known
  std::vector<StoredTensors> by_type;      // largest share of the elements first
};

struct DescribedWeights {
  ModelSpec model;
  ModelDescription description;          // what `model` was read from
  std::optional<StoredWeights> weights;  // nothing where they aren't all there to count
  std::vector<std::string> notes;        // what isn't as one may think, a sentence each
};

Result<DescribedWeights> DescribeForSizing(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_DESCRIBE_FOR_SIZING_H_
