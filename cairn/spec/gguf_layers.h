// Which layers of a GGUF model are recurrent, slide, or have index keys.
//
// A list of the file beats its tensors, those beat a period of the file, and that beats the
// architecture's own. Pure function; thread-safe.
#ifndef CAIRN_SPEC_GGUF_LAYERS_H_
#define CAIRN_SPEC_GGUF_LAYERS_H_

#include <cstdint>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/families.h"
#include "cairn/spec/gguf_architectures.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_mixers.h"

namespace cairn {

// A flag for each decoder layer.
struct GgufLayers {
  std::vector<bool> recurrent;
  std::vector<bool> slides;
  std::vector<bool> indexed;
  int64_t window = 0;    // of the layers that slide
  bool chunked = false;  // they see their own chunk instead
};

// `has_index`: the model has index keys at all.
Result<GgufLayers> LayersFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                  const GgufTensors& tensors, const GgufArchitecture& row,
                                  bool has_index);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_LAYERS_H_
