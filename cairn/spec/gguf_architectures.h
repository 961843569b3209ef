// The architectures that GGUF files name, and what of them isn't in the files' keys.
//
// Keys are the same for all architectures (gguf_keys.h); a row says which kind of state the layers
// without attention keep and which rule holds where a key is absent. Constant data; thread-safe.
#ifndef CAIRN_SPEC_GGUF_ARCHITECTURES_H_
#define CAIRN_SPEC_GGUF_ARCHITECTURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/base/status.h"

namespace cairn {

// What the layers that aren't attention are.
enum class GgufRecurrent : uint8_t {
  kNothing,  // they keep nothing
  kMamba1,
  kMamba2,
  kGatedDelta,
  kChannelDelta,  // KDA
  kLightning,
  kRwkv,
  kShortConv,
};

// Which layers those are.
enum class GgufRecurrentLayers : uint8_t {
  kWithoutHeads,    // attention.head_count_kv is 0
  kWithoutNetwork,  // the same, and feed_forward_length too; with it the layer keeps nothing
  kByInterval,      // attention.recurrent_layers, or all but every full_attention_interval-th
  kAll,
  kBesideAttention,  // every layer is both
};

// Layers with index keys, where attention.indexer.types doesn't say.
enum class GgufIndexLayers : uint8_t {
  kAll,
  kBehindDense,    // from leading_dense_block_count on
  kByContextSize,  // all, or with a context of a million the first and then every fourth
};

struct GgufArchitecture {
  std::string_view name;
  std::string_view family;  // of the ModelSpec
  GgufRecurrent recurrent = GgufRecurrent::kNothing;
  GgufRecurrentLayers recurrent_layers = GgufRecurrentLayers::kWithoutHeads;
  GgufIndexLayers index_layers = GgufIndexLayers::kAll;
  // Of a window's layers, where the file has no pattern: each period has one full layer, its last
  // or its first; 0: all slide.
  int64_t period = 0;
  bool full_first = false;
  int64_t window = 0;    // where the file names none; 0: none
  int64_t chunk = 0;     // the layers of the pattern see their own chunk instead of a window
  int64_t interval = 4;  // of full layers among recurrent ones, where the file names none
  int64_t owners = 0;    // layers before those that read others' rows, where the file doesn't say
  bool gated = true;     // networks of three matrices
  // The family whose config.json says what the keys say, and that describes the layers instead of
  // this row; empty: the row does.
  std::string_view model_type = {};
};

// Errors: an architecture that keeps no state, or one that isn't known, with the nearest names.
Result<const GgufArchitecture*> FindGgufArchitecture(std::string_view name,
                                                     const std::string& where);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_ARCHITECTURES_H_
