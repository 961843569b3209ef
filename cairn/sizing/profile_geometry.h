// The caches that the layers of a model keep on one tensor-parallel rank, as serving frameworks
// divide them.
//
// Read off the mixers; a layer has none, one, or several caches (attention beside a state, an index
// beside latent rows). Heads are divided, or repeated when there are fewer than ranks; latent rows
// and index keys are repeated on each rank. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PROFILE_GEOMETRY_H_
#define CAIRN_SIZING_PROFILE_GEOMETRY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/dtype.h"
#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct LayerCache {
  enum class Kind : uint8_t {
    kFull,
    kSliding,
    kChunked,
    kLatent,      // key_width: the latent part, value_width: the rotated part
    kIndex,       // one key a token
    kState,       // doesn't grow
    kCompressed,  // DeepSeek V4; a plan of its own
  };
  enum class StateKind : uint8_t { kMamba1, kMamba2, kDelta, kKda, kLinear, kConv, kOther };

  LayerIndex layer;
  Kind kind = Kind::kFull;
  bool draft = false;  // of a drafter or a prediction layer
  int64_t window = 0;  // of kSliding, kChunked, kCompressed
  int64_t heads = 0;   // on the rank
  int64_t key_width = 0;
  int64_t value_width = 0;
  int64_t ratio = 0;  // of kCompressed

  StateKind state = StateKind::kOther;
  int64_t conv_channels = 0;  // on the rank
  int64_t conv_columns = 0;   // kernel - 1
  int64_t recurrent_elements = 0;
  std::optional<DType> recurrent_dtype = std::nullopt;  // where the model says

  bool operator==(const LayerCache&) const = default;
};

// Prediction and draft layers that a start adds to the model's own.
struct DraftLayers {
  int64_t prediction_layers = 0;  // like the model's last attention layer without a window
  int64_t drafter_layers = 0;
  std::optional<int64_t> kv_heads = std::nullopt;
  std::optional<int64_t> head_dim = std::nullopt;
  std::optional<int64_t> window = std::nullopt;
};

// In the order of the layers. Errors: heads or channels that `tp` doesn't divide.
Result<std::vector<LayerCache>> CachesOfRank(const ModelSpec& model, int64_t tp,
                                             const DraftLayers& drafts = {});

std::string_view NameOf(LayerCache::Kind kind);

// Bytes of a float type as frameworks spell it: bf16, bfloat16, fp16, half, fp32, fp8, ...
Result<int64_t> FloatBytes(std::string_view setting, std::string_view name);

}  // namespace cairn

#endif  // CAIRN_SIZING_PROFILE_GEOMETRY_H_
