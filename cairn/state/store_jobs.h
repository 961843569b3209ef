// What stores that work in the background have in common: counting jobs, rates and bytes.
#ifndef CAIRN_STATE_STORE_JOBS_H_
#define CAIRN_STATE_STORE_JOBS_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace cairn {

uint64_t TotalBytes(const auto& pieces) {
  uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  return bytes;
}

// The rate of the latest requests, each of which counts for an eighth. Not thread-safe.
class Rate {
 public:
  void Add(uint64_t bytes, int64_t elapsed_us) {
    const double now =
        static_cast<double>(bytes) * 1e6 / static_cast<double>(std::max<int64_t>(elapsed_us, 1));
    value_ = value_ == 0 ? now : value_ + (now - value_) / 8;
  }
  double bytes_per_second() const { return value_; }

 private:
  double value_ = 0;
};

// Counts a job of an executor as long as it exists, whether it runs or is dropped. The count is
// guarded by the mutex; each change for the better is told by the condition.
class JobTicket {
 public:
  // Under the mutex.
  JobTicket(std::mutex& mutex, std::condition_variable& changed, int& count)
      : mutex_(&mutex), changed_(&changed), count_(&count) {
    ++count;
  }
  ~JobTicket() {
    if (count_ == nullptr) return;
    const std::lock_guard lock(*mutex_);
    Return();
  }
  // Under the mutex.
  void Return() {
    --*std::exchange(count_, nullptr);
    changed_->notify_all();
  }
  JobTicket(JobTicket&& other) noexcept
      : mutex_(other.mutex_),
        changed_(other.changed_),
        count_(std::exchange(other.count_, nullptr)) {}
  JobTicket& operator=(JobTicket&&) = delete;

 private:
  std::mutex* mutex_;
  std::condition_variable* changed_;
  int* count_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_STORE_JOBS_H_
