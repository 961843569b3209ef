// RedisStore, for its own .cc files only: redis_store.cc has what callers call, redis_store_jobs.cc
// what runs in the background. redis_store.h is for everybody else.
//
// Thread safety: mutex_ guards all but the connections, and is never held across the network. A
// lane's connection belongs to the one job that the lane has at most.
#ifndef CAIRN_STATE_REDIS_STORE_INTERNAL_H_
#define CAIRN_STATE_REDIS_STORE_INTERNAL_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/executor.h"
#include "cairn/state/object_store.h"
#include "cairn/state/redis_mirror.h"
#include "cairn/state/redis_outage.h"
#include "cairn/state/redis_store.h"
#include "cairn/state/redis_store_objects.h"
#include "cairn/state/store_jobs.h"

namespace cairn {

class RedisStore final : public ObjectStore {
 public:
  RedisStore(const RedisStoreOptions& options, const RedisObjects::Options& objects);
  ~RedisStore() override;

  // What begins by itself, once the object is whole.
  void Begin();
  // Until the index was read, or could not be.
  Status WaitForIndex();

  Result<RequestId> Put(const ObjectKey& key, const ObjectMetadata& metadata,
                        std::span<const std::span<const std::byte>> pieces) override;
  Result<RequestId> Erase(const ObjectKey& key) override;
  Result<RequestId> Get(const ObjectKey& key,
                        std::span<const std::span<std::byte>> pieces) override;
  std::vector<ObjectCompletion> Poll() override;
  std::vector<ObjectCompletion> Wait(int64_t timeout_us) override;
  void Flush() override;
  std::optional<ObjectInfo> Find(const ObjectKey& key) const override;
  std::vector<ObjectInfo> List() const override;
  std::vector<ObjectInfo> Arrivals() override;
  ObjectStoreStats Stats() const override;
  void Audit() const override;

 private:
  struct Change {  // a put, or with no bytes an erasure
    ObjectKey key;
    ObjectMetadata metadata{};
    std::vector<std::span<const std::byte>> pieces{};
    uint64_t bytes = 0;
    RequestId request{};
  };
  struct PendingGet {
    RequestId request{};
    ObjectKey key{};
    StreamId as_of{};
    std::vector<std::span<std::byte>> pieces{};
  };
  struct Lane {
    explicit Lane(RedisObjects server) : objects(std::move(server)) {}
    RedisObjects objects;
    bool busy = false;
  };
  // Changes of one key are always of one writer: they happen in the order of the calls.
  struct Writer : Lane {
    using Lane::Lane;
    std::deque<Change> queue{};
  };

  // All of these under mutex_.
  RequestId NextRequest();
  RequestId Complete(RequestId request, ObjectOutcome outcome, std::string problem);
  Status CheckRequests(size_t waiting) const;
  RequestId Enqueue(Change change);
  // Runs `work` on the executor as the lane's only job, then again as long as `start` finds more.
  void StartLane(Lane& lane, std::function<void()> work, std::function<void()> start);
  void StartWriter(Writer& writer);
  void StartReader();
  void LookAtIndexWhenDue();
  // Whether the server may be asked now; if not the request's problem is said.
  bool MayTry(std::string& problem);
  // How an attempt ended, for the outage.
  void Note(const Status& status);
  void FinishChange(const Change& change, const Result<std::optional<StreamId>>& result);

  // Jobs.
  void ChangeOne(Writer& writer);
  // The id of the new index entry; nothing where the object was there already.
  static Result<std::optional<StreamId>> Do(RedisObjects& objects, const Change& change,
                                            bool is_known);
  void ReadOne(Lane& reader);
  void LookAtIndex();
  // What the server evicted leaves the mirror, a few objects at each look.
  void LookAfterObjects();

  RedisStoreOptions options_;
  std::string name_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable closed_;
  RedisMirror mirror_;
  Outage outage_;
  Lane index_;
  std::deque<Writer> writers_;
  std::deque<Lane> readers_;
  std::deque<PendingGet> gets_;
  std::vector<ObjectCompletion> completions_;
  uint64_t requests_ = 0;
  int64_t unfinished_ = 0;  // requests without a completion
  size_t queued_changes_ = 0;
  size_t queued_puts_ = 0;  // those being written included, as in queued_bytes_
  uint64_t queued_bytes_ = 0;
  bool closing_ = false;
  int jobs_ = 0;  // of the executor, those that have not begun included
  int64_t index_due_us_ = 0;
  bool has_index_ = false;  // read to its end once
  std::string index_problem_;
  ObjectStoreStats stats_;
  Rate write_rate_;
  Rate read_rate_;
  std::unique_ptr<IoThreads> threads_;  // last: its jobs use all of the above
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_STORE_INTERNAL_H_
