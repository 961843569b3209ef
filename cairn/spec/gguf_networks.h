// The feed-forward networks that GGUF keys and tensor names describe: dense, or experts.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_GGUF_NETWORKS_H_
#define CAIRN_SPEC_GGUF_NETWORKS_H_

#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/families.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_mixers.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// One for each decoder layer. Which layers have experts the tensors tell, if all are known, else
// the keys; `gated` networks have three matrices.
Result<std::vector<FeedForwardSpec>> NetworksFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                                      const GgufTensors& tensors, bool gated);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_NETWORKS_H_
