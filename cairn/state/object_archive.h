// Objects of a tier in one file, as `cairn state export` writes it (docs/state_format.md).
//
//   start      magic, version, sum
//   objects    each with its header (object_format.h), one behind the other
//   end        how many objects and bytes of payload there are, sum: without it the file is cut
//
// Reading takes any bytes. What is damaged is skipped and reported; behind a damaged header the
// next sound one is looked for. Pure; thread-compatible.
#ifndef CAIRN_STATE_OBJECT_ARCHIVE_H_
#define CAIRN_STATE_OBJECT_ARCHIVE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cairn/base/status.h"
#include "cairn/state/object_format.h"
#include "cairn/state/object_store.h"

namespace cairn {

inline constexpr uint32_t kArchiveVersion = 1;
inline constexpr size_t kArchiveMarkBytes = 64;  // of start and end, each

struct ArchiveTotals {
  uint64_t objects = 0;
  uint64_t payload_bytes = 0;
  bool operator==(const ArchiveTotals&) const = default;
};

std::array<std::byte, kArchiveMarkBytes> EncodeArchiveStart();
// Its payload follows in the file.
std::array<std::byte, kObjectHeaderBytes> EncodeArchivedObject(const ObjectInfo& info,
                                                               std::span<const std::byte> payload);
std::array<std::byte, kArchiveMarkBytes> EncodeArchiveEnd(const ArchiveTotals& totals);

class ArchiveReader {
 public:
  // A sound object, or a stretch of the file that is none.
  struct Part {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    std::optional<ObjectInfo> object{};
    std::span<const std::byte> payload{};
    std::string problem{};  // where there is no object
  };

  // Errors: it is no archive (kCorrupt), or one of another version (kUnsupported). The bytes must
  // outlive the reader and all parts.
  static Result<ArchiveReader> Open(std::span<const std::byte> bytes);

  // The next part; nothing at the end. A missing or wrong end of the archive is a last part with a
  // problem.
  std::optional<Part> Next();

 private:
  explicit ArchiveReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Part SkipDamage();
  std::optional<Part> TakeEnd();

  std::span<const std::byte> bytes_;
  uint64_t at_ = kArchiveMarkBytes;
  bool done_ = false;
  ArchiveTotals seen_;  // damaged payloads included
  bool lost_ = false;   // a header was damaged: nobody knows what it said
};

}  // namespace cairn

#endif  // CAIRN_STATE_OBJECT_ARCHIVE_H_
