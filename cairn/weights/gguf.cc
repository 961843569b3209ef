#include "cairn/weights/gguf.h"

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/spec/quoted.h"
#include "cairn/weights/byte_reader.h"
#include "cairn/weights/ggml_type.h"
#include "cairn/weights/gguf_metadata.h"
#include "cairn/weights/gguf_table.h"
#include "cairn/weights/tensor_ranges.h"

namespace cairn {
namespace {

constexpr std::string_view kMagic = "GGUF";

// A line of the tensor table, before the data's place in the file is known.
struct TensorEntry {
  TensorInfo info;
  uint64_t offset = 0;  // in the data part
  uint64_t bytes = 0;   // 0: not known, for a type that is not supported
};

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), reader_(bytes), metadata_(where) {}

  Result<WeightFile::Parts> Parse() {
    CAIRN_ASSIGN(const GgufCounts counts, ReadGgufCounts(reader_, where()));
    CAIRN_TRY(ReadGgufMetadata(reader_, counts.pairs, GgufKeep::kAll, metadata_));
    for (uint64_t i = 0; i < counts.tensors; ++i) CAIRN_TRY(ReadEntry());
    CAIRN_TRY(PlaceTensors());
    std::vector<TensorInfo> infos;
    infos.reserve(entries_.size());
    for (TensorEntry& entry : entries_) infos.push_back(std::move(entry.info));
    return WeightFile::Parts{std::move(metadata_), std::move(infos), {}};
  }

 private:
  const std::string& where() const { return metadata_.where(); }

  template <class... Args>
  std::unexpected<Error> TensorFailure(const TensorInfo& tensor, fmt::format_string<Args...> format,
                                       Args&&... args) const {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} {}", where(), Quoted(tensor.name),
                fmt::format(format, std::forward<Args>(args)...));
  }

  Status ReadEntry() {
    CAIRN_ASSIGN(GgufTensorLine line, ReadGgufTensorLine(reader_, entries_.size(), where()));
    TensorEntry entry;
    entry.info.name = std::move(line.name);
    entry.info.shape = std::move(line.shape);
    entry.info.dtype = DTypeOfGgml(line.type);
    entry.info.type_name = GgmlTypeName(line.type);
    entry.offset = line.offset;
    CAIRN_ASSIGN(entry.bytes, BytesOfTensor(entry.info, line.elements));
    entries_.push_back(std::move(entry));
    return {};
  }

  // 0 for a type that is not supported.
  Result<uint64_t> BytesOfTensor(const TensorInfo& tensor, int64_t elements) const {
    if (!tensor.dtype) return uint64_t{0};
    const int block = InfoOf(*tensor.dtype).block_elements;
    if (tensor.shape.back() % block != 0) {
      return TensorFailure(tensor,
                           "has rows of {} elements, which the blocks of {} of {} don't divide",
                           tensor.shape.back(), block, tensor.type_name);
    }
    const std::optional<uint64_t> bytes = BytesIn(*tensor.dtype, elements);
    if (!bytes) return TensorFailure(tensor, "is larger than 2^63 bytes");
    return *bytes;
  }

  // Gives every tensor its bytes.
  Status PlaceTensors() {
    CAIRN_ASSIGN(const uint64_t alignment, GgufAlignment(metadata_));
    if (entries_.empty()) return {};
    const uint64_t start = (reader_.offset() + alignment - 1) & ~(alignment - 1);
    if (start > bytes_.size()) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: the file ends inside the padding before the tensors' data", where());
    }
    const std::span<const std::byte> data = bytes_.subspan(start);
    std::vector<TensorRange> ranges;
    for (TensorEntry& entry : entries_) {
      if (entry.offset % alignment != 0) {
        return TensorFailure(entry.info, "starts at offset {}, which is not a multiple of {}",
                             entry.offset, alignment);
      }
      if (entry.offset > data.size() || entry.bytes > data.size() - entry.offset) {
        return TensorFailure(entry.info, "takes {} bytes at offset {}, but the data has only {}",
                             entry.bytes, entry.offset, data.size());
      }
      entry.info.bytes = data.subspan(entry.offset, entry.bytes);
      ranges.push_back({entry.info.name, entry.offset, entry.offset + entry.bytes});
    }
    return CheckNoOverlap(std::move(ranges), where());
  }

  const std::span<const std::byte> bytes_;
  ByteReader reader_;
  Metadata metadata_;
  std::vector<TensorEntry> entries_;
};

}  // namespace

bool IsGguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<std::unique_ptr<WeightFile>> ParseGguf(std::span<const std::byte> bytes,
                                              const std::string& where) {
  CAIRN_ASSIGN(WeightFile::Parts parts, GgufParser(bytes, where).Parse());
  return WeightFile::Make(std::move(parts));
}

Result<std::unique_ptr<WeightFile>> OpenGguf(MappedFile file, const std::string& path) {
  CAIRN_ASSIGN(WeightFile::Parts parts, GgufParser(file.bytes(), path).Parse());
  parts.files.push_back(std::move(file));
  return WeightFile::Make(std::move(parts));
}

}  // namespace cairn
