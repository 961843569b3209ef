// GGUF keys in the words of a config.json, so that one reader describes a model: its family's.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_GGUF_CONFIG_H_
#define CAIRN_SPEC_GGUF_CONFIG_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/config_writer.h"
#include "cairn/spec/gguf_keys.h"
#include "cairn/spec/gguf_mixers.h"

namespace cairn {

// What a config calls the number under a key.
struct GgufName {
  enum class Kind : uint8_t { kInteger, kNumber, kFlag };
  std::string_view gguf;
  std::string_view config;
  Kind kind = Kind::kInteger;
};
// What the file doesn't have is left out.
Status CopyKeys(const GgufKeys& keys, std::span<const GgufName> names, ConfigWriter& config);

// A config of the type: dimensions, experts, latent rows, index keys, windows, compression, KDA
// layers.
Result<ConfigWriter> ConfigFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                    std::string_view model_type);

// What only running needs and most families call the same: epsilon, rotation, factors, caps.
// `width`: of the heads that turn; 0: what turns is stated in other keys.
Status AddRunKeys(const GgufKeys& keys, int64_t width, ConfigWriter& config);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_CONFIG_H_
