// Objects on their way between processes: what a Redis holds, and what `cairn state export` writes.
// docs/state_format.md is the description.
//
//   object        header (key, metadata, length and sum of the payload, its own sum), then payload
//   index entry   that an object was put or erased, and by whom
//
// Functions here are pure. Decoding takes any bytes; what decodes was written by EncodeX, but for
// people who forge sums: those find damage, not malice.
#ifndef CAIRN_STATE_OBJECT_FORMAT_H_
#define CAIRN_STATE_OBJECT_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cairn/base/checksum.h"
#include "cairn/base/status.h"
#include "cairn/state/object_store.h"

namespace cairn {

inline constexpr uint32_t kObjectVersion = 1;
inline constexpr size_t kObjectHeaderBytes = 160;
inline constexpr size_t kIndexEntryBytes = 160;
// No object is larger than this; a length beyond it is damage.
inline constexpr uint64_t kObjectPayloadBytesMax = uint64_t{1} << 40;

struct ObjectHeader {
  ObjectKey key{};
  ObjectMetadata metadata{};
  uint64_t payload_bytes = 0;  // at least 1
  Sum128 payload_sum{};        // PayloadSum of the payload
};

// An empty sum of a payload, to be updated.
Checksum PayloadSum();

std::array<std::byte, kObjectHeaderBytes> EncodeObjectHeader(const ObjectHeader& header);
// Errors: kUnsupported for a sound header of another version, else kCorrupt.
Result<ObjectHeader> DecodeObjectHeader(std::span<const std::byte> bytes);
// Whether bytes begin as an object of this version does, sound or not.
bool LooksLikeObject(std::span<const std::byte> bytes);

struct IndexEntry {
  enum class Kind : uint32_t { kPut = 1, kErase = 2 };
  Kind kind = Kind::kPut;
  uint64_t source = 0;  // a random number of the store that wrote it
  ObjectKey key{};
  ObjectMetadata metadata{};   // zeros of kErase
  uint64_t payload_bytes = 0;  // 0 exactly for kErase
  bool operator==(const IndexEntry&) const = default;
};

std::array<std::byte, kIndexEntryBytes> EncodeIndexEntry(const IndexEntry& entry);
// Nothing where it is not one, or of another version.
std::optional<IndexEntry> DecodeIndexEntry(std::span<const std::byte> bytes);

}  // namespace cairn

#endif  // CAIRN_STATE_OBJECT_FORMAT_H_
