#include "cairn/state/segment_format.h"

#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cairn {
namespace {

constexpr SegmentIdentity kIdentity{SegmentId(7), 0x1234};

Record SomeRecord(uint64_t offset, uint64_t payload_bytes) {
  Record record{.offset = offset, .payload_bytes = payload_bytes};
  record.key.bytes[3] = static_cast<std::byte>(offset / kBlockBytes);
  record.metadata = {1, 2, 3, 4, 5, 6, 7, 8};
  record.payload_sum = {9, 10};
  if (payload_bytes == 0) record.kind = RecordKind::kTombstone;
  return record;
}

bool Same(const Record& a, const Record& b) {
  return a.kind == b.kind && a.key == b.key && a.metadata == b.metadata && a.offset == b.offset &&
         a.payload_bytes == b.payload_bytes && a.payload_sum == b.payload_sum;
}

TEST_CASE("a segment's header is read back, and no other's") {
  std::vector<std::byte> block = EncodeSegmentHeader(kIdentity);
  REQUIRE(block.size() == kBlockBytes);
  const auto identity = DecodeSegmentHeader(block, SegmentId(7));
  REQUIRE(identity);
  CHECK(identity->id == kIdentity.id);
  CHECK(identity->salt == kIdentity.salt);
  CHECK(DecodeSegmentHeader(block, SegmentId(8)).error().message ==
        "calls itself segment 7: somebody renamed it");
  CHECK_FALSE(DecodeSegmentHeader(std::span(block).first(47), SegmentId(7)));
  for (size_t i = 0; i < 48; ++i) {
    block[i] ^= std::byte{1};
    CHECK(DecodeSegmentHeader(block, SegmentId(7)).error().code == ErrorCode::kCorrupt);
    block[i] ^= std::byte{1};
  }
}

// The layout of this header is the part of the format that no version may change.
TEST_CASE("a segment of a newer version is told from a damaged one") {
  std::vector<std::byte> block = EncodeSegmentHeader(kIdentity);
  const uint32_t version = 2;
  std::memcpy(block.data() + 8, &version, sizeof(version));
  const Sum128 sum = Checksum::Of(std::span(block).first(32), 0);
  std::memcpy(block.data() + 32, &sum, sizeof(sum));
  const auto refused = DecodeSegmentHeader(block, SegmentId(7));
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().message == "has format version 2; this program knows 1");
}

TEST_CASE("a record's header is read back at its own place only") {
  const Record record = SomeRecord(8192, 5000);
  std::vector<std::byte> bytes = EncodeRecordHeader(kIdentity, record);
  REQUIRE(bytes.size() == kRecordHeaderBytes);
  const auto decode = [&](SegmentIdentity identity, uint64_t offset, uint64_t file_bytes) {
    return DecodeRecordHeader(identity, offset, file_bytes, bytes);
  };
  const auto read = decode(kIdentity, 8192, 1 << 20);
  REQUIRE(read);
  CHECK(Same(*read, record));
  CHECK_FALSE(decode(kIdentity, 4096, 1 << 20));
  CHECK_FALSE(decode({SegmentId(8), kIdentity.salt}, 8192, 1 << 20));
  CHECK_FALSE(decode({kIdentity.id, kIdentity.salt + 1}, 8192, 1 << 20));
  CHECK(decode(kIdentity, 8192, record.end()));
  CHECK_FALSE(decode(kIdentity, 8192, record.end() - 1));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x80};
    CHECK_FALSE(decode(kIdentity, 8192, 1 << 20));
    bytes[i] ^= std::byte{0x80};
  }
}

TEST_CASE("headers that contradict themselves are none, even with a right sum") {
  const auto decode = [](const Record& record, uint64_t file_bytes) {
    return DecodeRecordHeader(kIdentity, record.offset, file_bytes,
                              EncodeRecordHeader(kIdentity, record));
  };
  CHECK(decode(SomeRecord(4096, 100), 1 << 20));
  CHECK_FALSE(decode(SomeRecord(0, 100), 1 << 20));     // the segment's own header
  CHECK_FALSE(decode(SomeRecord(4097, 100), 1 << 20));  // no block begins there
  CHECK_FALSE(decode(SomeRecord(4096, UINT64_MAX), UINT64_MAX / 2));
  CHECK_FALSE(decode(SomeRecord(UINT64_MAX - 4095, 100), UINT64_MAX / 2));
  Record tombstone = SomeRecord(4096, 0);
  CHECK(decode(tombstone, 1 << 20));
  tombstone.kind = RecordKind::kObject;
  CHECK_FALSE(decode(tombstone, 1 << 20));
  Record strange = SomeRecord(4096, 100);
  strange.kind = static_cast<RecordKind>(3);
  CHECK_FALSE(decode(strange, 1 << 20));
}

TEST_CASE("an index is read back only if all of it is right") {
  const std::vector<Record> records = {SomeRecord(4096, 100), SomeRecord(8192, 5000),
                                       SomeRecord(20480, 0)};
  const uint64_t offset = 24576;
  std::vector<std::byte> bytes = EncodeIndex(kIdentity, records, offset);
  REQUIRE(bytes.size() == IndexSpan(records.size()));
  const uint64_t file_bytes = offset + bytes.size();
  const auto decode = [&]() -> std::optional<std::vector<Record>> {
    const std::span<const std::byte> all(bytes);
    const auto trailer = DecodeTrailer(kIdentity, file_bytes, all.last(kBlockBytes));
    if (!trailer) return std::nullopt;
    return DecodeIndex(kIdentity, *trailer, all.first(trailer->records * kRecordHeaderBytes));
  };
  const auto read = decode();
  REQUIRE(read);
  REQUIRE(read->size() == records.size());
  for (size_t i = 0; i < records.size(); ++i) CHECK(Same((*read)[i], records[i]));
  for (size_t i = 0; i < records.size() * kRecordHeaderBytes; i += 7) {
    bytes[i] ^= std::byte{1};
    CHECK_FALSE(decode());
    bytes[i] ^= std::byte{1};
  }
  const std::span<const std::byte> trailer = std::span(bytes).last(kBlockBytes);
  CHECK(DecodeTrailer(kIdentity, file_bytes, trailer));
  CHECK_FALSE(DecodeTrailer(kIdentity, file_bytes + kBlockBytes, trailer));
  CHECK_FALSE(DecodeTrailer({SegmentId(8), kIdentity.salt}, file_bytes, trailer));
}

TEST_CASE("records of an index that overlap or leave the file are refused") {
  const auto is_refused = [](const std::vector<Record>& records, uint64_t offset) {
    const std::vector<std::byte> bytes = EncodeIndex(kIdentity, records, offset);
    const std::span<const std::byte> all(bytes);
    const auto trailer = DecodeTrailer(kIdentity, offset + bytes.size(), all.last(kBlockBytes));
    REQUIRE(trailer);
    return !DecodeIndex(kIdentity, *trailer, all.first(trailer->records * kRecordHeaderBytes));
  };
  CHECK_FALSE(is_refused({SomeRecord(4096, 100), SomeRecord(8192, 100)}, 12288));
  CHECK(is_refused({SomeRecord(4096, 5000), SomeRecord(8192, 100)}, 12288));
  CHECK(is_refused({SomeRecord(8192, 100), SomeRecord(4096, 100)}, 12288));
  CHECK(is_refused({SomeRecord(4096, 100), SomeRecord(8192, 5000)}, 12288));
}

TEST_CASE("file names carry the number, and nothing else is a segment's name") {
  CHECK(SegmentFileName(SegmentId(12)) == "segment-00000000000000000012.cairn");
  for (const uint64_t id : {uint64_t{0}, uint64_t{12}, UINT64_MAX}) {
    CHECK(ParseSegmentFileName(SegmentFileName(SegmentId(id))) == SegmentId(id));
  }
  for (const char* name :
       {"", "lock", "segment-12.cairn", "segment-00000000000000000012.cairn~",
        "segment-0000000000000000001x.cairn", "segment--0000000000000000012.cairn",
        "segment-99999999999999999999.cairn"}) {
    CHECK_FALSE(ParseSegmentFileName(name));
  }
}

}  // namespace
}  // namespace cairn
