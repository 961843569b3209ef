#include "cairn/base/thread_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cairn {
namespace {

void SleepUs(int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// How often each index ran.
std::vector<int> RunCounts(ThreadPool& pool, int64_t count) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
  auto body = [&](int64_t index, int thread) {
    const bool right = index >= 0 && index < count && thread >= 0 && thread < pool.threads();
    runs[static_cast<size_t>(right ? index : 0)].fetch_add(right ? 1 : 1000);
  };
  pool.ParallelFor(count, body);
  return {runs.begin(), runs.end()};
}

}  // namespace

TEST_CASE("every index runs exactly once, whatever the count and the threads") {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CHECK_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 3, 7, 16, 100, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        REQUIRE_EQ(RunCounts(pool, count), std::vector<int>(static_cast<size_t>(count), 1));
      }
    }
  }
}

TEST_CASE(
    "loops in quick succession never mix: a late worker runs nothing of a loop that is over") {
  ThreadPool pool(4);
  int64_t sum = 0;
  for (int64_t loop = 0; loop < 50'000; ++loop) {
    // Lives on this frame only as long as the loop.
    std::atomic<int64_t> in_loop{0};
    auto body = [&, loop](int64_t index, int) { in_loop.fetch_add(loop + index); };
    pool.ParallelFor(3, body);
    sum += in_loop.load() - 3 * loop - 3;
  }
  CHECK_EQ(sum, 0);
}

TEST_CASE("what the bodies wrote is there when the loop returns, for workers asleep or awake") {
  ThreadPool pool(3);
  std::vector<int64_t> values(64);
  for (int64_t loop = 0; loop < 300; ++loop) {
    auto body = [&](int64_t index, int) { values[static_cast<size_t>(index)] = loop * index; };
    pool.ParallelFor(64, body);
    for (int64_t i = 0; i < 64; ++i) REQUIRE_EQ(values[static_cast<size_t>(i)], loop * i);
    if (loop % 3 == 0) SleepUs(300);
  }
}

TEST_CASE("two bodies can run at the same time") {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  auto body = [&](int64_t, int) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  };
  pool.ParallelFor(2, body);
  CHECK_EQ(arrived.load(), 2);
}

TEST_CASE("results do not depend on the number of threads") {
  std::vector<double> reference;
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<double> values(1000);
    auto body = [&](int64_t index, int) {
      values[static_cast<size_t>(index)] = std::sin(static_cast<double>(index));
    };
    pool.ParallelFor(1000, body);
    if (threads == 1) reference = values;
    CHECK(values == reference);
  }
}

TEST_CASE("the caller sleeps through a long last index and still returns") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    ThreadPool pool(2);
    std::atomic<int64_t> ran{0};
    auto body = [&](int64_t, int thread) {
      SleepUs(thread == 0 ? 50 : 3'000);
      ran.fetch_add(1);
    };
    pool.ParallelFor(64, body);
    REQUIRE_EQ(ran.load(), 64);
  }
}

TEST_CASE("a worker without a core gets no more indices until its pause is over") {
  using Clock = std::chrono::steady_clock;
  ThreadPool pool(2);
  std::atomic<bool> stalls{false};
  Clock::time_point stalled_until;
  // A sleeping thread uses no processor time, like one whose core was taken. The caller waits for
  // the worker to start, so that it then waits for it to end.
  auto stall = [&](int64_t, int thread) {
    while (thread == 0 && !stalls.load()) std::this_thread::yield();
    if (thread == 0) return;
    stalls.store(true);
    SleepUs(200'000);
    stalled_until = Clock::now();
  };
  pool.ParallelFor(2, stall);
  std::atomic<bool> worker_ran{false};
  auto body = [&](int64_t, int thread) {
    if (thread == 0) SleepUs(20);
    if (thread == 1) worker_ran.store(true);
  };
  while (!worker_ran.load()) pool.ParallelFor(16, body);
  CHECK_GE(Clock::now() - stalled_until, std::chrono::milliseconds(20));
}

TEST_CASE("a loop inside a loop is a broken invariant") {
  ThreadPool pool(1);
  bool caught = false;
  auto inner = [](int64_t, int) {};
  auto outer = [&](int64_t, int) {
    try {
      pool.ParallelFor(2, inner);
    } catch (const std::logic_error&) {
      caught = true;
    }
  };
  pool.ParallelFor(1, outer);
  CHECK(caught);
}

TEST_CASE("a pool can be destroyed unused, just used, and with its workers asleep") {
  for (int repeat = 0; repeat < 100; ++repeat) {
    ThreadPool pool(4);
    if (repeat % 3 > 0) CHECK_EQ(RunCounts(pool, 16), std::vector<int>(16, 1));
    if (repeat % 3 > 1) SleepUs(1'000);
  }
}

}  // namespace cairn
