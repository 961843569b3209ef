// Reading and writing the records of one segment file, through buffers of whole blocks, as files
// that bypass the system's cache like it.
//
// Whatever a file holds: nothing here crashes or asks for more memory than the file is long.
// Functions keep no state; one thread per buffer.
#ifndef CAIRN_STATE_SEGMENT_IO_H_
#define CAIRN_STATE_SEGMENT_IO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/base/file_system.h"
#include "cairn/base/status.h"
#include "cairn/state/segment_format.h"

namespace cairn {

// Memory that begins at a border of blocks.
class BlockBuffer {
 public:
  // Writes of 64 KiB got a seventh of the rate of these, writes of 4 MiB no more
  // (docs/adr/0009-disk-format.md).
  static constexpr size_t kBytes = size_t{1} << 20;

  BlockBuffer();
  std::span<std::byte> bytes() { return bytes_; }

 private:
  AlignedBuffer memory_;
  std::span<std::byte> bytes_;
};

// Buffers used again and again: fresh memory costs more than the copy into it. Thread-safe.
class BlockBuffers {
 public:
  class Loan {
   public:
    explicit Loan(BlockBuffers& from);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    std::span<std::byte> bytes() { return buffer_->bytes(); }

   private:
    BlockBuffers& from_;
    std::unique_ptr<BlockBuffer> buffer_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockBuffer>> free_;
};

// The sum that a record of these pieces carries.
Sum128 PayloadSum(const SegmentIdentity& identity,
                  std::span<const std::span<const std::byte>> pieces);

// Appends bytes to a file from an offset on, in writes of whole blocks.
class BlockWriter {
 public:
  // The offset is a multiple of kBlockBytes.
  BlockWriter(File& file, uint64_t offset, std::span<std::byte> buffer)
      : file_(file), offset_(offset), buffer_(buffer) {}

  Status Append(std::span<const std::byte> bytes);
  // The record's offset must be where the writer is.
  Status AppendRecord(const SegmentIdentity& identity, const Record& record,
                      std::span<const std::span<const std::byte>> pieces);
  // The same in parts: the header, then the payload by Append, then Pad.
  Status AppendHeader(const SegmentIdentity& identity, const Record& record);
  // Zeros up to the next block.
  Status Pad();
  // Writes what is buffered; only after Pad.
  Status Finish();

 private:
  File& file_;
  uint64_t offset_;
  std::span<std::byte> buffer_;
  size_t filled_ = 0;
};

// What ReadRecord found.
enum class RecordReading { kIntact, kDamaged };

// Reads the payload of `record` into the pieces, which together are as long, and proves it by its
// header in the file and by its sum. The pieces mean nothing unless kIntact. Errors: the system's.
Result<RecordReading> ReadRecord(const File& file, const SegmentIdentity& identity,
                                 const Record& record, std::span<const std::span<std::byte>> pieces,
                                 std::span<std::byte> buffer);

// Proves the record as ReadRecord does, without moving it, and says the sum that it has in the
// segment `to`. Errors: the system's.
struct RecordCheck {
  RecordReading reading = RecordReading::kIntact;
  Sum128 sum_there;
};
Result<RecordCheck> CheckRecord(const File& file, const SegmentIdentity& identity,
                                const Record& record, const SegmentIdentity& to,
                                std::span<std::byte> buffer);

// Writes `copy`, whose sum CheckRecord said, with the payload of `record`, through the buffers that
// the reader and the writer have, however long it is. kDamaged: what is read now isn't what was
// checked, or can't be read; what was written then is no record. Errors: of writing.
Result<RecordReading> WriteCopy(const File& file, const Record& record, std::span<std::byte> buffer,
                                BlockWriter& to, const SegmentIdentity& to_identity,
                                const Record& copy);

struct SegmentContents {
  SegmentIdentity identity;
  std::vector<Record> records{};  // by ascending offset
  uint64_t end = 0;               // after the last of them
  bool sealed = false;            // it has an index: nothing was being written when it was left
  int64_t torn = 0;  // records that begin but are not whole; only of one without an index
};

// Finds the records by the index, or without one by reading everything, sums included. Errors:
// kCorrupt and kUnsupported as of DecodeSegmentHeader, and the system's.
Result<SegmentContents> ReadSegment(const File& file, SegmentId id, std::span<std::byte> buffer);

}  // namespace cairn

#endif  // CAIRN_STATE_SEGMENT_IO_H_
