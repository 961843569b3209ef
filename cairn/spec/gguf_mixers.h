// The mixers that GGUF keys describe: latent attention, recurrent layers, convolutions.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_GGUF_MIXERS_H_
#define CAIRN_SPEC_GGUF_MIXERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/gguf_architectures.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// The dimensions that every file states. Vectors have one entry for each decoder layer.
struct GgufFrame {
  GgufBlocks blocks;
  int64_t hidden = 0;
  TokenCount context_length;  // 0: the file names none
  std::vector<int64_t> heads;
  std::vector<int64_t> kv_heads;      // 0: no attention in that layer
  std::vector<int64_t> intermediate;  // 0: no dense network in that layer, or not stated
  int64_t key_width = 0;
  int64_t value_width = 0;
  int64_t sliding_key_width = 0;
  int64_t sliding_value_width = 0;
};
Result<GgufFrame> ReadGgufFrame(const GgufKeys& keys);

// Nothing where kv_lora_rank is 0 or absent. Heads are left to the caller.
Result<std::optional<LatentAttentionSpec>> LatentFromGguf(const GgufKeys& keys,
                                                          const GgufFrame& frame);
// Keys by which a query picks what it reads; nothing without indexer.key_length.
Result<std::optional<SparseIndexSpec>> IndexFromGguf(const GgufKeys& keys);

// The mixer of layers that aren't attention, `heads` being those of attention beside it.
Result<MixerSpec> RecurrentFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                    GgufRecurrent kind, int64_t heads);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_MIXERS_H_
