// Any bytes as an object's header and as an index entry; and sound ones with some bytes changed and
// their sum made right again, since a sum can't be guessed. What decodes encodes to the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/object_format.h"

namespace {

// Makes the sum at the end fit, as whoever writes such bytes would.
void Seal(std::vector<std::byte>& bytes) {
  if (bytes.size() < sizeof(cairn::Sum128)) return;
  const size_t covered = bytes.size() - sizeof(cairn::Sum128);
  const cairn::Sum128 sum = cairn::Checksum::Of(std::span(bytes).first(covered), 0);
  std::memcpy(bytes.data() + covered, &sum, sizeof(sum));
}

void Decode(std::span<const std::byte> bytes) {
  if (const auto header = cairn::DecodeObjectHeader(bytes)) {
    CAIRN_CHECK(cairn::LooksLikeObject(bytes));
    CAIRN_CHECK(header->payload_bytes >= 1);
    CAIRN_CHECK(header->payload_bytes <= cairn::kObjectPayloadBytesMax);
    const auto again = cairn::DecodeObjectHeader(cairn::EncodeObjectHeader(*header));
    CAIRN_CHECK(again && again->key == header->key && again->metadata == header->metadata);
    CAIRN_CHECK(again->payload_bytes == header->payload_bytes);
    CAIRN_CHECK(again->payload_sum == header->payload_sum);
  }
  if (const auto entry = cairn::DecodeIndexEntry(bytes)) {
    CAIRN_CHECK(cairn::DecodeIndexEntry(cairn::EncodeIndexEntry(*entry)) == entry);
    CAIRN_CHECK((entry->kind == cairn::IndexEntry::Kind::kErase) == (entry->payload_bytes == 0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  Decode(input);
  std::vector<std::byte> bytes(input.begin(), input.end());
  Seal(bytes);
  Decode(bytes);
  return 0;
}
