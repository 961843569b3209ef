// What stands around the metadata of a GGUF file: its counts, and a line for each tensor.
//
// Shared by the reader of whole files (gguf.h) and that of headers (gguf_header.h). Pure functions;
// thread-safe.
#ifndef CAIRN_WEIGHTS_GGUF_TABLE_H_
#define CAIRN_WEIGHTS_GGUF_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"
#include "cairn/weights/byte_reader.h"

namespace cairn {

struct GgufCounts {
  uint64_t tensors = 0;
  uint64_t pairs = 0;
};
// Magic, version, counts. Errors: not GGUF, or of another version or byte order.
Result<GgufCounts> ReadGgufCounts(ByteReader& reader, const std::string& where);

struct GgufTensorLine {
  std::string name;
  std::vector<int64_t> shape;  // outermost first, at least one size, each at least 1
  int64_t elements = 0;        // their product
  uint32_t type = 0;
  uint64_t offset = 0;  // in the data part
};
// `index` says in errors which line it is.
Result<GgufTensorLine> ReadGgufTensorLine(ByteReader& reader, uint64_t index,
                                          const std::string& where);

// general.alignment: of the data part and of each tensor in it. A power of two.
Result<uint64_t> GgufAlignment(const Metadata& metadata);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_TABLE_H_
