#include "cairn/base/thread_pool.h"

namespace cairn {

struct ThreadPool::Shared {
  int threads;
};

ThreadPool::ThreadPool(int threads) : shared_(new Shared{threads}) {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::threads() const { return shared_->threads; }

void ThreadPool::ParallelFor(int64_t count, LoopBody body) {
  for (int64_t i = 0; i < count; ++i) body(i, 0);
}

}  // namespace cairn
