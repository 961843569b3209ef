// Any bytes as an archive, with a sound start or their own. Its parts follow each other, lie within
// the file and end.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/object_archive.h"

namespace {

void ReadAll(std::span<const std::byte> bytes) {
  auto reader = cairn::ArchiveReader::Open(bytes);
  if (!reader) return;
  uint64_t at = cairn::kArchiveMarkBytes;
  bool ended = false;
  while (const auto part = reader->Next()) {
    CAIRN_CHECK(!ended && part->offset == at && part->bytes <= bytes.size() - at);
    at += part->bytes;
    ended = part->bytes == 0;  // only the report of a missing end takes nothing
    CAIRN_CHECK(part->object.has_value() == part->problem.empty());
    if (part->object) {
      CAIRN_CHECK(part->object->size.value() == static_cast<int64_t>(part->payload.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  ReadAll(input);
  const auto start = cairn::EncodeArchiveStart();
  std::vector<std::byte> bytes(start.begin(), start.end());
  // A 1 puts a sound object in, of as many bytes as the next byte says.
  for (size_t i = 0; i < input.size(); ++i) {
    if (input[i] == std::byte{1} && i + 1 < input.size()) {
      const std::vector<std::byte> payload(1 + static_cast<size_t>(input[i + 1]));
      const auto header = cairn::EncodeArchivedObject({}, payload);
      bytes.insert(bytes.end(), header.begin(), header.end());
      bytes.insert(bytes.end(), payload.begin(), payload.end());
    } else {
      bytes.push_back(input[i]);
    }
  }
  ReadAll(bytes);
  const auto end = cairn::EncodeArchiveEnd({});
  bytes.insert(bytes.end(), end.begin(), end.end());
  ReadAll(bytes);
  return 0;
}
