#include "cairn/state/segment_io.h"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <span>
#include <vector>

#include "cairn/base/file_system_for_tests.h"

namespace cairn {
namespace {

constexpr SegmentIdentity kIdentity{SegmentId(7), 0x1234};
constexpr char kPath[] = "x/segment";

// A segment of objects of these sizes (0: a tombstone), written as the store does.
struct Written {
  SimulatedFileSystem files{1};
  std::unique_ptr<File> file;
  std::vector<Record> records;
  std::vector<std::vector<std::byte>> payloads;
  BlockBuffer buffer;

  explicit Written(const std::vector<size_t>& sizes) {
    file = *files.OpenDirect(kPath, FileOpening::kCreate);
    REQUIRE(file->WriteAt(0, EncodeSegmentHeader(kIdentity)));
    BlockWriter writer(*file, kBlockBytes, buffer.bytes());
    std::mt19937_64 random(1);
    uint64_t offset = kBlockBytes;
    for (const size_t size : sizes) {
      std::vector<std::byte> payload(size);
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
      Record record{.offset = offset, .payload_bytes = size};
      record.kind = size == 0 ? RecordKind::kTombstone : RecordKind::kObject;
      record.key.bytes[0] = static_cast<std::byte>(records.size());
      // In two pieces, one of which may be empty.
      const std::span<const std::byte> all(payload);
      const std::span<const std::byte> pieces[] = {all.first(size / 3), all.subspan(size / 3)};
      record.payload_sum = PayloadSum(kIdentity, pieces);
      REQUIRE(writer.AppendRecord(kIdentity, record, pieces));
      offset = record.end();
      records.push_back(record);
      payloads.push_back(std::move(payload));
    }
    REQUIRE(writer.Finish());
    REQUIRE(*file->Size() == offset);
  }

  void Seal() {
    const uint64_t end = *file->Size();
    REQUIRE(file->WriteAt(end, EncodeIndex(kIdentity, records, end)));
  }
  SegmentContents Read() {
    auto contents = ReadSegment(*file, kIdentity.id, buffer.bytes());
    REQUIRE(contents);
    return *std::move(contents);
  }
  void Flip(uint64_t offset) {
    std::vector<std::byte> byte(1);
    REQUIRE(file->ReadAt(offset, byte));
    byte[0] ^= std::byte{4};
    REQUIRE(file->WriteAt(offset, byte));
  }
  RecordReading ReadObject(size_t number) {
    std::vector<std::byte> first(records[number].payload_bytes / 2);
    std::vector<std::byte> second(records[number].payload_bytes - first.size());
    const std::span<std::byte> pieces[] = {first, {}, second};
    const auto reading = ReadRecord(*file, kIdentity, records[number], pieces, buffer.bytes());
    REQUIRE(reading);
    if (*reading == RecordReading::kIntact) {
      first.insert(first.end(), second.begin(), second.end());
      CHECK(first == payloads[number]);
    }
    return *reading;
  }
};

// Around the sizes of a block and of the buffer, header included.
const std::vector<size_t> kSizes = {1,
                                    kBlockBytes - kRecordHeaderBytes,
                                    kBlockBytes - kRecordHeaderBytes + 1,
                                    0,
                                    BlockBuffer::kBytes - kRecordHeaderBytes,
                                    BlockBuffer::kBytes,
                                    2 * BlockBuffer::kBytes + 77,
                                    5000};

TEST_CASE("objects of all sizes are written, found and read back, with an index and without") {
  Written segment(kSizes);
  for (const bool sealed : {false, true}) {
    if (sealed) segment.Seal();
    const SegmentContents contents = segment.Read();
    CHECK(contents.sealed == sealed);
    CHECK(contents.torn == 0);
    CHECK(contents.end == segment.records.back().end());
    REQUIRE(contents.records.size() == kSizes.size());
    for (size_t i = 0; i < kSizes.size(); ++i) {
      CHECK(contents.records[i].key == segment.records[i].key);
      CHECK(contents.records[i].offset == segment.records[i].offset);
      CHECK(segment.ReadObject(i) == RecordReading::kIntact);
    }
  }
}

// Into an empty segment, which has another salt and so other sums.
struct Copied {
  static constexpr SegmentIdentity kThere{SegmentId(9), 0x5678};
  SimulatedFileSystem files{1};
  std::unique_ptr<File> file = *files.OpenDirect(kPath, FileOpening::kCreate);
  BlockBuffer buffer;

  Result<RecordReading> Write(Written& from, const Record& record, const Record& copy) {
    BlockWriter writer(*file, copy.offset, buffer.bytes());
    return WriteCopy(*from.file, record, from.buffer.bytes(), writer, kThere, copy);
  }
};

TEST_CASE("objects of all sizes are copied to another segment bit for bit") {
  Written written(kSizes);
  for (size_t i = 0; i < written.records.size(); ++i) {
    CAPTURE(i);
    Copied copied;
    Record copy = written.records[i];
    copy.offset = kBlockBytes * (i + 1);
    const auto check = CheckRecord(*written.file, kIdentity, written.records[i], Copied::kThere,
                                   written.buffer.bytes());
    REQUIRE(check);
    CHECK(check->reading == RecordReading::kIntact);
    copy.payload_sum = check->sum_there;
    const auto writing = copied.Write(written, written.records[i], copy);
    REQUIRE(writing);
    CHECK(*writing == RecordReading::kIntact);
    CHECK(*copied.file->Size() == copy.end());
    std::vector<std::byte> payload(copy.payload_bytes);
    const std::span<std::byte> to(payload);
    const auto reading =
        ReadRecord(*copied.file, Copied::kThere, copy, std::span(&to, 1), copied.buffer.bytes());
    REQUIRE(reading);
    CHECK(*reading == RecordReading::kIntact);
    CHECK(payload == written.payloads[i]);
  }
}

TEST_CASE("a copy of what is damaged, or was changed after it was checked, is no object") {
  Written written(kSizes);
  const Record& record = written.records[6];  // longer than a buffer
  const auto check = [&] {
    return CheckRecord(*written.file, kIdentity, record, Copied::kThere, written.buffer.bytes());
  };
  auto checked = check();
  REQUIRE(checked);
  Record copy = record;
  copy.payload_sum = checked->sum_there;
  for (const uint64_t at : {uint64_t{0}, copy.payload_bytes - 1}) {
    CAPTURE(at);
    written.Flip(record.payload_offset() + at);
    checked = check();
    REQUIRE(checked);
    CHECK(checked->reading == RecordReading::kDamaged);
    Copied copied;
    const auto writing = copied.Write(written, record, copy);
    REQUIRE(writing);
    CHECK(*writing == RecordReading::kDamaged);
    REQUIRE(copied.file->Truncate(copy.end()));
    std::vector<std::byte> payload(copy.payload_bytes);
    const std::span<std::byte> to(payload);
    const auto reading =
        ReadRecord(*copied.file, Copied::kThere, copy, std::span(&to, 1), copied.buffer.bytes());
    REQUIRE(reading);
    CHECK(*reading == RecordReading::kDamaged);
    written.Flip(record.payload_offset() + at);
  }
  // The file was cut off meanwhile.
  REQUIRE(written.file->Truncate(record.offset + BlockBuffer::kBytes));
  Copied copied;
  const auto writing = copied.Write(written, record, copy);
  REQUIRE(writing);
  CHECK(*writing == RecordReading::kDamaged);
}

TEST_CASE("a flipped bit of a header or payload damages its object, and no other") {
  Written segment(kSizes);
  for (size_t broken = 0; broken < kSizes.size(); ++broken) {
    const Record& record = segment.records[broken];
    for (const uint64_t at : {record.offset + 5, record.offset + kRecordHeaderBytes - 1,
                              record.payload_offset() + record.payload_bytes / 2,
                              record.payload_offset() + record.payload_bytes - 1}) {
      if (record.payload_bytes == 0 && at >= record.payload_offset()) continue;  // only padding
      segment.Flip(at);
      for (size_t i = 0; i < kSizes.size(); ++i) {
        CHECK(segment.ReadObject(i) ==
              (i == broken ? RecordReading::kDamaged : RecordReading::kIntact));
      }
      segment.Flip(at);
    }
  }
}

TEST_CASE(
    "without an index a record that is not whole is left out, and those behind it are found") {
  Written segment({5000, 6000, 7000});
  segment.Flip(segment.records[1].payload_offset() + 3000);
  const SegmentContents torn = segment.Read();
  CHECK(torn.torn == 1);
  REQUIRE(torn.records.size() == 2);
  CHECK(torn.records[1].offset == segment.records[2].offset);
  segment.Flip(segment.records[1].offset + 20);  // now it can't even be seen that there was one
  CHECK(segment.Read().torn == 0);
  CHECK(segment.Read().records.size() == 2);
}

TEST_CASE("a damaged index is not believed: the file is read instead") {
  Written segment({5000, 6000});
  const uint64_t end = *segment.file->Size();
  segment.Seal();
  CHECK(segment.Read().sealed);
  for (const uint64_t at :
       {end + 10, end + kRecordHeaderBytes, *segment.file->Size() - kBlockBytes}) {
    segment.Flip(at);
    CHECK_FALSE(segment.Read().sealed);
    CHECK(segment.Read().records.size() == 2);
    segment.Flip(at);
  }
  REQUIRE(segment.file->Truncate(*segment.file->Size() - 1));
  CHECK_FALSE(segment.Read().sealed);
  CHECK(segment.Read().records.size() == 2);
}

TEST_CASE("a file cut short at any length loses only what was cut off") {
  const std::vector<size_t> sizes = {5000, 3000, 20'000, 100};
  for (uint64_t size = 0; size < 45'000; size += 509) {
    Written segment(sizes);
    REQUIRE(segment.file->Truncate(size));
    const auto contents = ReadSegment(*segment.file, kIdentity.id, segment.buffer.bytes());
    if (size < 48) {
      CHECK(contents.error().code == ErrorCode::kCorrupt);
      continue;
    }
    REQUIRE(contents);
    size_t whole = 0;
    for (const Record& record : segment.records) whole += record.end() <= size;
    CHECK(contents->records.size() == whole);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Record& record = segment.records[i];
      const bool is_there = record.payload_offset() + record.payload_bytes <= size;
      CHECK((segment.ReadObject(i) == RecordReading::kIntact) == is_there);
    }
  }
}

TEST_CASE("a payload that looks like a record is not one") {
  Written inner({100});
  std::vector<std::byte> forged(2 * kBlockBytes);
  Record record = inner.records[0];
  record.offset = 2 * kBlockBytes;  // where the forgery will lie
  // Its author knows all but the salt.
  const auto header = EncodeRecordHeader({kIdentity.id, kIdentity.salt + 1}, record);
  std::ranges::copy(header, forged.begin() + kBlockBytes - kRecordHeaderBytes);

  SimulatedFileSystem files(1);
  auto file = *files.OpenDirect(kPath, FileOpening::kCreate);
  BlockBuffer buffer;
  REQUIRE(file->WriteAt(0, EncodeSegmentHeader(kIdentity)));
  const std::span<const std::byte> payload(forged);
  Record outer{.offset = kBlockBytes, .payload_bytes = forged.size()};
  outer.payload_sum = PayloadSum(kIdentity, std::span(&payload, 1));
  BlockWriter writer(*file, kBlockBytes, buffer.bytes());
  REQUIRE(writer.AppendRecord(kIdentity, outer, std::span(&payload, 1)));
  REQUIRE(writer.Finish());
  REQUIRE(file->WriteAt(kBlockBytes, std::vector<std::byte>(100)));  // its own header is lost
  CHECK(ReadSegment(*file, kIdentity.id, buffer.bytes())->records.empty());
}

}  // namespace
}  // namespace cairn
