// GGUF keys in the words of a config.json, for architectures whose layers are so much their own
// that one reader should describe them: their family's.
//
// Pure function; thread-safe.
#ifndef CAIRN_SPEC_GGUF_CONFIG_H_
#define CAIRN_SPEC_GGUF_CONFIG_H_

#include <string>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_mixers.h"

namespace cairn {

// A JSON object of the type: dimensions, experts, latent rows, index keys, windows, compression,
// KDA layers. What the file doesn't have is left out.
Result<std::string> ConfigFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                   std::string_view model_type);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_CONFIG_H_
