// ThreadPool: a fixed number of threads that share loops, made for machines that others use too.
//
// The caller is one of the threads. ParallelFor hands out indices one at a time from an atomic
// counter, so a slow thread takes fewer of them. When a worker is found to have lost its core (the
// caller had to wait long for its last index), it is parked for a while and the loop runs on the
// rest; it is tried again after growing pauses. Results never depend on which thread ran an index.
// Thread safety: ParallelFor from one thread at a time, and not from inside a body (CHECKed).
#ifndef CAIRN_BASE_THREAD_POOL_H_
#define CAIRN_BASE_THREAD_POOL_H_

#include <cstdint>
#include <memory>

namespace cairn {

struct WorkLog;

// A non-owning reference to a callable void(int64_t index, int thread).
class LoopBody {
 public:
  template <class F>
  LoopBody(F& f)  // NOLINT(google-explicit-constructor): call sites pass a lambda
      : object_(&f), call_([](void* object, int64_t index, int thread) {
          (*static_cast<F*>(object))(index, thread);
        }) {}
  void operator()(int64_t index, int thread) const { call_(object_, index, thread); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int);
};

class ThreadPool {
 public:
  // threads >= 1, the caller's included. Where the system allows fewer, threads() says how many.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Those that a loop would be shared by now: parked ones aside, and tried again when it is time.
  // How a loop is best cut; at least 1. As ParallelFor, from one thread at a time.
  int ActiveThreads();

  // Calls body(i, thread) once for each i in [0, count), thread in [0, threads()); returns when all
  // are done. Allocates nothing. The body must not throw.
  void ParallelFor(int64_t count, LoopBody body);

  // Where kernels note what they do (work_log.h); null: nowhere. The log must outlive its use.
  void set_work_log(WorkLog* log) { work_log_ = log; }
  WorkLog* work_log() const { return work_log_; }

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  WorkLog* work_log_ = nullptr;
};

}  // namespace cairn

#endif  // CAIRN_BASE_THREAD_POOL_H_
