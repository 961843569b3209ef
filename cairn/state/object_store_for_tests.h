// MemoryObjectStore: an ObjectStore in a map, whose requests end when the test says so.
#ifndef CAIRN_STATE_OBJECT_STORE_FOR_TESTS_H_
#define CAIRN_STATE_OBJECT_STORE_FOR_TESTS_H_

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "cairn/state/object_store.h"

namespace cairn {

// Not thread-safe.
class MemoryObjectStore final : public ObjectStore {
 public:
  struct Object {
    ObjectInfo info;
    std::vector<std::byte> bytes;
  };

  // ---- What a test does to it ----
  size_t requests_max = 1000;
  ObjectOutcome next_outcomes = ObjectOutcome::kDone;  // of requests that end from now on
  double read_bytes_per_second = 1e9;
  std::vector<ObjectInfo> arrivals;
  bool ends_at_once = false;

  // Ends the oldest requests.
  void Run(size_t count = SIZE_MAX) {
    for (; count > 0 && !waiting_.empty(); --count) {
      End(waiting_.front());
      waiting_.pop_front();
    }
  }
  int64_t gets() const { return gets_; }
  size_t waiting() const { return waiting_.size(); }
  std::map<ObjectKey, Object>& objects() { return objects_; }

  // ---- ObjectStore ----
  Result<RequestId> Put(const ObjectKey& key, const ObjectMetadata& metadata,
                        std::span<const std::span<const std::byte>> pieces) override {
    Request request{.key = key, .metadata = metadata, .from = {pieces.begin(), pieces.end()}};
    return Enqueue(std::move(request));
  }
  Result<RequestId> Get(const ObjectKey& key,
                        std::span<const std::span<std::byte>> pieces) override {
    Request request{.key = key, .metadata = {}, .to = {pieces.begin(), pieces.end()}};
    request.is_get = true;
    ++gets_;
    return Enqueue(std::move(request));
  }
  Result<RequestId> Erase(const ObjectKey& key) override {
    objects_.erase(key);
    done_.push_back({.request = RequestId(++requests_), .problem = ""});
    return RequestId(requests_);
  }
  std::vector<ObjectCompletion> Poll() override {
    if (ends_at_once) Run();
    return std::exchange(done_, {});
  }
  std::vector<ObjectCompletion> Wait(int64_t) override { return Poll(); }
  std::vector<ObjectInfo> Arrivals() override { return std::exchange(arrivals, {}); }
  void Flush() override { Run(); }
  std::optional<ObjectInfo> Find(const ObjectKey& key) const override {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return std::nullopt;
    return found->second.info;
  }
  std::vector<ObjectInfo> List() const override {
    std::vector<ObjectInfo> all;
    for (const auto& [key, object] : objects_) all.push_back(object.info);
    return all;
  }
  ObjectStoreStats Stats() const override {
    ObjectStoreStats stats;
    stats.objects = static_cast<int64_t>(objects_.size());
    stats.read_bytes_per_second = read_bytes_per_second;
    return stats;
  }
  void Audit() const override {}

 private:
  struct Request {
    ObjectKey key;
    ObjectMetadata metadata{};
    std::vector<std::span<const std::byte>> from{};
    std::vector<std::span<std::byte>> to{};
    bool is_get = false;
    RequestId id{};
  };

  Result<RequestId> Enqueue(Request request) {
    if (waiting_.size() >= requests_max) return Fail(ErrorCode::kExhausted, "too many requests");
    request.id = RequestId(++requests_);
    waiting_.push_back(std::move(request));
    return RequestId(requests_);
  }

  void End(const Request& request) {
    ObjectOutcome outcome = next_outcomes;
    if (outcome == ObjectOutcome::kDone) {
      outcome = request.is_get ? Read(request) : Write(request);
    } else if (outcome == ObjectOutcome::kDamaged) {
      objects_.erase(request.key);
    }
    done_.push_back({.request = request.id,
                     .outcome = outcome,
                     .problem = outcome == ObjectOutcome::kDone ? "" : "as the test wants it"});
  }
  ObjectOutcome Write(const Request& request) {
    Object object;
    for (const auto& piece : request.from) {
      object.bytes.insert(object.bytes.end(), piece.begin(), piece.end());
    }
    object.info = {.key = request.key,
                   .metadata = request.metadata,
                   .size = Bytes(static_cast<int64_t>(object.bytes.size()))};
    objects_.insert_or_assign(request.key, std::move(object));
    return ObjectOutcome::kDone;
  }
  ObjectOutcome Read(const Request& request) {
    const auto found = objects_.find(request.key);
    if (found == objects_.end()) return ObjectOutcome::kAbsent;
    const std::byte* from = found->second.bytes.data();
    for (const std::span<std::byte> piece : request.to) {
      std::copy_n(from, piece.size(), piece.data());
      from += piece.size();
    }
    return ObjectOutcome::kDone;
  }

  std::map<ObjectKey, Object> objects_;
  std::deque<Request> waiting_;
  std::vector<ObjectCompletion> done_;
  uint64_t requests_ = 0;
  int64_t gets_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STATE_OBJECT_STORE_FOR_TESTS_H_
