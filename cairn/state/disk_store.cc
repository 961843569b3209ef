#include "cairn/state/disk_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/state/segment_log.h"
#include "cairn/state/store_jobs.h"

namespace cairn {
namespace {

// Puts that share a sync: enough that its time vanishes beside theirs.
constexpr uint64_t kGroupBytes = uint64_t{16} << 20;
constexpr size_t kGroupRequests = 256;

// Thread safety: mutex_ guards the queues and counters and is never held across IO; order_ keeps
// the order of the queue through Reserve, and only writing jobs take it.
class DiskStore final : public ObjectStore {
 public:
  DiskStore(const DiskStoreOptions& options, std::unique_ptr<SegmentLog> log)
      : options_(options), log_(std::move(log)) {
    if (options_.executor == nullptr) {
      threads_ = std::make_unique<IoThreads>(options_.writers + options_.readers);
      options_.executor = threads_.get();
    }
  }

  ~DiskStore() override {
    std::unique_lock lock(mutex_);
    closing_ = true;
    changed_.wait(lock, [this] { return writing_ == 0 && reading_ == 0; });
    lock.unlock();
    threads_.reset();
  }

  Result<RequestId> Put(const ObjectKey& key, const ObjectMetadata& metadata,
                        std::span<const std::span<const std::byte>> pieces) override {
    const uint64_t bytes = TotalBytes(pieces);
    if (bytes == 0 || bytes > log_->payload_bytes_max()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: an object of {} bytes; it must have 1 to {}",
                  options_.folder, bytes, log_->payload_bytes_max());
    }
    const bool is_there = log_->Find(key).has_value();
    const std::lock_guard lock(mutex_);
    if (is_there) {
      ++stats_.puts;
      return Complete(NextRequest(), ObjectOutcome::kDone, "");
    }
    // One object may be larger than the queue. What a writer has taken still waits.
    if (queued_bytes_ > 0 &&
        queued_bytes_ + bytes > static_cast<uint64_t>(options_.queue_max.value())) {
      return Fail(ErrorCode::kExhausted, "{}: {} bytes wait to be written already", options_.folder,
                  queued_bytes_);
    }
    CAIRN_TRY(CheckRequests(puts_.size()));
    return Enqueue({.record = {RecordKind::kObject, key, metadata, bytes},
                    .pieces = {pieces.begin(), pieces.end()}});
  }

  Result<RequestId> Erase(const ObjectKey& key) override {
    const std::lock_guard lock(mutex_);
    CAIRN_TRY(CheckRequests(puts_.size()));
    log_->Hide(key);
    return Enqueue({.record = {.kind = RecordKind::kTombstone, .key = key}});
  }

  Result<RequestId> Get(const ObjectKey& key,
                        std::span<const std::span<std::byte>> pieces) override {
    const bool is_there = log_->Find(key).has_value();
    const std::lock_guard lock(mutex_);
    if (!is_there) {
      ++stats_.gets_absent;
      return Complete(NextRequest(), ObjectOutcome::kAbsent, "");
    }
    CAIRN_TRY(CheckRequests(gets_.size()));
    const RequestId request = NextRequest();
    gets_.push_back({request, key, {pieces.begin(), pieces.end()}});
    if (reading_ < options_.readers) StartReader();
    return request;
  }

  std::vector<ObjectCompletion> Poll() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(completions_, {});
  }

  std::vector<ObjectCompletion> Wait(int64_t timeout_us) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::microseconds(timeout_us),
                      [this] { return !completions_.empty(); });
    return std::exchange(completions_, {});
  }

  void Flush() override {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [this] { return puts_.empty() && gets_.empty() && writing_ == 0 && reading_ == 0; });
  }

  std::optional<ObjectInfo> Find(const ObjectKey& key) const override { return log_->Find(key); }
  std::vector<ObjectInfo> List() const override { return log_->List(); }
  void Audit() const override { log_->Audit(); }

  ObjectStoreStats Stats() const override {
    ObjectStoreStats stats = log_->Stats();
    const std::lock_guard lock(mutex_);
    stats.queued_bytes = Bytes(static_cast<int64_t>(queued_bytes_));
    stats.queued_requests = static_cast<int64_t>(puts_.size() + gets_.size());
    stats.puts = stats_.puts;
    stats.puts_failed = stats_.puts_failed;
    stats.gets_found = stats_.gets_found;
    stats.gets_absent = stats_.gets_absent;
    stats.erased = stats_.erased;
    stats.read_bytes = stats_.read_bytes;
    stats.write_bytes_per_second = write_rate_.bytes_per_second();
    stats.read_bytes_per_second = read_rate_.bytes_per_second();
    return stats;
  }

 private:
  struct PendingPut {  // or an erasure
    SegmentLog::NewRecord record;
    std::vector<std::span<const std::byte>> pieces{};
    RequestId request{};
  };
  struct PendingGet {
    RequestId request;
    ObjectKey key;
    std::vector<std::span<std::byte>> pieces;
  };
  // All of these under mutex_.
  RequestId NextRequest() { return RequestId(++requests_); }
  RequestId Complete(RequestId request, ObjectOutcome outcome, std::string problem) {
    completions_.push_back({request, outcome, std::move(problem)});
    changed_.notify_all();
    return request;
  }
  Status CheckRequests(size_t waiting) const {
    if (waiting < static_cast<size_t>(options_.requests_max)) return {};
    return Fail(ErrorCode::kExhausted, "{}: {} requests wait already", options_.folder, waiting);
  }
  RequestId Enqueue(PendingPut put) {
    put.request = NextRequest();
    queued_bytes_ += put.record.payload_bytes;
    const RequestId request = put.request;
    puts_.push_back(std::move(put));
    if (writing_ < options_.writers) StartWriter();
    return request;
  }
  void StartWriter() {
    options_.executor->Run([this, ticket = JobTicket(mutex_, changed_, writing_)]() mutable {
      WriteGroup();
      // In one step, or a Put between them would find all writers busy and none would see it.
      const std::lock_guard lock(mutex_);
      ticket.Return();
      if (!closing_ && !puts_.empty() && writing_ < options_.writers) StartWriter();
    });
  }
  void StartReader() {
    options_.executor->Run([this, ticket = JobTicket(mutex_, changed_, reading_)]() mutable {
      ReadOne();
      const std::lock_guard lock(mutex_);
      ticket.Return();
      if (!closing_ && !gets_.empty() && reading_ < options_.readers) StartReader();
    });
  }

  // The next requests of the queue that can be written together, with the space for them.
  Result<SegmentLog::Reservation> TakeGroup(std::vector<PendingPut>& group);
  void WriteGroup();
  void ReadOne();

  DiskStoreOptions options_;
  std::unique_ptr<SegmentLog> log_;
  std::mutex order_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingPut> puts_;
  std::deque<PendingGet> gets_;
  std::vector<ObjectCompletion> completions_;
  uint64_t requests_ = 0;
  uint64_t queued_bytes_ = 0;
  bool closing_ = false;
  int writing_ = 0;  // jobs, those that have not begun included
  int reading_ = 0;
  ObjectStoreStats stats_;
  Rate write_rate_;
  Rate read_rate_;
  std::unique_ptr<IoThreads> threads_;  // last: its jobs use all of the above
};

Result<SegmentLog::Reservation> DiskStore::TakeGroup(std::vector<PendingPut>& group) {
  const std::lock_guard order(order_);
  std::vector<SegmentLog::NewRecord> records;
  {
    const std::lock_guard lock(mutex_);
    uint64_t bytes = 0;
    while (!closing_ && !puts_.empty() && records.size() < kGroupRequests) {
      bytes += puts_.front().record.payload_bytes;
      if (!records.empty() && bytes > kGroupBytes) break;
      records.push_back(puts_.front().record);
      group.push_back(std::move(puts_.front()));
      puts_.pop_front();
    }
  }
  if (records.empty()) return SegmentLog::Reservation();
  auto reservation = log_->Reserve(records);
  // Where there is no room even for the first, only that one fails: others may be smaller.
  const size_t taken = reservation ? reservation->records.size() : 1;
  const std::lock_guard lock(mutex_);
  for (; group.size() > taken; group.pop_back()) puts_.push_front(std::move(group.back()));
  return reservation;
}

void DiskStore::WriteGroup() {
  const int64_t begin_us = options_.files->NowUs();
  std::vector<PendingPut> group;
  auto reservation = TakeGroup(group);
  if (group.empty()) return;
  uint64_t bytes = 0;
  std::vector<SegmentLog::Pieces> payloads;
  for (const PendingPut& put : group) {
    bytes += put.record.payload_bytes;
    payloads.emplace_back(put.pieces);
  }
  Status status;
  if (reservation) {
    status = log_->Write(*std::move(reservation), payloads);
  } else {
    status = std::unexpected(reservation.error());
    for (const PendingPut& put : group) {
      if (put.record.kind == RecordKind::kTombstone) log_->Unhide(put.record.key);
    }
  }
  const int64_t elapsed_us = options_.files->NowUs() - begin_us;

  const std::lock_guard lock(mutex_);
  queued_bytes_ -= bytes;
  if (status && bytes > 0) write_rate_.Add(bytes, elapsed_us);
  for (const PendingPut& put : group) {
    if (put.record.kind == RecordKind::kObject) ++(status ? stats_.puts : stats_.puts_failed);
    if (put.record.kind == RecordKind::kTombstone && status) ++stats_.erased;
    Complete(put.request, status ? ObjectOutcome::kDone : ObjectOutcome::kFailed,
             status ? "" : status.error().message);
  }
}

void DiskStore::ReadOne() {
  const int64_t begin_us = options_.files->NowUs();
  PendingGet get;
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || gets_.empty()) return;
    get = std::move(gets_.front());
    gets_.pop_front();
  }
  SegmentLog::Reading reading = log_->Read(get.key, get.pieces);
  const int64_t elapsed_us = options_.files->NowUs() - begin_us;

  const std::lock_guard lock(mutex_);
  if (reading.outcome == ObjectOutcome::kDone) {
    const uint64_t bytes = TotalBytes(get.pieces);
    ++stats_.gets_found;
    stats_.read_bytes += Bytes(static_cast<int64_t>(bytes));
    read_rate_.Add(bytes, elapsed_us);
  } else if (reading.outcome == ObjectOutcome::kAbsent) {
    ++stats_.gets_absent;
  }
  Complete(get.request, reading.outcome, std::move(reading.problem));
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> OpenDiskStore(const DiskStoreOptions& options) {
  CAIRN_CHECK(options.writers >= 1 && options.readers >= 1);
  if (options.bound < kDiskBytesMin) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: a bound of {} bytes; the disk tier needs at least {}", options.folder,
                options.bound.value(), kDiskBytesMin.value());
  }
  DiskStoreOptions used = options;
  if (used.files == nullptr) used.files = &FileSystem::Real();
  const auto bound = static_cast<uint64_t>(used.bound.value());
  const auto segment = static_cast<uint64_t>(std::max<int64_t>(used.segment.value(), 0));
  const uint64_t segment_bytes = std::clamp(segment, 4 * kBlockBytes, bound / 8);
  CAIRN_ASSIGN(auto log,
               SegmentLog::Open({.folder = used.folder,
                                 .bound_bytes = bound,
                                 .segment_bytes = segment_bytes / kBlockBytes * kBlockBytes,
                                 .files = used.files}));
  return std::make_unique<DiskStore>(used, std::move(log));
}

}  // namespace cairn
