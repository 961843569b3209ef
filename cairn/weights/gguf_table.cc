#include "cairn/weights/gguf_table.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "cairn/spec/quoted.h"
#include "cairn/weights/gguf.h"
#include "cairn/weights/tensor_ranges.h"

namespace cairn {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint32_t kMaxDimensions = 4;

std::unexpected<Error> Truncated(const std::string& where, std::string_view part) {
  return Fail(ErrorCode::kCorrupt, "{}: the file ends inside {}", where, part);
}

Status ReadVersion(ByteReader& reader, const std::string& where) {
  std::string_view magic;
  uint32_t version = 0;
  if (!reader.ReadText(kMagic.size(), magic)) return Truncated(where, "the header");
  if (magic != kMagic) {
    return Fail(ErrorCode::kCorrupt, "{}: starts with {}, expected \"GGUF\"", where, Quoted(magic));
  }
  if (!reader.Read(version)) return Truncated(where, "the header");
  if (version == 2 || version == 3) return {};
  if (const uint32_t swapped = std::byteswap(version); swapped >= 1 && swapped <= 3) {
    return Fail(ErrorCode::kUnsupported, "{}: is a big-endian GGUF file, expected little-endian",
                where);
  }
  return Fail(ErrorCode::kUnsupported, "{}: has GGUF version {}, expected 2 or 3", where, version);
}

class LineReader {
 public:
  LineReader(ByteReader& reader, const std::string& where) : reader_(reader), where_(where) {}

  Result<GgufTensorLine> Read(uint64_t index) {
    uint64_t name_bytes = 0;
    std::string_view name;
    if (!reader_.Read(name_bytes)) return Cut();
    if (name_bytes == 0 || name_bytes > kMaxGgufNameBytes) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} has a name of {} bytes, expected 1 to {}",
                  where_, index, name_bytes, kMaxGgufNameBytes);
    }
    if (!reader_.ReadText(name_bytes, name)) return Cut();
    line_.name = name;
    CAIRN_TRY(ReadShape());
    if (!reader_.Read(line_.type) || !reader_.Read(line_.offset)) return Cut();
    const std::optional<int64_t> elements = ElementsOf(line_.shape);
    if (!elements) return Wrong("has more than 2^63 elements");
    line_.elements = *elements;
    return std::move(line_);
  }

 private:
  std::unexpected<Error> Cut() const { return Truncated(where_, "the table of tensors"); }

  std::unexpected<Error> Wrong(std::string_view what) const {
    return Fail(ErrorCode::kCorrupt, "{}: tensor {} {}", where_, Quoted(line_.name), what);
  }

  Status ReadShape() {
    uint32_t dimensions = 0;
    if (!reader_.Read(dimensions)) return Cut();
    if (dimensions < 1 || dimensions > kMaxDimensions) {
      return Wrong(fmt::format("has {} dimensions, expected 1 to {}", dimensions, kMaxDimensions));
    }
    for (uint32_t i = 0; i < dimensions; ++i) {
      uint64_t size = 0;
      if (!reader_.Read(size)) return Cut();
      if (size == 0 || !std::in_range<int64_t>(size)) {
        return Wrong(fmt::format("has a dimension of size {}", size));
      }
      line_.shape.push_back(static_cast<int64_t>(size));
    }
    // The file lists the innermost dimension first.
    std::ranges::reverse(line_.shape);
    return {};
  }

  ByteReader& reader_;
  const std::string& where_;
  GgufTensorLine line_;
};

}  // namespace

Result<GgufCounts> ReadGgufCounts(ByteReader& reader, const std::string& where) {
  CAIRN_TRY(ReadVersion(reader, where));
  GgufCounts counts;
  if (!reader.Read(counts.tensors) || !reader.Read(counts.pairs)) {
    return Truncated(where, "the header");
  }
  return counts;
}

Result<GgufTensorLine> ReadGgufTensorLine(ByteReader& reader, uint64_t index,
                                          const std::string& where) {
  return LineReader(reader, where).Read(index);
}

Result<uint64_t> GgufAlignment(const Metadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  CAIRN_ASSIGN(const int64_t alignment, metadata.IntOr(kKey, 32));
  if (alignment < 1 || alignment > kMaxGgufAlignment ||
      !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    return Fail(ErrorCode::kCorrupt, "{}: key {} is {}, expected a power of two up to {}",
                metadata.where(), kKey, alignment, kMaxGgufAlignment);
  }
  return static_cast<uint64_t>(alignment);
}

}  // namespace cairn
