// Layers that draft tokens ahead (multi-token prediction), as config.json files write them.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_CONFIG_DRAFTS_H_
#define CAIRN_SPEC_CONFIG_DRAFTS_H_

#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// How many: num_nextn_predict_layers, mtp_num_hidden_layers, or num_mtp_modules times
// mtp_transformer_layers; the first of them that is there.
Result<int64_t> DraftCountFromConfig(const HfConfig& config);

// Fills draft_layers. A draft layer is like the last layer that attends, unless the file lists its
// blocks or the family has described it already. REQUIRES: the other layers are described.
Status AddDraftLayers(const HfConfig& config, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_CONFIG_DRAFTS_H_
