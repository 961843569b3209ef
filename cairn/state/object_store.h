// ObjectStore: a tier below memory. It keeps immutable objects, found by a cryptographic key.
//
// Every call returns at once; what takes time is done elsewhere and its end is told by Poll. What a
// store guarantees, whatever happens to the process, the machine or the medium:
// 1. An object whose Put was acknowledged is returned bit for bit, or it is absent: because it was
//    evicted under the bound, erased, or found damaged (which is counted and reported).
// 2. Nothing else is ever returned. A damaged or half-written object is absent.
// 3. An acknowledged Erase lasts: only a later Put brings the key back. (A medium that damages the
//    record of it may bring back the object, bit for bit.)
// 4. A failed Put changes nothing that a reader can see, and the store goes on.
// The same key always stands for the same bytes; that is the caller's promise.
//
// Thread safety: all calls from any thread. Memory handed to Put and Get belongs to the store until
// that request's completion was polled, or the store is gone.
#ifndef CAIRN_STATE_OBJECT_STORE_H_
#define CAIRN_STATE_OBJECT_STORE_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/state_key.h"

namespace cairn {

// A few numbers that the caller keeps beside an object; the store only carries them.
using ObjectMetadata = std::array<uint64_t, 8>;

struct ObjectInfo {
  ObjectKey key;
  ObjectMetadata metadata{};
  Bytes size;
};

// A request of one store; completions name it.
using RequestId = Id<struct ObjectRequestTag, uint64_t>;

enum class ObjectOutcome {
  kDone,     // stored and safe from a crash; or read and verified; or erased for good
  kAbsent,   // Get: no such object, or no longer
  kDamaged,  // Get: its bytes were not those that were put. It is absent from now on
  kFailed,   // the medium refused: full, broken, unreachable. Trying again may help
};

struct ObjectCompletion {
  RequestId request;
  ObjectOutcome outcome = ObjectOutcome::kDone;
  std::string problem;  // in one line, of kDamaged and kFailed
};

// Counters since the store was opened, and what it holds now.
struct ObjectStoreStats {
  int64_t objects = 0;
  Bytes object_bytes;  // of all objects, without what the format adds
  Bytes stored_bytes;  // what the medium holds for this store
  Bytes bound_bytes;   // that never exceeds this; 0: the medium has a bound of its own
  Bytes queued_bytes;  // put and not yet acknowledged
  int64_t queued_requests = 0;

  int64_t puts = 0;  // acknowledged
  int64_t puts_failed = 0;
  int64_t gets_found = 0;
  int64_t gets_absent = 0;
  int64_t erased = 0;
  int64_t evicted = 0;    // objects given up under the bound
  int64_t damaged = 0;    // objects whose checksum did not fit, or that vanished from the medium
  int64_t torn = 0;       // unacknowledged objects that a crash left half-written
  Bytes written_bytes;    // to the medium, all that the format and compaction add included
  Bytes compacted_bytes;  // of those, copied to save them from a file that was given up
  Bytes read_bytes;       // of objects that were found

  // Measured over the latest requests; 0 until there was one. While several run at once each gets
  // its share of the whole, so these are what one more request can expect.
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Stores the pieces one behind the other. Errors, at once and without a completion: no bytes at
  // all or more than an object may have (kInvalidArgument), or too much waits already (kExhausted).
  // An object that is there already is acknowledged without writing it again.
  virtual Result<RequestId> Put(const ObjectKey& key, const ObjectMetadata& metadata,
                                std::span<const std::span<const std::byte>> pieces) = 0;

  // Reads the object into the pieces, one behind the other; together they must be as long as the
  // object is, else it is kAbsent. Unless the outcome is kDone, what the pieces hold means nothing.
  // Errors at once: too many requests wait already (kExhausted).
  virtual Result<RequestId> Get(const ObjectKey& key,
                                std::span<const std::span<std::byte>> pieces) = 0;

  // Absent from now on; kDone says that this outlives a crash. After kFailed it may be there or
  // not.
  virtual Result<RequestId> Erase(const ObjectKey& key) = 0;

  // Completions since the last call, in the order in which they came.
  virtual std::vector<ObjectCompletion> Poll() = 0;
  // As Poll, but waits until there is one, at most `timeout_us`. For tools and tests: an engine has
  // better things to do.
  virtual std::vector<ObjectCompletion> Wait(int64_t timeout_us) = 0;
  // Objects that have come since the last call by others' doing: another process's, on a store that
  // several share.
  virtual std::vector<ObjectInfo> Arrivals() { return {}; }
  // Returns when no request is on its way; their completions wait to be polled.
  virtual void Flush() = 0;

  // Whether a Get would look for it, and what it would find. Reads nothing, and does not count as a
  // use that keeps an object from eviction.
  virtual std::optional<ObjectInfo> Find(const ObjectKey& key) const = 0;
  bool Contains(const ObjectKey& key) const { return Find(key).has_value(); }

  // All objects there are, in no order.
  virtual std::vector<ObjectInfo> List() const = 0;
  virtual ObjectStoreStats Stats() const = 0;
  // CHECKs that its own bookkeeping adds up. Takes a while: for tests.
  virtual void Audit() const = 0;
};

}  // namespace cairn

// The key is a digest: any part of it is as good as a hash.

#endif  // CAIRN_STATE_OBJECT_STORE_H_
