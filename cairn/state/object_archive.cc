#include "cairn/state/object_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cairn/state/summed.h"

namespace cairn {
namespace {

constexpr std::array<char, 8> kStartMagic = {'C', 'A', 'I', 'R', 'N', 'A', 'R', 'C'};
constexpr std::array<char, 8> kEndMagic = {'C', 'A', 'I', 'R', 'N', 'F', 'I', 'N'};

struct RawMark {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t zero;
  uint64_t objects;        // 0 at the start
  uint64_t payload_bytes;  // 0 at the start
  std::array<uint64_t, 2> spare;
  Sum128 sum;
};
static_assert(sizeof(RawMark) == kArchiveMarkBytes);

std::array<std::byte, kArchiveMarkBytes> Encode(const std::array<char, 8>& magic,
                                                const ArchiveTotals& totals) {
  std::array<std::byte, kArchiveMarkBytes> bytes;
  PutSummed(bytes,
            RawMark{.magic = magic,
                    .version = kArchiveVersion,
                    .zero = 0,
                    .objects = totals.objects,
                    .payload_bytes = totals.payload_bytes,
                    .spare = {},
                    .sum = {}},
            0);
  return bytes;
}

bool IsEnd(std::span<const std::byte> bytes) {
  return TakeSummed<RawMark>(bytes, kEndMagic, 0).has_value();
}

}  // namespace

std::array<std::byte, kArchiveMarkBytes> EncodeArchiveStart() { return Encode(kStartMagic, {}); }

std::array<std::byte, kArchiveMarkBytes> EncodeArchiveEnd(const ArchiveTotals& totals) {
  return Encode(kEndMagic, totals);
}

std::array<std::byte, kObjectHeaderBytes> EncodeArchivedObject(const ObjectInfo& info,
                                                               std::span<const std::byte> payload) {
  Checksum sum = PayloadSum();
  sum.Update(payload);
  return EncodeObjectHeader({.key = info.key,
                             .metadata = info.metadata,
                             .payload_bytes = payload.size(),
                             .payload_sum = sum.Finish()});
}

Result<ArchiveReader> ArchiveReader::Open(std::span<const std::byte> bytes) {
  const auto start = TakeSummed<RawMark>(bytes, kStartMagic, 0);
  if (!start) {
    return Fail(ErrorCode::kCorrupt,
                "is not a file of `cairn state export`, or its start is "
                "damaged");
  }
  if (start->version != kArchiveVersion) {
    return Fail(ErrorCode::kUnsupported, "has format version {}; this program knows {}",
                start->version, kArchiveVersion);
  }
  return ArchiveReader(bytes);
}

std::optional<ArchiveReader::Part> ArchiveReader::Next() {
  if (done_) return std::nullopt;
  const std::span<const std::byte> rest = bytes_.subspan(at_);
  if (rest.empty() || IsEnd(rest)) return TakeEnd();
  const auto header = DecodeObjectHeader(rest);
  if (!header) return SkipDamage();
  Part part{.offset = at_, .bytes = rest.size()};
  ++seen_.objects;
  seen_.payload_bytes += header->payload_bytes;
  if (header->payload_bytes > rest.size() - kObjectHeaderBytes) {
    at_ = bytes_.size();
    part.problem = fmt::format("the file ends within an object of {} bytes", header->payload_bytes);
    return part;
  }
  part.bytes = kObjectHeaderBytes + header->payload_bytes;
  at_ += part.bytes;
  part.payload = rest.subspan(kObjectHeaderBytes, header->payload_bytes);
  Checksum sum = PayloadSum();
  sum.Update(part.payload);
  if (sum.Finish() != header->payload_sum) {
    part.problem =
        fmt::format("an object of {} bytes does not fit its checksum", header->payload_bytes);
    return part;
  }
  part.object = ObjectInfo{.key = header->key,
                           .metadata = header->metadata,
                           .size = Bytes(static_cast<int64_t>(header->payload_bytes))};
  return part;
}

ArchiveReader::Part ArchiveReader::SkipDamage() {
  lost_ = true;
  Part part{.offset = at_, .problem = "is neither an object nor the end"};
  // Only what begins as an object or the end is worth a checksum.
  constexpr std::array<char, 5> kAnyMagic = {'C', 'A', 'I', 'R', 'N'};
  const auto magic = std::as_bytes(std::span(kAnyMagic));
  auto at = bytes_.begin() + static_cast<ptrdiff_t>(at_);
  while (at != bytes_.end()) {
    at = std::search(at + 1, bytes_.end(), magic.begin(), magic.end());
    const auto rest = bytes_.subspan(static_cast<size_t>(at - bytes_.begin()));
    if (IsEnd(rest) || DecodeObjectHeader(rest)) break;
  }
  at_ = static_cast<uint64_t>(at - bytes_.begin());
  part.bytes = at_ - part.offset;
  return part;
}

std::optional<ArchiveReader::Part> ArchiveReader::TakeEnd() {
  done_ = true;
  const std::span<const std::byte> rest = bytes_.subspan(at_);
  Part part{.offset = at_, .bytes = rest.size()};
  const auto end = TakeSummed<RawMark>(rest, kEndMagic, 0);
  if (!end) {
    part.problem = "the file ends without an end: it was cut";
    return part;
  }
  const ArchiveTotals totals{end->objects, end->payload_bytes};
  if (!lost_ && totals != seen_) {
    part.problem =
        fmt::format("the file should have {} objects of {} bytes and has {} of {}", totals.objects,
                    totals.payload_bytes, seen_.objects, seen_.payload_bytes);
    return part;
  }
  if (rest.size() > kArchiveMarkBytes) {
    part.problem = fmt::format("{} bytes behind the end", rest.size() - kArchiveMarkBytes);
    return part;
  }
  return std::nullopt;
}

}  // namespace cairn
