#include "cairn/base/executor.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cairn/base/check.h"

namespace cairn {

struct IoThreads::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool closing = false;
  std::vector<std::thread> threads;

  void Work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return closing || !jobs.empty(); });
      if (jobs.empty()) return;
      {
        Job job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        job();
      }  // what the job holds is destroyed outside the lock
      lock.lock();
    }
  }
};

IoThreads::IoThreads(int threads) : shared_(std::make_unique<Shared>()) {
  CAIRN_CHECK(threads >= 1);
  try {
    for (int i = 0; i < threads; ++i) shared_->threads.emplace_back([this] { shared_->Work(); });
  } catch (const std::system_error&) {
    CAIRN_CHECK(!shared_->threads.empty());  // fewer are slower, no more
  }
}

IoThreads::~IoThreads() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closing = true;
  }
  shared_->changed.notify_all();
  for (std::thread& thread : shared_->threads) thread.join();
}

void IoThreads::Run(Job job) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->jobs.push_back(std::move(job));
  }
  shared_->changed.notify_one();
}

}  // namespace cairn
