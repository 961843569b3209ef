#include "cairn/state/segment_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cairn/base/check.h"
#include "cairn/state/summed.h"

namespace cairn {
namespace {

constexpr std::array<char, 8> kSegmentMagic = {'C', 'A', 'I', 'R', 'N', 'S', 'E', 'G'};
constexpr std::array<char, 8> kRecordMagic = {'C', 'A', 'I', 'R', 'N', 'R', 'E', 'C'};
constexpr std::array<char, 8> kTrailerMagic = {'C', 'A', 'I', 'R', 'N', 'E', 'N', 'D'};

// As they lie in the file. The sum is the last field of each and covers all before it.
struct RawSegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t zero;
  uint64_t id;
  uint64_t salt;
  Sum128 sum;
};
struct RawRecordHeader {
  std::array<char, 8> magic;
  uint32_t kind;
  uint32_t zero;
  uint64_t segment;
  uint64_t offset;
  uint64_t payload_bytes;
  std::array<std::byte, 32> key;
  std::array<uint64_t, 8> metadata;
  Sum128 payload_sum;
  std::array<uint64_t, 3> spare;
  Sum128 sum;
};
struct RawTrailer {
  std::array<char, 8> magic;
  uint64_t segment;
  uint64_t offset;
  uint64_t records;
  Sum128 index_sum;
  Sum128 sum;
};
static_assert(sizeof(RawSegmentHeader) == 48);
static_assert(sizeof(RawRecordHeader) == kRecordHeaderBytes);
static_assert(sizeof(RawTrailer) == 64);

void PutRecordHeader(std::span<std::byte> to, const SegmentIdentity& identity,
                     const Record& record) {
  PutSummed(to,
            RawRecordHeader{.magic = kRecordMagic,
                            .kind = static_cast<uint32_t>(record.kind),
                            .zero = 0,
                            .segment = identity.id.value(),
                            .offset = record.offset,
                            .payload_bytes = record.payload_bytes,
                            .key = record.key.bytes,
                            .metadata = record.metadata,
                            .payload_sum = record.payload_sum,
                            .spare = {},
                            .sum = {}},
            identity.salt);
}

// A header of this segment, wherever it says that it lies.
std::optional<Record> TakeRecordHeader(const SegmentIdentity& identity,
                                       std::span<const std::byte> bytes) {
  const auto raw = TakeSummed<RawRecordHeader>(bytes, kRecordMagic, identity.salt);
  if (!raw || raw->segment != identity.id.value()) return std::nullopt;
  const auto kind = static_cast<RecordKind>(raw->kind);
  if (kind != RecordKind::kObject && kind != RecordKind::kTombstone) return std::nullopt;
  if ((kind == RecordKind::kTombstone) != (raw->payload_bytes == 0)) return std::nullopt;
  return Record{.kind = kind,
                .key = {raw->key},
                .metadata = raw->metadata,
                .offset = raw->offset,
                .payload_bytes = raw->payload_bytes,
                .payload_sum = raw->payload_sum};
}

// Whether the record lies in whole blocks within [kBlockBytes, end).
bool IsWithin(const Record& record, uint64_t end) {
  return record.offset % kBlockBytes == 0 && record.offset >= kBlockBytes && record.offset < end &&
         record.payload_bytes <= end && RecordSpan(record.payload_bytes) <= end - record.offset;
}

constexpr std::string_view kNamePrefix = "segment-";
constexpr std::string_view kNameSuffix = ".cairn";
constexpr size_t kNameDigits = 20;

}  // namespace

uint64_t Record::end() const { return offset + RecordSpan(payload_bytes); }

uint64_t RoundUpToBlock(uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

uint64_t RecordSpan(uint64_t payload_bytes) {
  return RoundUpToBlock(kRecordHeaderBytes + payload_bytes);
}

uint64_t IndexSpan(size_t records) {
  return RoundUpToBlock(records * kRecordHeaderBytes) + kBlockBytes;
}

std::string SegmentFileName(SegmentId id) {
  return fmt::format("{}{:0{}}{}", kNamePrefix, id.value(), kNameDigits, kNameSuffix);
}

std::optional<SegmentId> ParseSegmentFileName(std::string_view name) {
  if (name.size() != kNamePrefix.size() + kNameDigits + kNameSuffix.size()) return std::nullopt;
  if (!name.starts_with(kNamePrefix) || !name.ends_with(kNameSuffix)) return std::nullopt;
  const char* begin = name.data() + kNamePrefix.size();
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(begin, begin + kNameDigits, number);
  if (error != std::errc() || end != begin + kNameDigits) return std::nullopt;
  return SegmentId(number);
}

std::vector<std::byte> EncodeSegmentHeader(const SegmentIdentity& identity) {
  std::vector<std::byte> block(kBlockBytes);
  PutSummed(block,
            RawSegmentHeader{.magic = kSegmentMagic,
                             .version = kSegmentVersion,
                             .zero = 0,
                             .id = identity.id.value(),
                             .salt = identity.salt,
                             .sum = {}},
            0);
  return block;
}

Result<SegmentIdentity> DecodeSegmentHeader(std::span<const std::byte> block, SegmentId expected) {
  const auto raw = TakeSummed<RawSegmentHeader>(block, kSegmentMagic, 0);
  if (!raw) return Fail(ErrorCode::kCorrupt, "is not a segment, or its first block is damaged");
  if (raw->version != kSegmentVersion) {
    return Fail(ErrorCode::kUnsupported, "has format version {}; this program knows {}",
                raw->version, kSegmentVersion);
  }
  if (raw->id != expected.value()) {
    return Fail(ErrorCode::kCorrupt, "calls itself segment {}: somebody renamed it", raw->id);
  }
  return SegmentIdentity{SegmentId(raw->id), raw->salt};
}

std::vector<std::byte> EncodeRecordHeader(const SegmentIdentity& identity, const Record& record) {
  std::vector<std::byte> bytes(kRecordHeaderBytes);
  PutRecordHeader(bytes, identity, record);
  return bytes;
}

std::optional<Record> DecodeRecordHeader(const SegmentIdentity& identity, uint64_t offset,
                                         uint64_t file_bytes, std::span<const std::byte> bytes) {
  std::optional<Record> record = TakeRecordHeader(identity, bytes);
  if (!record || record->offset != offset || !IsWithin(*record, file_bytes)) return std::nullopt;
  return record;
}

std::vector<std::byte> EncodeIndex(const SegmentIdentity& identity, std::span<const Record> records,
                                   uint64_t offset) {
  std::vector<std::byte> bytes(IndexSpan(records.size()));
  const std::span all(bytes);
  for (size_t i = 0; i < records.size(); ++i) {
    PutRecordHeader(all.subspan(i * kRecordHeaderBytes), identity, records[i]);
  }
  const auto headers = all.first(records.size() * kRecordHeaderBytes);
  PutSummed(all.last(kBlockBytes),
            RawTrailer{.magic = kTrailerMagic,
                       .segment = identity.id.value(),
                       .offset = offset,
                       .records = records.size(),
                       .index_sum = Checksum::Of(headers, identity.salt),
                       .sum = {}},
            identity.salt);
  return bytes;
}

std::optional<IndexTrailer> DecodeTrailer(const SegmentIdentity& identity, uint64_t file_bytes,
                                          std::span<const std::byte> block) {
  const auto raw = TakeSummed<RawTrailer>(block, kTrailerMagic, identity.salt);
  if (!raw || raw->segment != identity.id.value()) return std::nullopt;
  if (raw->offset % kBlockBytes != 0 || raw->offset < kBlockBytes || raw->offset > file_bytes) {
    return std::nullopt;
  }
  if (raw->records > file_bytes / kRecordHeaderBytes) return std::nullopt;
  if (IndexSpan(raw->records) != file_bytes - raw->offset) return std::nullopt;
  return IndexTrailer{raw->offset, raw->records, raw->index_sum};
}

std::optional<std::vector<Record>> DecodeIndex(const SegmentIdentity& identity,
                                               const IndexTrailer& trailer,
                                               std::span<const std::byte> headers) {
  CAIRN_CHECK(headers.size() == trailer.records * kRecordHeaderBytes);
  if (Checksum::Of(headers, identity.salt) != trailer.sum) return std::nullopt;
  std::vector<Record> records;
  records.reserve(trailer.records);
  uint64_t free_from = kBlockBytes;
  for (size_t i = 0; i < trailer.records; ++i) {
    const auto record = TakeRecordHeader(identity, headers.subspan(i * kRecordHeaderBytes));
    if (!record || record->offset < free_from || !IsWithin(*record, trailer.offset)) {
      return std::nullopt;
    }
    free_from = record->end();
    records.push_back(*record);
  }
  return records;
}

}  // namespace cairn
