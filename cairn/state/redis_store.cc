#include "cairn/state/redis_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/state/redis_store_internal.h"

namespace cairn {
namespace {

// How long kConnected waits for an index that does not end.
constexpr int64_t kIndexTimeoutUs = 60'000'000;

}  // namespace

RedisStore::RedisStore(const RedisStoreOptions& options, const RedisObjects::Options& objects)
    : options_(options),
      name_(objects.url.Name()),
      mirror_(static_cast<size_t>(options.objects_max), objects.source),
      outage_(options.backoff_us, options.backoff_max_us),
      index_{RedisObjects(objects)} {
  for (int i = 0; i < options.writers; ++i) writers_.emplace_back(RedisObjects(objects));
  for (int i = 0; i < options.readers; ++i) readers_.emplace_back(RedisObjects(objects));
  if (options_.executor == nullptr) {
    // One for the index, and one that waits until it is due.
    threads_ = std::make_unique<IoThreads>(options.writers + options.readers + 2);
    options_.executor = threads_.get();
  }
}

void RedisStore::Begin() {
  const std::lock_guard lock(mutex_);
  LookAtIndexWhenDue();
  if (threads_ == nullptr) return;
  threads_->Run([this] {
    std::unique_lock waiting(mutex_);
    while (!closing_) {
      LookAtIndexWhenDue();
      closed_.wait_for(waiting, std::chrono::microseconds(options_.poll_interval_us));
    }
  });
}

RedisStore::~RedisStore() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  closed_.notify_all();
  changed_.wait(lock, [this] { return jobs_ == 0; });
  lock.unlock();
  threads_.reset();
}

Status RedisStore::WaitForIndex() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::microseconds(kIndexTimeoutUs),
                    [this] { return has_index_ || !index_problem_.empty(); });
  if (has_index_) return {};
  if (index_problem_.empty()) return Fail(ErrorCode::kIo, "{}: its index does not end", name_);
  return Fail(ErrorCode::kIo, "{}", index_problem_);
}

Result<RequestId> RedisStore::Put(const ObjectKey& key, const ObjectMetadata& metadata,
                                  std::span<const std::span<const std::byte>> pieces) {
  const uint64_t bytes = TotalBytes(pieces);
  const auto most = static_cast<uint64_t>(options_.object_max.value());
  if (bytes == 0 || bytes > most) {
    return Fail(ErrorCode::kInvalidArgument, "{}: an object of {} bytes; it must have 1 to {}",
                name_, bytes, most);
  }
  const std::lock_guard lock(mutex_);
  // One object may be larger than the queue.
  if (queued_puts_ > 0 &&
      queued_bytes_ + bytes > static_cast<uint64_t>(options_.queue_max.value())) {
    return Fail(ErrorCode::kExhausted, "{}: {} bytes wait to be written already", name_,
                queued_bytes_);
  }
  CAIRN_TRY(CheckRequests(queued_changes_));
  queued_bytes_ += bytes;
  ++queued_puts_;
  return Enqueue(
      {.key = key, .metadata = metadata, .pieces = {pieces.begin(), pieces.end()}, .bytes = bytes});
}

Result<RequestId> RedisStore::Erase(const ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  CAIRN_TRY(CheckRequests(queued_changes_));
  mirror_.Hide(key);
  return Enqueue({.key = key});
}

Result<RequestId> RedisStore::Get(const ObjectKey& key,
                                  std::span<const std::span<std::byte>> pieces) {
  const std::lock_guard lock(mutex_);
  const auto found = mirror_.Find(key);
  if (!found || static_cast<uint64_t>(found->info.size.value()) != TotalBytes(pieces)) {
    ++stats_.gets_absent;
    return Complete(NextRequest(), ObjectOutcome::kAbsent, "");
  }
  CAIRN_TRY(CheckRequests(gets_.size()));
  const RequestId request = NextRequest();
  gets_.push_back({request, key, found->as_of, {pieces.begin(), pieces.end()}});
  StartReader();
  return request;
}

std::vector<ObjectCompletion> RedisStore::Poll() {
  const std::lock_guard lock(mutex_);
  LookAtIndexWhenDue();
  return std::exchange(completions_, {});
}

std::vector<ObjectCompletion> RedisStore::Wait(int64_t timeout_us) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::microseconds(timeout_us),
                    [this] { return !completions_.empty(); });
  return std::exchange(completions_, {});
}

void RedisStore::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unfinished_ == 0; });
}

std::optional<ObjectInfo> RedisStore::Find(const ObjectKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = mirror_.Find(key);
  return found ? std::optional(found->info) : std::nullopt;
}

std::vector<ObjectInfo> RedisStore::List() const {
  const std::lock_guard lock(mutex_);
  return mirror_.List();
}

std::vector<ObjectInfo> RedisStore::Arrivals() {
  const std::lock_guard lock(mutex_);
  LookAtIndexWhenDue();
  return mirror_.TakeArrivals();
}

ObjectStoreStats RedisStore::Stats() const {
  const std::lock_guard lock(mutex_);
  ObjectStoreStats stats = stats_;
  const auto objects = static_cast<int64_t>(mirror_.objects());
  const auto bytes = static_cast<int64_t>(mirror_.object_bytes());
  stats.objects = objects;
  stats.object_bytes = Bytes(bytes);
  stats.stored_bytes =
      Bytes(bytes + objects * static_cast<int64_t>(kObjectHeaderBytes + kIndexEntryBytes));
  stats.queued_bytes = Bytes(static_cast<int64_t>(queued_bytes_));
  stats.queued_requests = static_cast<int64_t>(queued_changes_ + gets_.size());
  stats.write_bytes_per_second = write_rate_.bytes_per_second();
  stats.read_bytes_per_second = read_rate_.bytes_per_second();
  return stats;
}

void RedisStore::Audit() const {
  const std::lock_guard lock(mutex_);
  mirror_.Audit();
  size_t changes = 0;
  size_t puts = 0;
  uint64_t bytes = 0;
  for (const Writer& writer : writers_) {
    changes += writer.queue.size();
    for (const Change& change : writer.queue) {
      bytes += change.bytes;
      puts += change.bytes > 0;
    }
  }
  CAIRN_CHECK(changes == queued_changes_);
  CAIRN_CHECK(bytes <= queued_bytes_ && puts <= queued_puts_);  // without what is being written
}

namespace {

Status CheckOptions(const RedisStoreOptions& options) {
  CAIRN_CHECK(options.writers >= 1 && options.readers >= 1 && options.objects_max >= 1);
  CAIRN_CHECK(options.executor == nullptr ||
              options.start == RedisStoreOptions::Start::kInBackground);
  if (options.object_max.value() < 1 || options.object_max > kRedisObjectBytesMax) {
    return Fail(ErrorCode::kInvalidArgument, "objects of {} bytes; a Redis takes 1 to {}",
                options.object_max.value(), kRedisObjectBytesMax.value());
  }
  if (options.prefix.empty() || options.prefix.size() > 256) {
    return Fail(ErrorCode::kInvalidArgument,
                "a prefix of {} characters for the keys of a Redis; it must have 1 to 256",
                options.prefix.size());
  }
  const int64_t times[] = {options.connect_timeout_us, options.command_timeout_us,
                           options.poll_interval_us, options.backoff_us, options.backoff_max_us};
  if (std::ranges::min(times) < 1 || options.seconds_to_live < 0) {
    return Fail(ErrorCode::kInvalidArgument, "times of a Redis store must be positive");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> OpenRedisStore(const RedisStoreOptions& options) {
  CAIRN_TRY(CheckOptions(options));
  CAIRN_ASSIGN(const RedisUrl url, ParseRedisUrl(options.url));
  auto store = std::make_unique<RedisStore>(
      options, RedisObjects::Options{.url = url,
                                     .prefix = options.prefix,
                                     .connect_timeout_us = options.connect_timeout_us,
                                     .command_timeout_us = options.command_timeout_us,
                                     .seconds_to_live = options.seconds_to_live,
                                     .index_entries_max = static_cast<size_t>(options.objects_max),
                                     .source = RandomSeed()});
  store->Begin();
  if (options.start == RedisStoreOptions::Start::kConnected) CAIRN_TRY(store->WaitForIndex());
  return store;
}

}  // namespace cairn
