// How many numbers a model's weights are, from its shapes alone.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PARAMETERS_H_
#define CAIRN_SIZING_PARAMETERS_H_

#include <optional>

#include "cairn/base/ids.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Every stored weight once: a tied head counts with the embedding. Nothing where the description
// leaves out what counts (ModelSpec::uncounted).
std::optional<ElementCount> ParameterCount(const ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SIZING_PARAMETERS_H_
