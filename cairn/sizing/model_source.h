// ModelSource: what a SizedModel is made from, small enough to be carried inside a page.
//
// Long lists of words in a GGUF file's metadata are carried as their length only, which is all that
// a size depends on. Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_MODEL_SOURCE_H_
#define CAIRN_SIZING_MODEL_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/sizing/request.h"
#include "cairn/spec/model_description.h"

namespace cairn {

struct ModelSource {
  std::string name;  // what the user called it
  ModelDescription description;
  std::optional<WeightTotals> weights = {};
  std::vector<std::string> notes = {};
};

Result<SizedModel> SizedModelOf(const ModelSource& source);

// On one line. What reads it back is sized alike.
std::string ModelSourceJson(const ModelSource& source);
Result<ModelSource> ModelSourceFromJson(std::string_view json);

}  // namespace cairn

#endif  // CAIRN_SIZING_MODEL_SOURCE_H_
