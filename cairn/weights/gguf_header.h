// The header of a GGUF file: metadata and table of tensors, without the tensors.
//
// Reads no further than it must and maps nothing: of a file of any size, also one that is still
// being fetched. What it holds in memory is at most kMaxGgufHeaderBytes and a small multiple of the
// table; arrays of the vocabulary are passed over. Pure functions; thread-safe.
#ifndef CAIRN_WEIGHTS_GGUF_HEADER_H_
#define CAIRN_WEIGHTS_GGUF_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/spec/metadata.h"
#include "cairn/weights/gguf_table.h"

namespace cairn {

// Far above any model's: a vocabulary of a million entries takes a tenth of it.
inline constexpr size_t kMaxGgufHeaderBytes = size_t{256} << 20;

struct GgufHeaderTensor {
  GgufTensorLine line;
  // By its type and shape, or by where the next tensor or the file ends; nothing where neither
  // tells.
  std::optional<uint64_t> bytes;
};

struct GgufHeader {
  // `where` is the path for errors.
  explicit GgufHeader(std::string where) : metadata(std::move(where)) {}

  Metadata metadata;  // GgufKeep::kDescription of it
  // Of how many keys so many are whole; the first that isn't is one of the vocabulary's, which
  // stand behind the model's own in the files of every known writer.
  uint64_t stated_keys = 0;
  uint64_t whole_keys = 0;
  std::string cut_key;  // empty: all are whole
  std::vector<GgufHeaderTensor> tensors;
  uint64_t stated_tensors = 0;  // more than there are in `tensors`: the file ends in its table
  uint64_t file_bytes = 0;      // that are there
  uint64_t data_offset = 0;     // where the data part begins; 0 if the table isn't complete
  // The table's end, or, if that is missing, how many bytes are needed at least.
  uint64_t header_bytes = 0;

  bool complete() const { return cut_key.empty() && tensors.size() == stated_tensors; }
};

// Errors: not a GGUF file, one that contradicts itself, or one that ends before its vocabulary,
// with how many bytes are needed at least.
Result<GgufHeader> ReadGgufHeader(const std::string& path);

// The same of the first bytes of a file of `file_bytes`.
Result<GgufHeader> ParseGgufHeader(std::span<const std::byte> bytes, uint64_t file_bytes,
                                   const std::string& where);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_GGUF_HEADER_H_
