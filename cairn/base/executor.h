// Executor: runs jobs some time later, on threads of its own or, in tests, whenever a test says so.
//
// For work that waits (files, sockets); loops that compute belong to ThreadPool.
#ifndef CAIRN_BASE_EXECUTOR_H_
#define CAIRN_BASE_EXECUTOR_H_

#include <functional>
#include <memory>

namespace cairn {

class Executor {
 public:
  using Job = std::move_only_function<void()>;

  virtual ~Executor() = default;
  // Returns at once. Jobs must not throw; they may run at the same time and in any order.
  virtual void Run(Job job) = 0;
};

// Threads that take jobs in the order they came. Thread-safe. The destructor first lets all jobs
// run, those that come meanwhile included.
class IoThreads final : public Executor {
 public:
  // At least one thread is started, or the process ends: CAIRN_CHECK.
  explicit IoThreads(int threads);
  ~IoThreads() override;
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  void Run(Job job) override;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_EXECUTOR_H_
