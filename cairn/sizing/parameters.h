// How many numbers a model's weights are, from its shapes alone.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PARAMETERS_H_
#define CAIRN_SIZING_PARAMETERS_H_

#include <cstdint>
#include <optional>

#include "cairn/base/ids.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Every stored weight once: a tied head counts with the embedding. Nothing where the description
// leaves out what counts (ModelSpec::uncounted).
std::optional<ElementCount> ParameterCount(const ModelSpec& model);

// Of one half of a layer in a model of `hidden` channels; 0 for kinds whose weights aren't
// described. Norms outside of it aren't among them.
ElementCount MixerParameters(const MixerSpec& mixer, int64_t hidden);
ElementCount FeedForwardParameters(const FeedForwardSpec& network, int64_t hidden);

}  // namespace cairn

#endif  // CAIRN_SIZING_PARAMETERS_H_
