#include "cairn/weights/gguf_header.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cairn/base/file_reader.h"
#include "cairn/spec/quoted.h"
#include "cairn/weights/byte_reader.h"
#include "cairn/weights/ggml_type.h"
#include "cairn/weights/gguf_metadata.h"

namespace cairn {
namespace {

constexpr size_t kFirstRead = size_t{1} << 20;
constexpr std::string_view kVocabularyPrefix = "tokenizer.";

// The header as far as the bytes go. `wanted` is not 0 where they ended too early.
struct Attempt {
  Result<GgufHeader> header;
  uint64_t wanted = 0;
};

std::optional<uint64_t> BytesOfLine(const GgufTensorLine& line) {
  const std::optional<GgmlBlock> block = GgmlBlockOf(line.type);
  if (!block || line.shape.back() % block->elements != 0) return std::nullopt;
  const auto blocks = static_cast<uint64_t>(line.elements / block->elements);
  const auto size = static_cast<uint64_t>(block->bytes);
  if (blocks > static_cast<uint64_t>(INT64_MAX) / size) return std::nullopt;
  return blocks * size;
}

// Of tensors whose type doesn't tell: up to the next tensor's data, or up to the end of the file if
// the data of all others fits in.
void MeasureByOffsets(GgufHeader& header) {
  std::vector<uint64_t> offsets;
  uint64_t known_end = 0;
  for (const GgufHeaderTensor& tensor : header.tensors) {
    const uint64_t offset = tensor.line.offset;
    offsets.push_back(offset);
    const uint64_t room = UINT64_MAX - offset;
    known_end = std::max(known_end, offset + std::min(room, tensor.bytes.value_or(0)));
  }
  std::ranges::sort(offsets);
  const uint64_t data =
      header.file_bytes > header.data_offset ? header.file_bytes - header.data_offset : 0;
  for (GgufHeaderTensor& tensor : header.tensors) {
    if (tensor.bytes) continue;
    const auto next = std::ranges::upper_bound(offsets, tensor.line.offset);
    if (next != offsets.end()) {
      tensor.bytes = *next - tensor.line.offset;
    } else if (known_end <= data && data > tensor.line.offset) {
      tensor.bytes = data - tensor.line.offset;
    }
  }
}

Status CheckNames(const GgufHeader& header) {
  std::set<std::string_view> names;
  for (const GgufHeaderTensor& tensor : header.tensors) {
    if (names.insert(tensor.line.name).second) continue;
    return Fail(ErrorCode::kCorrupt, "{}: there are two tensors {}", header.metadata.where(),
                Quoted(tensor.line.name));
  }
  return {};
}

// The lines that are whole.
Status ReadTable(ByteReader& reader, GgufHeader& header) {
  while (!header.complete()) {
    Result<GgufTensorLine> line =
        ReadGgufTensorLine(reader, header.tensors.size(), header.metadata.where());
    if (!line && reader.wanted() != 0) return {};
    if (!line) return std::unexpected(line.error());
    GgufHeaderTensor tensor = {.line = *std::move(line), .bytes = std::nullopt};
    tensor.bytes = BytesOfLine(tensor.line);
    header.tensors.push_back(std::move(tensor));
  }
  return {};
}

Result<GgufHeader> ReadHeader(ByteReader& reader, uint64_t file_bytes, const std::string& where) {
  GgufHeader header(where);
  CAIRN_ASSIGN(const GgufCounts counts, ReadGgufCounts(reader, where));
  GgufMetadataEnd end;
  const Status read =
      ReadGgufMetadata(reader, counts.pairs, GgufKeep::kDescription, header.metadata, &end);
  if (!read && reader.wanted() == 0) return std::unexpected(read.error());
  header.file_bytes = file_bytes;
  header.stated_tensors = counts.tensors;
  header.stated_keys = counts.pairs;
  header.whole_keys = end.whole_keys;
  if (!read && end.last_key.starts_with(kVocabularyPrefix)) {
    header.cut_key = end.last_key;
    header.header_bytes = reader.wanted();
    return header;
  }
  if (!read) {
    return Fail(read.error().code,
                "{}; of its {} keys the first {} bytes hold {}, at least {} bytes are needed",
                read.error().message, counts.pairs, file_bytes, header.whole_keys, reader.wanted());
  }
  CAIRN_ASSIGN(const uint64_t alignment, GgufAlignment(header.metadata));
  CAIRN_TRY(ReadTable(reader, header));
  CAIRN_TRY(CheckNames(header));
  header.header_bytes = header.complete() ? reader.offset() : reader.wanted();
  if (!header.complete()) return header;
  header.data_offset = (reader.offset() + alignment - 1) & ~(alignment - 1);
  MeasureByOffsets(header);
  return header;
}

Attempt TryHeader(std::span<const std::byte> bytes, uint64_t file_bytes, const std::string& where) {
  ByteReader reader(bytes);
  Result<GgufHeader> header = ReadHeader(reader, file_bytes, where);
  return {std::move(header), reader.wanted()};
}

}  // namespace

Result<GgufHeader> ParseGgufHeader(std::span<const std::byte> bytes, uint64_t file_bytes,
                                   const std::string& where) {
  return TryHeader(bytes, file_bytes, where).header;
}

Result<GgufHeader> ReadGgufHeader(const std::string& path) {
  CAIRN_ASSIGN(const FileReader file, FileReader::Open(path));
  const auto most = static_cast<size_t>(std::min<uint64_t>(file.size(), kMaxGgufHeaderBytes));
  std::vector<std::byte> bytes;
  size_t target = std::min(most, kFirstRead);
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(target);
    CAIRN_ASSIGN(const size_t got, file.ReadAt(before, std::span(bytes).subspan(before)));
    bytes.resize(before + got);
    Attempt attempt = TryHeader(bytes, file.size(), path);
    // Also where the file doesn't reach as far as it would have to: more of it wouldn't help.
    const bool last = bytes.size() < target || target == most;
    if (attempt.wanted == 0 || attempt.wanted > file.size()) return std::move(attempt.header);
    if (last && file.size() > kMaxGgufHeaderBytes) {
      return Fail(ErrorCode::kUnsupported, "{}: has a header of more than {} bytes", path,
                  kMaxGgufHeaderBytes);
    }
    if (last) return std::move(attempt.header);
    target = std::min(most, std::max(2 * target, static_cast<size_t>(attempt.wanted)));
  }
}

}  // namespace cairn
