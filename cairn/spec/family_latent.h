// Latent attention's widths and index keys in the spellings of their config.json files; for the
// families that have some.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_FAMILY_LATENT_H_
#define CAIRN_SPEC_FAMILY_LATENT_H_

#include <optional>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// MLA's widths. Its biases, by attention_bias, are of the down projections and of the output.
Result<LatentAttentionSpec> LatentFromConfig(const HfConfig& config);

// By index_head_dim; nothing without it.
Result<std::optional<SparseIndexSpec>> IndexFromConfig(const HfConfig& config);
// index_topk: how many picks a query reads; 0: all.
Result<int64_t> PicksFromConfig(const HfConfig& config);
// Which layers keep index keys, where the model has them.
Result<std::vector<bool>> IndexedLayers(const HfConfig& config, size_t layers);

// A key without which the state is known but not the weights; empty: all are there.
std::string MissingForCount(const HfConfig& config, const LatentAttentionSpec& latent);

// hc_mult, hc_sinkhorn_iters, hc_eps.
Result<HyperConnectionsSpec> HyperConnectionsFromConfig(const HfConfig& config);
// Weights by which one branch of a layer reads from several residual streams and adds to them.
int64_t HyperConnectionParameters(int64_t streams, int64_t hidden);

}  // namespace cairn

#endif  // CAIRN_SPEC_FAMILY_LATENT_H_
