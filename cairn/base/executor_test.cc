#include "cairn/base/executor.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <random>
#include <vector>

#include "cairn/base/executor_for_tests.h"

namespace cairn {
namespace {

TEST_CASE("every job runs once before the threads are gone, also those that jobs add") {
  std::atomic<int> ran = 0;
  {
    IoThreads threads(3);
    for (int i = 0; i < 100; ++i) {
      threads.Run([&] {
        ++ran;
        threads.Run([&] { ++ran; });
      });
    }
  }
  CHECK(ran == 200);
}

TEST_CASE("one thread keeps the order, and jobs may own what cannot be copied") {
  std::vector<int> order;
  {
    IoThreads thread(1);
    for (int i = 0; i < 50; ++i) {
      thread.Run([&order, owned = std::make_unique<int>(i)] { order.push_back(*owned); });
    }
  }
  REQUIRE(order.size() == 50);
  for (int i = 0; i < 50; ++i) CHECK(order[static_cast<size_t>(i)] == i);
}

TEST_CASE("jobs wait side by side") {
  std::promise<void> first;
  std::promise<void> second;
  IoThreads threads(2);  // its end waits for jobs that use the promises
  threads.Run([&] {
    first.set_value();
    second.get_future().wait();
  });
  threads.Run([&] {
    first.get_future().wait();
    second.set_value();
  });
}

TEST_CASE("a manual executor runs nothing by itself, and all jobs in some order when asked") {
  std::mt19937_64 random(1);
  ManualExecutor executor;
  int sum = 0;
  for (int i = 1; i <= 4; ++i) executor.Run([&sum, i] { sum += i; });
  CHECK(sum == 0);
  CHECK(executor.waiting() == 4);
  executor.RunAll(random);
  CHECK(sum == 10);
  CHECK_FALSE(executor.RunOne(random));
}

}  // namespace
}  // namespace cairn
