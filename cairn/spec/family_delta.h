// Which layers are linear, and how wide their matrices may be; for the families that have some.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_FAMILY_DELTA_H_
#define CAIRN_SPEC_FAMILY_DELTA_H_

#include <initializer_list>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// heads x keys x values within the limits; else an error about `key`.
Status CheckMatrix(const HfConfig& config, std::string_view key, int64_t heads, int64_t keys,
                   int64_t values);
// true where a layer is linear: by the list of linear_attention and `others`, else all but every
// period-th.
Result<std::vector<bool>> LinearLayers(const HfConfig& config, size_t layers, int64_t period,
                                       std::initializer_list<std::string_view> others = {
                                           "full_attention"});
// Convolutions and lightning attention pass no other activation.
Status RequireSilu(const HfConfig& config);
// Gated DeltaNet by its linear_... keys.
Result<DeltaRuleSpec> GatedDeltaFromConfig(const HfConfig& config, int64_t hidden);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILY_DELTA_H_
