// ManualExecutor: jobs run when the test says so, one by one, in an order that a seed decides.
#ifndef CAIRN_BASE_EXECUTOR_FOR_TESTS_H_
#define CAIRN_BASE_EXECUTOR_FOR_TESTS_H_

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "cairn/base/executor.h"

namespace cairn {

// Not thread-safe. Jobs left at the end are dropped, as in a crash.
class ManualExecutor final : public Executor {
 public:
  void Run(Job job) override { jobs_.push_back(std::move(job)); }

  size_t waiting() const { return jobs_.size(); }
  // Runs one of the jobs; false where there is none.
  bool RunOne(std::mt19937_64& random) {
    if (jobs_.empty()) return false;
    std::swap(jobs_[random() % jobs_.size()], jobs_.back());
    Job job = std::move(jobs_.back());
    jobs_.pop_back();
    job();
    return true;
  }
  void RunAll(std::mt19937_64& random) {
    while (RunOne(random)) {
    }
  }
  void DropAll() { jobs_.clear(); }

 private:
  std::vector<Job> jobs_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_EXECUTOR_FOR_TESTS_H_
