// The shared tier: an ObjectStore on a server of the Redis protocol (5 or newer), which other
// processes use too (docs/state_format.md says what lies there).
//
// What the guarantees of ObjectStore come to here:
// 1. "Acknowledged" means that the server said it holds the object. How long is the server's
//    business: it evicts under its maxmemory, forgets what its time to live ended, and loses in a
//    crash what its own persistence had not written. All of these are absences, counted as evicted.
// 2. Holds whatever the server answers: a value is returned only if key, length and checksum are
//    right. Sums find damage, not malice: who may write to the server may forge state.
// 3. An erasure lasts unless the server is started again from an older snapshot.
// 4. A failed Put changes nothing, but for one whose answer was lost: the object may be there then,
//    whole.
// Find and List answer from a mirror of the server's index, which is read on connecting and then
// every poll_interval; so objects that others put appear by themselves, as Arrivals. The mirror may
// be out of date, which costs a miss; it keeps the newest objects_max objects. List begins with
// what was put longest ago.
//
// All work on the network is done by the executor's threads. A server that can't be reached or is
// silent makes one request at a time wait, for the timeouts; all others fail at once, until a try
// with growing pauses between succeeds. Memory: a queue of spans, about 8 MiB at most for each
// connection, 400 bytes for each object.
#ifndef CAIRN_STATE_REDIS_STORE_H_
#define CAIRN_STATE_REDIS_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cairn/base/executor.h"
#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/object_store.h"

namespace cairn {

struct RedisStoreOptions {
  std::string url;                // redis_url.h
  std::string prefix = "cairn:";  // of all keys on the server
  enum class Start {
    kInBackground,  // the server may be down; all objects are arrivals once it is there
    kConnected,     // Open returns when the index was read, or with the error
  };
  Start start = Start::kInBackground;

  Bytes object_max{int64_t{256} << 20};  // at most kRedisObjectBytesMax
  Bytes queue_max{int64_t{256} << 20};   // put and not yet written
  int64_t requests_max = 65'536;         // of each kind
  int64_t objects_max = 262'144;         // that the mirror knows, and about as many index entries

  int64_t connect_timeout_us = 1'000'000;
  int64_t command_timeout_us = 3'000'000;  // and a second for each MiB that is moved
  int64_t poll_interval_us = 500'000;      // between looks at the index
  int64_t backoff_us = 100'000;            // after a failure; doubled by each one after it
  int64_t backoff_max_us = 10'000'000;
  int64_t seconds_to_live = 0;  // of an object since it was put last; 0: for ever

  // Connections, each for one request at a time; one more is for the index.
  int writers = 2;
  int readers = 2;
  // Null: threads of the store's own. Another one must outlive the store, and must have run or
  // dropped all jobs before it is destroyed; the index is then looked at when Poll or Arrivals is
  // called, and start must be kInBackground.
  Executor* executor = nullptr;
};

// The server's own limit of a value is 512 MiB.
inline constexpr Bytes kRedisObjectBytesMax{(int64_t{512} << 20) - 4096};

// Errors: an option that can't be; of kConnected, what the server's trouble is. The destructor
// waits for what is on its way, the timeouts at most, and drops what still waits.
Result<std::unique_ptr<ObjectStore>> OpenRedisStore(const RedisStoreOptions& options);

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_STORE_H_
