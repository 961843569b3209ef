#include "cairn/state/object_format.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace cairn {
namespace {

ObjectHeader SomeHeader() {
  ObjectHeader header{.metadata = {1, 2, 3, UINT64_MAX}, .payload_bytes = 77};
  header.key.bytes[0] = std::byte{5};
  header.key.bytes[31] = std::byte{6};
  header.payload_sum = {.low = 8, .high = 9};
  return header;
}

IndexEntry SomeEntry() {
  IndexEntry entry{.source = 12, .metadata = {1, 2}, .payload_bytes = 77};
  entry.key.bytes[31] = std::byte{6};
  return entry;
}

// Bytes with another version and a sum that fits it.
template <size_t kBytes>
std::array<std::byte, kBytes> OfVersion(uint32_t version, std::array<std::byte, kBytes> bytes) {
  std::memcpy(bytes.data() + 8, &version, sizeof(version));
  const Sum128 sum = Checksum::Of(std::span(bytes).first(kBytes - sizeof(Sum128)), 0);
  std::memcpy(bytes.data() + kBytes - sizeof(sum), &sum, sizeof(sum));
  return bytes;
}

TEST_CASE("headers and index entries decode to what was encoded") {
  const auto header = DecodeObjectHeader(EncodeObjectHeader(SomeHeader()));
  REQUIRE(header);
  CHECK(header->key == SomeHeader().key);
  CHECK(header->metadata == SomeHeader().metadata);
  CHECK(header->payload_bytes == 77);
  CHECK(header->payload_sum == SomeHeader().payload_sum);
  CHECK(DecodeIndexEntry(EncodeIndexEntry(SomeEntry())) == SomeEntry());
  IndexEntry erasure{.kind = IndexEntry::Kind::kErase, .source = 4, .key = SomeEntry().key};
  CHECK(DecodeIndexEntry(EncodeIndexEntry(erasure)) == erasure);
}

TEST_CASE("one flipped bit anywhere, or a missing byte, is seen") {
  const auto header = EncodeObjectHeader(SomeHeader());
  const auto entry = EncodeIndexEntry(SomeEntry());
  for (size_t bit = 0; bit < 8 * header.size(); ++bit) {
    auto damaged = header;
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    CHECK_FALSE(DecodeObjectHeader(damaged));
  }
  for (size_t bit = 0; bit < 8 * entry.size(); ++bit) {
    auto damaged = entry;
    damaged[bit / 8] ^= std::byte(1 << bit % 8);
    CHECK_FALSE(DecodeIndexEntry(damaged));
  }
  CHECK_FALSE(DecodeObjectHeader(std::span(header).first(header.size() - 1)));
  CHECK_FALSE(DecodeIndexEntry(std::span(entry).first(entry.size() - 1)));
}

TEST_CASE("a newer version is told apart from damage, and is not ours to remove") {
  const auto newer = OfVersion(2, EncodeObjectHeader(SomeHeader()));
  CHECK(DecodeObjectHeader(newer).error().code == ErrorCode::kUnsupported);
  CHECK_FALSE(LooksLikeObject(newer));
  CHECK_FALSE(DecodeIndexEntry(OfVersion(2, EncodeIndexEntry(SomeEntry()))));
  auto damaged = EncodeObjectHeader(SomeHeader());
  damaged[40] ^= std::byte{1};
  CHECK(DecodeObjectHeader(damaged).error().code == ErrorCode::kCorrupt);
  CHECK(LooksLikeObject(damaged));
  CHECK_FALSE(LooksLikeObject(std::span(damaged).first(11)));
}

TEST_CASE("lengths that no object has are refused even with a sound sum") {
  ObjectHeader header = SomeHeader();
  for (const uint64_t bytes : {uint64_t{0}, kObjectPayloadBytesMax + 1, UINT64_MAX}) {
    header.payload_bytes = bytes;
    CHECK(DecodeObjectHeader(EncodeObjectHeader(header)).error().code == ErrorCode::kCorrupt);
    IndexEntry entry = SomeEntry();
    entry.payload_bytes = bytes;
    CHECK_FALSE(DecodeIndexEntry(EncodeIndexEntry(entry)));
  }
  IndexEntry erasure{.kind = IndexEntry::Kind::kErase, .payload_bytes = 1};
  CHECK_FALSE(DecodeIndexEntry(EncodeIndexEntry(erasure)));
  erasure.kind = IndexEntry::Kind(3);
  CHECK_FALSE(DecodeIndexEntry(EncodeIndexEntry(erasure)));
}

}  // namespace
}  // namespace cairn
