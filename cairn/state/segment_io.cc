#include "cairn/state/segment_io.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Hands out bytes to a list of pieces, one behind the other.
class Scatter {
 public:
  explicit Scatter(std::span<const std::span<std::byte>> pieces) : pieces_(pieces) {}

  void Put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::span<std::byte> rest = pieces_.front().subspan(filled_);
      const size_t size = std::min(rest.size(), bytes.size());
      if (size > 0) std::memcpy(rest.data(), bytes.data(), size);
      filled_ += size;
      bytes = bytes.subspan(size);
      if (filled_ == pieces_.front().size()) {
        pieces_ = pieces_.subspan(1);
        filled_ = 0;
      }
    }
  }

 private:
  std::span<const std::span<std::byte>> pieces_;
  size_t filled_ = 0;
};

// A part of a file in memory that moves along with the reader.
class Window {
 public:
  Window(const File& file, uint64_t file_bytes, std::span<std::byte> buffer)
      : file_(file), file_bytes_(file_bytes), buffer_(buffer) {}

  // What lies at `offset`, a multiple of kBlockBytes: at least `bytes`, or up to the file's end.
  // `bytes` is at most the buffer's size.
  Result<std::span<const std::byte>> At(uint64_t offset, size_t bytes) {
    const uint64_t wanted = std::min<uint64_t>(bytes, file_bytes_ - std::min(offset, file_bytes_));
    if (offset < begin_ || offset + wanted > begin_ + filled_) {
      const uint64_t rest = RoundUpToBlock(file_bytes_ - std::min(offset, file_bytes_));
      const auto size = static_cast<size_t>(std::min<uint64_t>(rest, buffer_.size()));
      CAIRN_ASSIGN(filled_, file_.ReadAt(offset, buffer_.first(size)));
      begin_ = offset;
    }
    return std::span<const std::byte>(buffer_).first(filled_).subspan(offset - begin_);
  }

 private:
  const File& file_;
  uint64_t file_bytes_;
  std::span<std::byte> buffer_;
  uint64_t begin_ = 0;
  size_t filled_ = 0;
};

// Feeds the payload of a record at `record.offset` to `take`, a span at a time; false where the
// file ends before it does.
template <class Take>
Result<bool> ForPayload(Window& window, const Record& record, Take take) {
  uint64_t left = record.payload_bytes;
  uint64_t at = record.payload_offset();
  while (left > 0) {
    const uint64_t block = at / kBlockBytes * kBlockBytes;
    CAIRN_ASSIGN(const std::span<const std::byte> there, window.At(block, kBlockBytes));
    if (there.size() <= at - block) return false;
    const std::span<const std::byte> rest = there.subspan(at - block);
    const auto part = rest.first(static_cast<size_t>(std::min<uint64_t>(rest.size(), left)));
    take(part);
    at += part.size();
    left -= part.size();
  }
  return true;
}

// Reads a record and proves it by its header in the file and by its sum; `take` gets the payload.
template <class Take>
Result<RecordReading> ProveRecord(const File& file, const SegmentIdentity& identity,
                                  const Record& record, std::span<std::byte> buffer, Take take) {
  Window window(file, record.end(), buffer);
  CAIRN_ASSIGN(const std::span<const std::byte> head, window.At(record.offset, kRecordHeaderBytes));
  const auto found = DecodeRecordHeader(identity, record.offset, record.end(), head);
  if (!found || found->kind != record.kind || found->key != record.key ||
      found->payload_bytes != record.payload_bytes) {
    return RecordReading::kDamaged;
  }
  Checksum sum(identity.salt);
  CAIRN_ASSIGN(const bool whole, ForPayload(window, *found, [&](auto part) {
                 sum.Update(part);
                 take(part);
               }));
  const bool intact = whole && sum.Finish() == found->payload_sum;
  return intact ? RecordReading::kIntact : RecordReading::kDamaged;
}

// The records that an index lists, or nothing where there is no sound one.
Result<std::optional<SegmentContents>> ReadByIndex(const File& file,
                                                   const SegmentIdentity& identity,
                                                   uint64_t file_bytes, Window& window) {
  if (file_bytes % kBlockBytes != 0 || file_bytes < 2 * kBlockBytes) return std::nullopt;
  CAIRN_ASSIGN(const std::span<const std::byte> block,
               window.At(file_bytes - kBlockBytes, kBlockBytes));
  const auto trailer = DecodeTrailer(identity, file_bytes, block);
  if (!trailer) return std::nullopt;
  std::vector<std::byte> headers(trailer->records * kRecordHeaderBytes);
  CAIRN_ASSIGN(const size_t got, file.ReadAt(trailer->offset, headers));
  if (got != headers.size()) return std::nullopt;
  auto records = DecodeIndex(identity, *trailer, headers);
  if (!records) return std::nullopt;
  return SegmentContents{
      .identity = identity, .records = *std::move(records), .end = trailer->offset, .sealed = true};
}

Result<SegmentContents> ReadByScan(const SegmentIdentity& identity, uint64_t file_bytes,
                                   Window& window) {
  SegmentContents contents{.identity = identity, .records = {}, .end = kBlockBytes};
  uint64_t at = kBlockBytes;
  while (at < file_bytes) {
    CAIRN_ASSIGN(const std::span<const std::byte> there, window.At(at, kRecordHeaderBytes));
    const auto record = DecodeRecordHeader(identity, at, file_bytes, there);
    at += kBlockBytes;
    if (!record) continue;  // a later record may be whole
    Checksum sum(identity.salt);
    CAIRN_ASSIGN(const bool whole,
                 ForPayload(window, *record, [&](auto part) { sum.Update(part); }));
    if (whole && sum.Finish() == record->payload_sum) {
      contents.records.push_back(*record);
      contents.end = at = record->end();
    } else {
      ++contents.torn;
    }
  }
  return contents;
}

}  // namespace

BlockBuffer::BlockBuffer() : memory_(kBytes + kBlockBytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory_.data());
  bytes_ = std::span(memory_.data() + (RoundUpToBlock(address) - address), kBytes);
}

BlockBuffers::Loan::Loan(BlockBuffers& from) : from_(from) {
  const std::lock_guard lock(from_.mutex_);
  if (from_.free_.empty()) {
    buffer_ = std::make_unique<BlockBuffer>();
  } else {
    buffer_ = std::move(from_.free_.back());
    from_.free_.pop_back();
  }
}

BlockBuffers::Loan::~Loan() {
  const std::lock_guard lock(from_.mutex_);
  from_.free_.push_back(std::move(buffer_));
}

Sum128 PayloadSum(const SegmentIdentity& identity,
                  std::span<const std::span<const std::byte>> pieces) {
  if (pieces.size() == 1) return Checksum::Of(pieces[0], identity.salt);
  Checksum sum(identity.salt);
  for (const std::span<const std::byte> piece : pieces) sum.Update(piece);
  return sum.Finish();
}

Status BlockWriter::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t size = std::min(buffer_.size() - filled_, bytes.size());
    std::memcpy(buffer_.data() + filled_, bytes.data(), size);
    filled_ += size;
    bytes = bytes.subspan(size);
    if (filled_ == buffer_.size()) CAIRN_TRY(Finish());
  }
  return {};
}

Status BlockWriter::AppendRecord(const SegmentIdentity& identity, const Record& record,
                                 std::span<const std::span<const std::byte>> pieces) {
  CAIRN_TRY(AppendHeader(identity, record));
  for (const std::span<const std::byte> piece : pieces) CAIRN_TRY(Append(piece));
  return Pad();
}

Status BlockWriter::AppendHeader(const SegmentIdentity& identity, const Record& record) {
  CAIRN_CHECK(record.offset == offset_ + filled_);
  return Append(EncodeRecordHeader(identity, record));
}

Status BlockWriter::Pad() {
  const size_t padding = RoundUpToBlock(filled_) - filled_;
  if (padding > 0) std::memset(buffer_.data() + filled_, 0, padding);
  filled_ += padding;
  return filled_ == buffer_.size() ? Finish() : Status();
}

Status BlockWriter::Finish() {
  CAIRN_CHECK(filled_ % kBlockBytes == 0);
  CAIRN_TRY(file_.WriteAt(offset_, buffer_.first(filled_)));
  offset_ += filled_;
  filled_ = 0;
  return {};
}

Result<RecordReading> ReadRecord(const File& file, const SegmentIdentity& identity,
                                 const Record& record, std::span<const std::span<std::byte>> pieces,
                                 std::span<std::byte> buffer) {
  Scatter scatter(pieces);
  return ProveRecord(file, identity, record, buffer, [&](auto part) { scatter.Put(part); });
}

Result<RecordCheck> CheckRecord(const File& file, const SegmentIdentity& identity,
                                const Record& record, const SegmentIdentity& to,
                                std::span<std::byte> buffer) {
  Checksum there(to.salt);
  CAIRN_ASSIGN(const RecordReading reading,
               ProveRecord(file, identity, record, buffer, [&](auto part) { there.Update(part); }));
  return RecordCheck{.reading = reading, .sum_there = there.Finish()};
}

Result<RecordReading> WriteCopy(const File& file, const Record& record, std::span<std::byte> buffer,
                                BlockWriter& to, const SegmentIdentity& to_identity,
                                const Record& copy) {
  CAIRN_CHECK(copy.payload_bytes == record.payload_bytes);
  CAIRN_TRY(to.AppendHeader(to_identity, copy));
  Window window(file, record.end(), buffer);
  Checksum sum(to_identity.salt);
  Status written;
  const Result<bool> whole = ForPayload(window, record, [&](auto part) {
    sum.Update(part);
    if (written) written = to.Append(part);
  });
  CAIRN_TRY(written);
  if (!whole || !*whole || sum.Finish() != copy.payload_sum) return RecordReading::kDamaged;
  CAIRN_TRY(to.Pad());
  CAIRN_TRY(to.Finish());
  return RecordReading::kIntact;
}

Result<SegmentContents> ReadSegment(const File& file, SegmentId id, std::span<std::byte> buffer) {
  CAIRN_ASSIGN(const uint64_t file_bytes, file.Size());
  Window window(file, file_bytes, buffer);
  CAIRN_ASSIGN(const std::span<const std::byte> first, window.At(0, kBlockBytes));
  CAIRN_ASSIGN(const SegmentIdentity identity, DecodeSegmentHeader(first, id));
  CAIRN_ASSIGN(auto by_index, ReadByIndex(file, identity, file_bytes, window));
  if (by_index) return *std::move(by_index);
  return ReadByScan(identity, file_bytes, window);
}

}  // namespace cairn
