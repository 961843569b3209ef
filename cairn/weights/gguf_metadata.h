// The key-value part of a GGUF file.
#ifndef CAIRN_WEIGHTS_GGUF_METADATA_H_
#define CAIRN_WEIGHTS_GGUF_METADATA_H_

#include <cstdint>
#include <string_view>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"
#include "cairn/weights/byte_reader.h"

namespace cairn {

enum class GgufKeep : uint8_t {
  kAll,
  // What describes the model: of the vocabulary's arrays (tokenizer.*) and of others too long for a
  // description only the size is kept, of its texts nothing.
  kDescription,
};

struct GgufMetadataEnd {
  uint64_t whole_keys = 0;
  std::string_view last_key;  // whole or not; it lies in the reader's bytes
};

// Takes `count` pairs off the reader, into `metadata`. Where the bytes end too early, those before
// are there, the reader says how many it wanted, and `end`, if given, where it came to.
Status ReadGgufMetadata(ByteReader& reader, uint64_t count, GgufKeep keep, Metadata& metadata,
                        GgufMetadataEnd* end = nullptr);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_METADATA_H_
