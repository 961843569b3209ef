#include "cairn/state/object_archive.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/state/numbered_objects_for_tests.h"
#include "cairn/state/tier_objects.h"

namespace cairn {
namespace {

struct Archived {
  ObjectInfo info;
  std::vector<std::byte> payload;
};

// What tests/data/state/objects.bin holds: two runs and two ends of one model, a run of another,
// and an object that is none of a tier's.
std::vector<Archived> Objects() {
  const auto metadata = [](TierObjectKind kind, int64_t from, int64_t to, uint64_t state_key) {
    return MetadataOf({.kind = kind,
                       .from = TokenCount(from),
                       .to = TokenCount(to),
                       .state_key = state_key,
                       .before = static_cast<uint64_t>(from) + 1,
                       .after = static_cast<uint64_t>(to) + 1});
  };
  const std::vector<ObjectMetadata> all = {metadata(TierObjectKind::kRun, 0, 64, 0xabc),
                                           metadata(TierObjectKind::kRun, 64, 128, 0xabc),
                                           metadata(TierObjectKind::kEnd, 128, 140, 0xabc),
                                           metadata(TierObjectKind::kEnd, 64, 70, 0xabc),
                                           metadata(TierObjectKind::kRun, 0, 64, 0xdef),
                                           ObjectMetadata{99, 98}};
  std::vector<Archived> objects;
  for (uint64_t i = 0; i < all.size(); ++i) {
    Archived object{{NumberedKey(i + 1), all[i], {}}, NumberedPayload(i, 1 + i * 700)};
    object.info.size = Bytes(static_cast<int64_t>(object.payload.size()));
    objects.push_back(std::move(object));
  }
  return objects;
}

std::vector<std::byte> Written(const std::vector<Archived>& objects) {
  std::vector<std::byte> file;
  const auto add = [&](std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  ArchiveTotals totals;
  add(EncodeArchiveStart());
  for (const Archived& object : objects) {
    add(EncodeArchivedObject(object.info, object.payload));
    add(object.payload);
    ++totals.objects;
    totals.payload_bytes += object.payload.size();
  }
  add(EncodeArchiveEnd(totals));
  return file;
}

struct Read {
  std::vector<uint64_t> objects;  // by number, all of which are sound
  std::vector<std::string> problems;
};

Read ReadAll(std::span<const std::byte> file) {
  const std::vector<Archived> expected = Objects();
  auto reader = ArchiveReader::Open(file);
  REQUIRE(reader);
  Read read;
  uint64_t at = kArchiveMarkBytes;
  while (const auto part = reader->Next()) {
    CHECK(part->offset == at);
    at += part->bytes;
    if (!part->object) {
      CHECK_FALSE(part->problem.empty());
      read.problems.push_back(part->problem);
      continue;
    }
    for (uint64_t i = 0; i < expected.size(); ++i) {
      if (part->object->key != expected[i].info.key) continue;
      CHECK(part->object->metadata == expected[i].info.metadata);
      CHECK(std::ranges::equal(part->payload, expected[i].payload));
      read.objects.push_back(i);
    }
  }
  return read;
}

TEST_CASE("an archive is read as it was written, and its format does not change by accident") {
  const std::vector<std::byte> file = Written(Objects());
  const Read read = ReadAll(file);
  CHECK(read.objects == std::vector<uint64_t>{0, 1, 2, 3, 4, 5});
  CHECK(read.problems.empty());
  const auto kept = ReadFile("tests/data/state/objects.bin", 1 << 20);
  REQUIRE(kept);
  CHECK(std::ranges::equal(std::as_bytes(std::span(*kept)), file));
  CHECK(ReadAll(Written({})).problems.empty());
}

TEST_CASE("a damaged object costs itself, wherever the damage is, and is reported") {
  const std::vector<Archived> objects = Objects();
  const std::vector<std::byte> file = Written(objects);
  size_t at = kArchiveMarkBytes;
  for (size_t i = 0; i < objects.size(); ++i) {
    const size_t header = at;
    const size_t payload = header + kObjectHeaderBytes;
    at = payload + objects[i].payload.size();
    for (const size_t place : {header, header + 100, payload - 1, payload, at - 1}) {
      std::vector<std::byte> damaged = file;
      damaged[place] ^= std::byte{16};
      const Read read = ReadAll(damaged);
      CHECK(read.objects.size() == objects.size() - 1);
      CHECK(std::ranges::count(read.objects, i) == 0);
      CHECK(read.problems.size() == 1);
    }
  }
}

TEST_CASE("an archive that is cut anywhere says so and gives what is whole") {
  const std::vector<std::byte> file = Written(Objects());
  for (size_t size = kArchiveMarkBytes; size < file.size(); size += 37) {
    const Read read = ReadAll(std::span(file).first(size));
    CHECK_FALSE(read.problems.empty());
    CHECK(read.objects.size() <= 6);
  }
}

TEST_CASE("missing objects and bytes behind the end are reported") {
  std::vector<Archived> objects = Objects();
  const std::vector<std::byte> whole = Written(objects);
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{1});
  CHECK(ReadAll(longer).problems == std::vector<std::string>{"1 bytes behind the end"});
  std::vector<std::byte> fewer = whole;
  const auto first = fewer.begin() + kArchiveMarkBytes;
  fewer.erase(first,
              first + kObjectHeaderBytes + static_cast<ptrdiff_t>(objects[0].payload.size()));
  CHECK(ReadAll(fewer).problems.size() == 1);
  CHECK(ReadAll(fewer).objects.size() == 5);
}

TEST_CASE("what is no archive, or a newer one, is refused") {
  std::vector<std::byte> file = Written(Objects());
  CHECK(ArchiveReader::Open({}).error().code == ErrorCode::kCorrupt);
  CHECK(ArchiveReader::Open(std::span(file).first(63)).error().code == ErrorCode::kCorrupt);
  file[8] = std::byte{2};
  CHECK(ArchiveReader::Open(file).error().code == ErrorCode::kCorrupt);
  const Sum128 sum = Checksum::Of(std::span(file).first(48), 0);
  std::memcpy(file.data() + 48, &sum, sizeof(sum));
  CHECK(ArchiveReader::Open(file).error().message == "has format version 2; this program knows 1");
}

}  // namespace
}  // namespace cairn
