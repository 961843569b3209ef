#include "cairn/state/object_format.h"

#include <cstring>

#include "cairn/state/summed.h"

namespace cairn {
namespace {

constexpr std::array<char, 8> kObjectMagic = {'C', 'A', 'I', 'R', 'N', 'O', 'B', 'J'};
constexpr std::array<char, 8> kEntryMagic = {'C', 'A', 'I', 'R', 'N', 'I', 'D', 'X'};

struct RawObjectHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t zero;
  std::array<std::byte, 32> key;
  std::array<uint64_t, 8> metadata;
  uint64_t payload_bytes;
  Sum128 payload_sum;
  uint64_t spare;
  Sum128 sum;
};
struct RawIndexEntry {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t kind;
  uint64_t source;
  std::array<std::byte, 32> key;
  std::array<uint64_t, 8> metadata;
  uint64_t payload_bytes;
  std::array<uint64_t, 2> spare;
  Sum128 sum;
};
static_assert(sizeof(RawObjectHeader) == kObjectHeaderBytes);
static_assert(sizeof(RawIndexEntry) == kIndexEntryBytes);

bool IsPayloadLength(uint64_t bytes) { return bytes >= 1 && bytes <= kObjectPayloadBytesMax; }

}  // namespace

Checksum PayloadSum() { return Checksum(0); }

std::array<std::byte, kObjectHeaderBytes> EncodeObjectHeader(const ObjectHeader& header) {
  std::array<std::byte, kObjectHeaderBytes> bytes;
  PutSummed(bytes,
            RawObjectHeader{.magic = kObjectMagic,
                            .version = kObjectVersion,
                            .zero = 0,
                            .key = header.key.bytes,
                            .metadata = header.metadata,
                            .payload_bytes = header.payload_bytes,
                            .payload_sum = header.payload_sum,
                            .spare = 0,
                            .sum = {}},
            0);
  return bytes;
}

Result<ObjectHeader> DecodeObjectHeader(std::span<const std::byte> bytes) {
  const auto raw = TakeSummed<RawObjectHeader>(bytes, kObjectMagic, 0);
  if (!raw) return Fail(ErrorCode::kCorrupt, "is not an object, or its header is damaged");
  if (raw->version != kObjectVersion) {
    return Fail(ErrorCode::kUnsupported, "has format version {}; this program knows {}",
                raw->version, kObjectVersion);
  }
  if (!IsPayloadLength(raw->payload_bytes)) {
    return Fail(ErrorCode::kCorrupt, "claims a payload of {} bytes", raw->payload_bytes);
  }
  return ObjectHeader{.key = {raw->key},
                      .metadata = raw->metadata,
                      .payload_bytes = raw->payload_bytes,
                      .payload_sum = raw->payload_sum};
}

bool LooksLikeObject(std::span<const std::byte> bytes) {
  RawObjectHeader raw;
  constexpr size_t kStart = offsetof(RawObjectHeader, zero);
  if (bytes.size() < kStart) return false;
  std::memcpy(&raw, bytes.data(), kStart);
  return raw.magic == kObjectMagic && raw.version == kObjectVersion;
}

std::array<std::byte, kIndexEntryBytes> EncodeIndexEntry(const IndexEntry& entry) {
  std::array<std::byte, kIndexEntryBytes> bytes;
  PutSummed(bytes,
            RawIndexEntry{.magic = kEntryMagic,
                          .version = kObjectVersion,
                          .kind = static_cast<uint32_t>(entry.kind),
                          .source = entry.source,
                          .key = entry.key.bytes,
                          .metadata = entry.metadata,
                          .payload_bytes = entry.payload_bytes,
                          .spare = {},
                          .sum = {}},
            0);
  return bytes;
}

std::optional<IndexEntry> DecodeIndexEntry(std::span<const std::byte> bytes) {
  if (bytes.size() != kIndexEntryBytes) return std::nullopt;
  const auto raw = TakeSummed<RawIndexEntry>(bytes, kEntryMagic, 0);
  if (!raw || raw->version != kObjectVersion) return std::nullopt;
  const auto kind = static_cast<IndexEntry::Kind>(raw->kind);
  if (kind != IndexEntry::Kind::kPut && kind != IndexEntry::Kind::kErase) return std::nullopt;
  const bool fits = kind == IndexEntry::Kind::kPut ? IsPayloadLength(raw->payload_bytes)
                                                   : raw->payload_bytes == 0;
  if (!fits) return std::nullopt;
  return IndexEntry{.kind = kind,
                    .source = raw->source,
                    .key = {raw->key},
                    .metadata = raw->metadata,
                    .payload_bytes = raw->payload_bytes};
}

}  // namespace cairn
