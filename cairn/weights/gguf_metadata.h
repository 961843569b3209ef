// The key-value part of a GGUF file.
#ifndef CAIRN_WEIGHTS_GGUF_METADATA_H_
#define CAIRN_WEIGHTS_GGUF_METADATA_H_

#include <cstdint>

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

// Takes `count` pairs off the reader, into `metadata`. Where the bytes end too early, those before
// are there, and the reader says how many it wanted.
Status ReadGgufMetadata(ByteReader& reader, uint64_t count, GgufKeep keep, Metadata& metadata);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_METADATA_H_
