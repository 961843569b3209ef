// Embeddings of n-grams (Qwen 4) from a config.json: which layers have them, and how large they
// are.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_NGRAMS_CONFIG_H_
#define CAIRN_SPEC_NGRAMS_CONFIG_H_

#include <cstdint>

#include "cairn/base/status.h"
#include "cairn/spec/hf_config.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Adds them to the layers that the config lists. REQUIRES: the residual has gated streams.
Status AddNgrams(const HfConfig& config, ModelSpec& model);
// The token that n-grams don't reach beyond: the first one that ends an answer.
Result<int64_t> EndTokenOfNgrams(const HfConfig& config);

}  // namespace cairn

#endif  // CAIRN_SPEC_NGRAMS_CONFIG_H_
