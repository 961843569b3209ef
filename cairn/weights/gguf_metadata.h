// The key-value part of a GGUF file.
#ifndef CAIRN_WEIGHTS_GGUF_METADATA_H_
#define CAIRN_WEIGHTS_GGUF_METADATA_H_

#include <cstdint>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"
#include "cairn/weights/byte_reader.h"

namespace cairn {

// Takes `count` pairs off the reader, into `metadata`.
Status ReadGgufMetadata(ByteReader& reader, uint64_t count, Metadata& metadata);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_METADATA_H_
