#include "cairn/state/segment_log.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/file_system_for_tests.h"

namespace cairn {
namespace {

constexpr uint64_t kSegmentBytes = 16 * kBlockBytes;

ObjectKey Key(int number) {
  ObjectKey key;
  key.bytes[0] = static_cast<std::byte>(number);
  return key;
}

class Log {
 public:
  explicit Log(SimulatedFileSystem& files, uint64_t segments = 16) : segments_(segments) {
    auto log = SegmentLog::Open({.folder = "tier",
                                 .bound_bytes = segments_ * kSegmentBytes,
                                 .segment_bytes = kSegmentBytes,
                                 .files = &files});
    REQUIRE(log);
    log_ = *std::move(log);
  }
  SegmentLog* operator->() { return log_.get(); }

  SegmentLog::Reservation Reserve(int key, RecordKind kind = RecordKind::kObject) {
    const SegmentLog::NewRecord record{
        .kind = kind, .key = Key(key), .payload_bytes = kind == RecordKind::kObject ? 100u : 0u};
    auto reservation = log_->Reserve(std::span(&record, 1));
    REQUIRE(reservation);
    return *std::move(reservation);
  }
  Status Write(SegmentLog::Reservation reservation) {
    const bool is_object = reservation.records[0].kind == RecordKind::kObject;
    const std::vector<std::byte> payload(is_object ? 100 : 0, std::byte{7});
    const std::span<const std::byte> piece(payload);
    const SegmentLog::Pieces pieces(&piece, 1);
    return log_->Write(std::move(reservation), std::span(&pieces, 1));
  }
  bool Has(int key) {
    std::vector<std::byte> bytes(100);
    const std::span<std::byte> to(bytes);
    return log_->Read(Key(key), std::span(&to, 1)).outcome == ObjectOutcome::kDone;
  }

 private:
  uint64_t segments_;
  std::unique_ptr<SegmentLog> log_;
};

TEST_CASE("an object can be found when it is written, not when space for it is taken") {
  SimulatedFileSystem files(1);
  Log log(files);
  auto reservation = log.Reserve(1);
  CHECK_FALSE(log->Find(Key(1)));
  REQUIRE(log.Write(std::move(reservation)));
  CHECK(log.Has(1));
}

TEST_CASE("later space counts for a key, whichever is written first") {
  SimulatedFileSystem files(1);
  {
    Log log(files);
    auto object = log.Reserve(1);
    auto tombstone = log.Reserve(1, RecordKind::kTombstone);
    REQUIRE(log.Write(std::move(tombstone)));
    REQUIRE(log.Write(std::move(object)));
    CHECK_FALSE(log.Has(1));
    auto old_tombstone = log.Reserve(2, RecordKind::kTombstone);
    auto newer = log.Reserve(2);
    REQUIRE(log.Write(std::move(newer)));
    REQUIRE(log.Write(std::move(old_tombstone)));
    CHECK(log.Has(2));
  }
  Log log(files);
  CHECK_FALSE(log.Has(1));
  CHECK(log.Has(2));
}

TEST_CASE("a hidden object is hidden until its tombstone is written, but not one put after it") {
  SimulatedFileSystem files(1);
  Log log(files);
  REQUIRE(log.Write(log.Reserve(1)));
  log->Hide(Key(1));
  CHECK_FALSE(log.Has(1));
  CHECK(log->List().empty());
  auto tombstone = log.Reserve(1, RecordKind::kTombstone);
  REQUIRE(log.Write(log.Reserve(1)));
  CHECK(log.Has(1));
  REQUIRE(log.Write(std::move(tombstone)));
  CHECK(log.Has(1));
  log->Hide(Key(1));
  log->Unhide(Key(1));
  CHECK(log.Has(1));
}

// The tombstone may be on the disk although its sync failed.
TEST_CASE("after an erasure that failed a new put is written, not taken for done") {
  SimulatedFileSystem files(1);
  {
    Log log(files);
    REQUIRE(log.Write(log.Reserve(1)));
    log->Hide(Key(1));
    auto tombstone = log.Reserve(1, RecordKind::kTombstone);
    files.FailNth(1);  // the sync
    CHECK_FALSE(log.Write(std::move(tombstone)));
    CHECK_FALSE(log->Find(Key(1)));
    REQUIRE(log.Write(log.Reserve(1)));
  }
  Log log(files);
  CHECK(log.Has(1));
}

TEST_CASE("an erasure outlives its own segment for as long as an older one may hold the object") {
  SimulatedFileSystem files(1);
  {
    Log log(files, 6);
    REQUIRE(log.Write(log.Reserve(1)));
    for (int key = 10; key < 22; ++key) REQUIRE(log.Write(log.Reserve(key)));  // fills the first
    log->Hide(Key(1));
    REQUIRE(log.Write(log.Reserve(1, RecordKind::kTombstone)));
    // Nothing but erasures: the segment that holds the first of them is the emptiest.
    for (int i = 0; i < 30; ++i) {
      log->Hide(Key(100));
      REQUIRE(log.Write(log.Reserve(100, RecordKind::kTombstone)));
      log->Audit();
    }
  }
  Log log(files, 6);
  CHECK_FALSE(log.Has(1));
}

TEST_CASE("after any number of erasures there is room for objects") {
  SimulatedFileSystem files(1);
  Log log(files, 4);
  for (int i = 0; i < 300; ++i) {
    log->Hide(Key(i % 256));
    REQUIRE(log.Write(log.Reserve(i % 256, RecordKind::kTombstone)));
    log->Audit();
  }
  REQUIRE(log.Write(log.Reserve(1)));
  CHECK(log.Has(1));
}

TEST_CASE("a full segment has an index, so that opening reads no payload") {
  SimulatedFileSystem files(1);
  {
    Log log(files);
    for (int key = 0; key < 30; ++key) REQUIRE(log.Write(log.Reserve(key)));
  }
  // A payload that changed unseen is still listed, and found out when it is read.
  const std::string first = "tier/" + SegmentFileName(SegmentId(1));
  std::vector<std::byte> bytes = files.Contents(first);
  bytes[kBlockBytes + kRecordHeaderBytes + 5] ^= std::byte{1};
  files.Replace(first, bytes);
  Log log(files);
  CHECK(log->Find(Key(0)));
  CHECK_FALSE(log.Has(0));
  CHECK_FALSE(log->Find(Key(0)));
  CHECK(log->Stats().damaged == 1);
}

}  // namespace
}  // namespace cairn
