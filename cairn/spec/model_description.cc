#include "cairn/spec/model_description.h"

#include <string_view>

#include "cairn/spec/catalog.h"

namespace cairn {

GgufTensors GgufDescription::Tensors() const {
  GgufTensors tensors;
  tensors.has = [this](std::string_view name) { return rows.contains(name); };
  tensors.rows = [this](std::string_view name) -> std::optional<int64_t> {
    const auto found = rows.find(name);
    if (found == rows.end()) return std::nullopt;
    return found->second;
  };
  tensors.complete = complete;
  return tensors;
}

Result<ModelSpec> ModelSpecOf(const ModelDescription& description) {
  if (description.gguf) {
    return ModelSpecFromGguf(description.gguf->metadata, description.gguf->Tensors());
  }
  if (description.config) return ModelSpecFromConfig(*description.config, description.where);
  return ModelFromName(description.where);
}

}  // namespace cairn
