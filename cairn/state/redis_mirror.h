// RedisMirror: what a RedisStore knows of the objects on its server, so that it can answer at once.
//
// It follows the server's index, a stream of puts and erasures, up to a cursor; and it knows what
// this store did itself beyond the cursor. Of two events on one key the one with the greater stream
// id counts, whichever was heard of first. What it says may be out of date (the server evicts, and
// others erase): that costs a miss. Invariants, which Audit checks: at most objects_max objects,
// and the sum of their bytes. Not thread-safe: pure bookkeeping.
#ifndef CAIRN_STATE_REDIS_MIRROR_H_
#define CAIRN_STATE_REDIS_MIRROR_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cairn/state/object_format.h"
#include "cairn/state/object_store.h"

namespace cairn {

// "milliseconds-number": the place of an entry in a Redis stream.
struct StreamId {
  uint64_t milliseconds = 0;
  uint64_t number = 0;
  auto operator<=>(const StreamId&) const = default;

  std::string Text() const;
  // Nothing where it is not one.
  static std::optional<StreamId> Parse(std::string_view text);
};

class RedisMirror {
 public:
  struct Found {
    ObjectInfo info;
    StreamId as_of;  // the event that it is known by
  };
  // An entry of the index, and whether the server has its object now.
  struct Event {
    StreamId id;
    IndexEntry entry;
    bool exists = false;
  };

  // `own` is the source of this store's entries.
  RedisMirror(size_t objects_max, uint64_t own) : objects_max_(objects_max), own_(own) {}

  // The next entry of the index; ids must ascend.
  void Follow(const Event& event);
  // The next one meant nothing.
  void Pass(StreamId id) { cursor_ = id; }
  StreamId cursor() const { return cursor_; }
  // The index began anew: nothing is known.
  void Reset();

  // The server did what this store asked, as its entry `id` says.
  void PutHere(const ObjectInfo& info, StreamId id);
  void ErasedHere(const ObjectKey& key, StreamId id);
  // The server had it no more, or something else; it is forgotten if still known by that event.
  // False where it was not.
  bool Gone(const ObjectKey& key, StreamId as_of);

  // Not to be found while an erasure is on its way. Calls nest.
  void Hide(const ObjectKey& key) { ++hidden_[key]; }
  void Unhide(const ObjectKey& key);

  std::optional<Found> Find(const ObjectKey& key) const;
  // Those put longest ago first.
  std::vector<ObjectInfo> List() const;
  // The next objects in a round through all of them.
  std::vector<std::pair<ObjectKey, StreamId>> NextToCheck(size_t most);
  // Objects that others put since the last call, as far as they are still known.
  std::vector<ObjectInfo> TakeArrivals();

  size_t objects() const { return entries_.size(); }
  uint64_t object_bytes() const { return object_bytes_; }
  void Audit() const;

 private:
  struct Entry {
    ObjectInfo info;
    StreamId as_of;
  };

  void Insert(const ObjectInfo& info, StreamId id);
  void Remove(std::unordered_map<ObjectKey, Entry>::iterator entry);
  bool IsNews(const ObjectKey& key, StreamId id) const;

  size_t objects_max_;
  uint64_t own_;
  StreamId cursor_;
  std::unordered_map<ObjectKey, Entry> entries_;
  // By event; a lying server may give one id to several.
  std::set<std::pair<StreamId, ObjectKey>> order_;
  std::pair<StreamId, ObjectKey> checked_;  // NextToCheck goes on behind it
  // Erasures of this store beyond the cursor: entries before them don't count.
  std::unordered_map<ObjectKey, StreamId> erased_;
  std::unordered_map<ObjectKey, int> hidden_;
  std::unordered_set<ObjectKey> arrived_;
  uint64_t object_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_MIRROR_H_
