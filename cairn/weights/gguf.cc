#include "cairn/weights/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/spec/quoted.h"
#include "cairn/weights/byte_reader.h"
#include "cairn/weights/ggml_type.h"
#include "cairn/weights/gguf_metadata.h"
#include "cairn/weights/tensor_ranges.h"

namespace cairn {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint32_t kMaxDimensions = 4;

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
    uint64_t tensors = 0;
    uint64_t pairs = 0;
    CAIRN_TRY(ReadVersion());
    if (!reader_.Read(tensors) || !reader_.Read(pairs)) return Truncated("the header");
    CAIRN_TRY(ReadGgufMetadata(reader_, pairs, metadata_));
    for (uint64_t i = 0; i < tensors; ++i) CAIRN_TRY(ReadEntry());
    CAIRN_TRY(PlaceTensors());
    std::vector<TensorInfo> infos;
    infos.reserve(entries_.size());
    for (TensorEntry& entry : entries_) infos.push_back(std::move(entry.info));
    return WeightFile::Parts{std::move(metadata_), std::move(infos), {}};
  }

 private:
  const std::string& where() const { return metadata_.where(); }

  std::unexpected<Error> Truncated(std::string_view part) const {
    return Fail(ErrorCode::kCorrupt, "{}: the file ends inside {}", where(), part);
  }

  template <class... Args>
  std::unexpected<Error> TensorFailure(const TensorInfo& tensor, fmt::format_string<Args...> format,
                                       Args&&... args) const {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} {}", where(), Quoted(tensor.name),
                fmt::format(format, std::forward<Args>(args)...));
  }

  Status ReadVersion() {
    std::string_view magic;
    uint32_t version = 0;
    if (!reader_.ReadText(kMagic.size(), magic)) return Truncated("the header");
    if (magic != kMagic) {
      return Fail(ErrorCode::kCorrupt, "{}: starts with {}, expected \"GGUF\"", where(),
                  Quoted(magic));
    }
    if (!reader_.Read(version)) return Truncated("the header");
    if (version == 2 || version == 3) return {};
    if (const uint32_t swapped = std::byteswap(version); swapped >= 1 && swapped <= 3) {
      return Fail(ErrorCode::kUnsupported, "{}: is a big-endian GGUF file, expected little-endian",
                  where());
    }
    return Fail(ErrorCode::kUnsupported, "{}: has GGUF version {}, expected 2 or 3", where(),
                version);
  }

  Status ReadEntry() {
    uint64_t name_bytes = 0;
    std::string_view name;
    if (!reader_.Read(name_bytes)) return Truncated("the table of tensors");
    if (name_bytes == 0 || name_bytes > kMaxGgufNameBytes) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} has a name of {} bytes, expected 1 to {}",
                  where(), entries_.size(), name_bytes, kMaxGgufNameBytes);
    }
    if (!reader_.ReadText(name_bytes, name)) return Truncated("the table of tensors");
    TensorEntry entry;
    entry.info.name = name;
    CAIRN_TRY(ReadShape(entry.info));
    uint32_t type = 0;
    if (!reader_.Read(type) || !reader_.Read(entry.offset)) {
      return Truncated("the table of tensors");
    }
    entry.info.dtype = DTypeOfGgml(type);
    entry.info.type_name = GgmlTypeName(type);
    CAIRN_ASSIGN(entry.bytes, BytesOfTensor(entry.info));
    entries_.push_back(std::move(entry));
    return {};
  }

  Status ReadShape(TensorInfo& tensor) {
    uint32_t dimensions = 0;
    if (!reader_.Read(dimensions)) return Truncated("the table of tensors");
    if (dimensions < 1 || dimensions > kMaxDimensions) {
      return TensorFailure(tensor, "has {} dimensions, expected 1 to {}", dimensions,
                           kMaxDimensions);
    }
    for (uint32_t i = 0; i < dimensions; ++i) {
      uint64_t size = 0;
      if (!reader_.Read(size)) return Truncated("the table of tensors");
      if (size == 0 || !std::in_range<int64_t>(size)) {
        return TensorFailure(tensor, "has a dimension of size {}", size);
      }
      tensor.shape.push_back(static_cast<int64_t>(size));
    }
    // The file lists the innermost dimension first.
    std::ranges::reverse(tensor.shape);
    return {};
  }

  // 0 for a type that is not supported.
  Result<uint64_t> BytesOfTensor(const TensorInfo& tensor) const {
    const std::optional<int64_t> elements = ElementsOf(tensor.shape);
    if (!elements) return TensorFailure(tensor, "has more than 2^63 elements");
    if (!tensor.dtype) return uint64_t{0};
    const int block = InfoOf(*tensor.dtype).block_elements;
    if (tensor.shape.back() % block != 0) {
      return TensorFailure(tensor,
                           "has rows of {} elements, which the blocks of {} of {} don't divide",
                           tensor.shape.back(), block, tensor.type_name);
    }
    const std::optional<uint64_t> bytes = BytesIn(*tensor.dtype, *elements);
    if (!bytes) return TensorFailure(tensor, "is larger than 2^63 bytes");
    return *bytes;
  }

  Result<uint64_t> Alignment() const {
    constexpr std::string_view kKey = "general.alignment";
    CAIRN_ASSIGN(const int64_t alignment, metadata_.IntOr(kKey, 32));
    if (alignment < 1 || alignment > kMaxGgufAlignment ||
        !std::has_single_bit(static_cast<uint64_t>(alignment))) {
      return Fail(ErrorCode::kCorrupt, "{}: key {} is {}, expected a power of two up to {}",
                  where(), kKey, alignment, kMaxGgufAlignment);
    }
    return static_cast<uint64_t>(alignment);
  }

  // Gives every tensor its bytes.
  Status PlaceTensors() {
    CAIRN_ASSIGN(const uint64_t alignment, Alignment());
    if (entries_.empty()) return {};
    const uint64_t start = (reader_.offset() + alignment - 1) & ~(alignment - 1);
    if (start > bytes_.size()) return Truncated("the padding before the tensors' data");
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
