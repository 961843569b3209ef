// ObjectIndex: what a disk store knows of its segments without reading them: which record is the
// valid one of each key, what each segment would lose if it were given up, and which one to give
// up.
//
// Records are added in two steps, reserve and publish, since writing them takes time and several
// are written at once. Of two records of one key the one that lies later (by segment, then by
// offset) counts, whenever they are published; so a crash that finds them in the files decides
// alike. Invariants, which Audit checks:
// 1. A key has at most one current record: the latest published one, object or tombstone.
// 2. live_bytes of a segment is the sum of the spans of its current records.
// Not thread-safe, and knows no files: pure bookkeeping.
#ifndef CAIRN_STATE_OBJECT_INDEX_H_
#define CAIRN_STATE_OBJECT_INDEX_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cairn/state/object_store.h"
#include "cairn/state/segment_format.h"

namespace cairn {

class ObjectIndex {
 public:
  struct Place {
    SegmentId segment;
    size_t record = 0;  // its number in the segment; ascending as offsets are
    auto operator<=>(const Place&) const = default;
  };

  enum class SegmentState {
    kOpen,    // records are added to it; one segment at most
    kFull,    // no more are reserved; some may still be written
    kSealed,  // all are written and indexed in the file
  };
  struct Segment {
    SegmentIdentity identity{};
    SegmentState state = SegmentState::kOpen;
    uint64_t file_bytes = 0;  // of the file, what is reserved included
    uint64_t end = kBlockBytes;
    uint64_t live_bytes = 0;
    int64_t pending = 0;  // reserved records that are neither published nor abandoned
    std::vector<Record> records{};
    std::vector<bool> published{};
  };

  // The id must be greater than all there are.
  void AddSegment(const SegmentIdentity& identity, uint64_t file_bytes, SegmentState state);
  // Null where it is gone.
  Segment* FindSegment(SegmentId id);
  const Segment* FindSegment(SegmentId id) const;
  const std::map<SegmentId, Segment>& segments() const { return segments_; }
  // Its objects can't be found any more. Returns how many could.
  int64_t EvictAll(SegmentId id);
  // Its file is gone for good: so are its tombstones, and what objects it had left.
  void DropSegment(SegmentId id);

  // Adds a record at the segment's end; sets its offset. The segment must be kOpen.
  Place Reserve(SegmentId id, Record record);
  // A record that was found in a file, published at once; offsets must ascend.
  void Restore(SegmentId id, const Record& record);
  // It is on the disk for sure. An object can now be found, a tombstone hides what lies before it.
  void Publish(Place place, const Sum128& payload_sum);
  // Writing it failed: nobody knows what is there.
  void Abandon(Place place);

  // Of a key that can be found.
  std::optional<Place> Find(const ObjectKey& key) const;
  const Record& RecordAt(Place place) const;
  // Notes that it was read.
  void Touch(const ObjectKey& key);
  // Not to be found any more, in this process at least. False where it was not.
  bool Remove(const ObjectKey& key);
  // The same if its record is still the one at `place`.
  bool RemoveAt(const ObjectKey& key, Place place);

  // The sealed segment to give up next: the one with the least to keep, if half of it or more is
  // dead and what lives is no more than `bytes`; else the oldest. Nothing where none is sealed.
  std::optional<SegmentId> Victim(uint64_t bytes) const;
  // The records that must or should be copied before a victim is dropped. First tombstones, for as
  // long as there is an older segment in which they may hide something. Then objects, as many as
  // fit into `bytes`: all of a segment that is mostly dead, else those that were read since they
  // were written there, latest first.
  std::vector<Place> WorthKeeping(SegmentId victim, uint64_t bytes) const;
  // Whether the record at `place` is the one that counts for its key.
  bool IsCurrent(Place place) const;

  size_t objects() const { return entries_.size(); }
  uint64_t object_bytes() const { return object_bytes_; }
  uint64_t file_bytes() const { return file_bytes_; }
  void SetFileBytes(SegmentId id, uint64_t bytes);
  std::vector<ObjectInfo> List() const;

  // CHECKs the invariants.
  void Audit() const;

 private:
  struct Entry {
    Place place;
    uint64_t used = 0;  // when it was read last, by ticks_; 0: never since it was written here
  };

  void Forget(std::unordered_map<ObjectKey, Entry>::iterator entry);
  void ForgetTombstone(std::unordered_map<ObjectKey, Place>::iterator tombstone);
  bool IsMostlyDead(const Segment& segment) const;

  std::map<SegmentId, Segment> segments_;
  std::unordered_map<ObjectKey, Entry> entries_;
  std::unordered_map<ObjectKey, Place> tombstones_;  // of keys whose current record is one
  uint64_t object_bytes_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t ticks_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STATE_OBJECT_INDEX_H_
