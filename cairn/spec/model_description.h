// ModelDescription: what a ModelSpec is read from, kept so that it can be read again elsewhere.
//
// Plain data and a pure function; thread-compatible.
#ifndef CAIRN_SPEC_MODEL_DESCRIPTION_H_
#define CAIRN_SPEC_MODEL_DESCRIPTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cairn/base/status.h"
#include "cairn/spec/families.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Of a GGUF file, all its parts together.
struct GgufDescription {
  Metadata metadata;
  std::map<std::string, int64_t, std::less<>> rows;  // of each tensor: its outermost size
  bool complete = true;                              // false: there may be more tensors

  // Looks into this description as long as it lives and stays where it is.
  GgufTensors Tensors() const;
};

struct ModelDescription {
  std::string where;  // the description's path, which errors begin with; else a name (catalog.h)
  std::optional<std::string> config = {};  // the text of a config.json
  std::optional<GgufDescription> gguf = {};
};

Result<ModelSpec> ModelSpecOf(const ModelDescription& description);

}  // namespace cairn

#endif  // CAIRN_SPEC_MODEL_DESCRIPTION_H_
