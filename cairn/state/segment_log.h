// SegmentLog: the files of a disk store. Records are appended to one segment at a time; full ones
// are indexed, and given up when the bound asks for it; what was read of them lately is saved.
//
// Its calls wait for the disk (DiskStore makes them in the background). A record is published, that
// is, can be found, only when it is safe on the disk; on opening, the files alone decide what there
// is. Bytes of the files never exceed the bound, compaction included: the last segment_bytes of it
// are kept for that.
// Thread safety: everything from any thread, but Reserve from one at a time; the order of its calls
// is the order of the records, of which the later one of a key counts.
#ifndef CAIRN_STATE_SEGMENT_LOG_H_
#define CAIRN_STATE_SEGMENT_LOG_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cairn/base/file_system.h"
#include "cairn/base/status.h"
#include "cairn/state/object_index.h"
#include "cairn/state/object_store.h"
#include "cairn/state/segment_format.h"
#include "cairn/state/segment_io.h"

namespace cairn {

class SegmentLog {
 public:
  struct Options {
    std::string folder;
    uint64_t bound_bytes = 0;
    uint64_t segment_bytes = 0;  // at most a quarter of the bound
    FileSystem* files = nullptr;
  };
  struct Counters {
    int64_t evicted = 0;
    int64_t damaged = 0;
    int64_t torn = 0;
    uint64_t written_bytes = 0;
    uint64_t compacted_bytes = 0;
  };
  struct NewRecord {
    RecordKind kind = RecordKind::kObject;
    ObjectKey key{};
    ObjectMetadata metadata{};
    uint64_t payload_bytes = 0;
  };
  // Space for records that lie one behind the other. Each is passed to Write exactly once.
  struct Reservation {
    SegmentIdentity segment{};
    std::vector<ObjectIndex::Place> places{};
    std::vector<Record> records{};
  };
  using Pieces = std::span<const std::span<const std::byte>>;
  struct Reading {
    ObjectOutcome outcome = ObjectOutcome::kDone;
    std::string problem;
  };

  // Makes the folder and locks it, finds what is there, and brings it under the bound. Errors: it
  // is locked, written by a newer program, or the system refuses.
  static Result<std::unique_ptr<SegmentLog>> Open(const Options& options);
  // Writes the index of the open segment, so that the next Open need not read it. Nothing may run.
  ~SegmentLog();

  uint64_t payload_bytes_max() const;

  // Takes space for the first of the records and for as many after it as the segment has room for.
  // Begins a new segment where it has none: then waits for what is being written, and may give up
  // old segments. Errors: the disk is full, the bound too small; nothing is reserved.
  Result<Reservation> Reserve(std::span<const NewRecord> records);
  // Writes the records and publishes them once they are safe; on an error none of them.
  Status Write(Reservation reservation, std::span<const Pieces> payloads);
  // Reads an object, as ObjectStore::Get says.
  Reading Read(const ObjectKey& key, std::span<const std::span<std::byte>> pieces);

  // Objects of this key that lie before the next tombstone of it to be reserved can't be found,
  // until that tombstone is written or has failed.
  void Hide(const ObjectKey& key);
  // For a tombstone that will never be reserved.
  void Unhide(const ObjectKey& key);

  std::optional<ObjectInfo> Find(const ObjectKey& key) const;
  std::vector<ObjectInfo> List() const;
  ObjectStoreStats Stats() const;  // of what it knows: sizes, evictions, damage
  void Audit() const;

 private:
  using Place = ObjectIndex::Place;

  explicit SegmentLog(const Options& options) : options_(options) {}
  std::string PathOf(SegmentId id) const;

  // Recovery.
  Status Recover();
  Status LoadSegment(SegmentId id);
  Status ResumeLast();

  // Segments. Called by Open and Reserve only.
  bool HasRoomFor(uint64_t payload_bytes) const;  // under mutex_
  Status BeginSegment(uint64_t payload_bytes);
  Result<std::unique_ptr<File>> CreateSegment(const SegmentIdentity& identity, uint64_t bytes);
  void FinishSegment();
  void Seal(File& file, SegmentId id);
  Status GiveUp(SegmentId victim);
  Result<uint64_t> CopyLive(SegmentId victim, uint64_t bytes);
  Result<bool> CopyRecord(const File& from, Place place, Reservation& copies);

  std::optional<Place> FindVisible(const ObjectKey& key) const;  // under mutex_
  void LoseSegment(SegmentId id);                                // under mutex_
  bool LoseRecord(Place place);                                  // under mutex_

  Options options_;
  std::unique_ptr<FileLock> lock_;
  BlockBuffers buffers_;
  // The open segment's. Replaced only when nothing is being written.
  std::unique_ptr<File> open_file_;
  SegmentId next_id_{1};

  mutable std::mutex mutex_;  // of all below; never held across IO
  std::condition_variable written_;
  ObjectIndex index_;
  std::optional<SegmentId> open_;  // the one that open_file_ belongs to
  struct Hiding {
    std::optional<Place> tombstone;  // nothing before it was reserved
  };
  std::unordered_map<ObjectKey, Hiding> hidden_;
  Counters counters_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_SEGMENT_LOG_H_
