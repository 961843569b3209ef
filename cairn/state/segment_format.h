// The bytes of a segment: an append-only file of records, of which docs/state_format.md is the
// description.
//
//   block 0      segment header: magic, version, the segment's number, its salt, sum
//   records      each at a multiple of kBlockBytes: header, payload, zeros up to the next block
//   index        when the segment is full: the headers of all records again, then a trailer in the
//                file's last block. Without it the records are found by reading all of the file
//
// Every header names its own segment and offset, and every sum is seeded with the salt, a random
// number of that one file: what lies about in reused space or inside a payload is not a record.
// Functions here are pure. Decoding takes any bytes.
#ifndef CAIRN_STATE_SEGMENT_FORMAT_H_
#define CAIRN_STATE_SEGMENT_FORMAT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/checksum.h"
#include "cairn/base/file_system.h"
#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/object_store.h"

namespace cairn {

inline constexpr uint32_t kSegmentVersion = 1;
inline constexpr uint64_t kBlockBytes = FileSystem::kDirectAlignment;
inline constexpr uint64_t kRecordHeaderBytes = 192;

// Ascending in the order in which segments were begun.
using SegmentId = Id<struct SegmentIdTag, uint64_t>;

struct SegmentIdentity {
  SegmentId id;
  uint64_t salt = 0;
};

enum class RecordKind : uint32_t {
  kObject = 1,
  kTombstone = 2,  // every record of this key that lies before this one is erased
};

struct Record {
  RecordKind kind = RecordKind::kObject;
  ObjectKey key{};
  ObjectMetadata metadata{};
  uint64_t offset = 0;
  uint64_t payload_bytes = 0;
  Sum128 payload_sum{};

  uint64_t payload_offset() const { return offset + kRecordHeaderBytes; }
  uint64_t end() const;  // where the next record may begin
};

uint64_t RoundUpToBlock(uint64_t bytes);

// Blocks that a record takes; payload_bytes at most 2^62.
uint64_t RecordSpan(uint64_t payload_bytes);
// Blocks that index and trailer of so many records take.
uint64_t IndexSpan(size_t records);

// "segment-00000000000000000012.cairn"; the number of a file name, or nothing where it is not one.
std::string SegmentFileName(SegmentId id);
std::optional<SegmentId> ParseSegmentFileName(std::string_view name);

std::vector<std::byte> EncodeSegmentHeader(const SegmentIdentity& identity);
// Errors: kUnsupported for another version, else kCorrupt. Needs kBlockBytes.
Result<SegmentIdentity> DecodeSegmentHeader(std::span<const std::byte> block, SegmentId expected);

// kRecordHeaderBytes of them.
std::vector<std::byte> EncodeRecordHeader(const SegmentIdentity& identity, const Record& record);
// The record whose header lies at `offset`, or nothing: then none begins there. `bytes` may be
// longer than a header; a record that would not end within `file_bytes` is none.
std::optional<Record> DecodeRecordHeader(const SegmentIdentity& identity, uint64_t offset,
                                         uint64_t file_bytes, std::span<const std::byte> bytes);

// Index and trailer, IndexSpan bytes to be put at `offset`, where the file then ends.
std::vector<std::byte> EncodeIndex(const SegmentIdentity& identity, std::span<const Record> records,
                                   uint64_t offset);

struct IndexTrailer {
  uint64_t offset = 0;   // of the index
  uint64_t records = 0;  // in it; their headers lie within the file
  Sum128 sum;            // of their headers
};
// From the file's last block; nothing where that is no trailer.
std::optional<IndexTrailer> DecodeTrailer(const SegmentIdentity& identity, uint64_t file_bytes,
                                          std::span<const std::byte> block);
// Nothing unless every byte is right and the records follow each other in the file.
std::optional<std::vector<Record>> DecodeIndex(const SegmentIdentity& identity,
                                               const IndexTrailer& trailer,
                                               std::span<const std::byte> headers);

}  // namespace cairn

#endif  // CAIRN_STATE_SEGMENT_FORMAT_H_
