// WorkLog: what the loops of a ThreadPool were for, how long they took and how much work they were.
//
// Kept only while somebody asks: a kernel opens a WorkScope on its pool, which costs one comparison
// where the pool has no log. Times are of the calling thread's clock and include its waiting for
// the others. Thread safety: that of ParallelFor, one thread at a time.
#ifndef CAIRN_BASE_WORK_LOG_H_
#define CAIRN_BASE_WORK_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cairn/base/env.h"
#include "cairn/base/thread_pool.h"

namespace cairn {

enum class WorkKind : uint8_t { kMatrixProduct, kAttention };
inline constexpr size_t kWorkKinds = 2;

// What multiplies: each has a peak of its own.
enum class Arithmetic : uint8_t { kInt8, kBf16, kF32 };
inline constexpr size_t kArithmetics = 3;

// A multiplication and an addition are two operations.
struct OperationCounts {
  std::array<int64_t, kArithmetics> counts = {};

  int64_t& operator[](Arithmetic arithmetic) { return counts[static_cast<size_t>(arithmetic)]; }
  int64_t operator[](Arithmetic arithmetic) const {
    return counts[static_cast<size_t>(arithmetic)];
  }
};

struct WorkDone {
  int64_t calls = 0;
  int64_t time_us = 0;
  int64_t weight_bytes = 0;    // of packed matrices, once for each call that used them
  OperationCounts operations;  // that the result needs
  OperationCounts executed;    // the same in steps of the arithmetic: 16 bits are two of 8
};

struct WorkLog {
  std::array<WorkDone, kWorkKinds> kinds;

  WorkDone& operator[](WorkKind kind) { return kinds[static_cast<size_t>(kind)]; }
  const WorkDone& operator[](WorkKind kind) const { return kinds[static_cast<size_t>(kind)]; }
};

// The work of one call, from construction to destruction.
class WorkScope {
 public:
  WorkScope(const ThreadPool& pool, WorkKind kind)
      : done_(pool.work_log() == nullptr ? nullptr : &(*pool.work_log())[kind]),
        start_us_(done_ == nullptr ? 0 : NowMicroseconds()) {}
  ~WorkScope() {
    if (done_ == nullptr) return;
    ++done_->calls;
    done_->time_us += NowMicroseconds() - start_us_;
  }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  // Where to add amounts; null while nobody asks.
  WorkDone* done() const { return done_; }

 private:
  WorkDone* const done_;
  const int64_t start_us_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_WORK_LOG_H_
