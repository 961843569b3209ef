#include "cairn/base/claim_ranges.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cairn/base/thread_pool.h"

namespace cairn {

TEST_CASE("a thread takes its own range in order, then the later half of the longest, in order") {
  ClaimRanges claims;
  claims.Reset(10, 3);  // [0, 3) [3, 6) [6, 10)
  CHECK(claims.Claim(1) == 3);
  CHECK(claims.Claim(1) == 4);
  CHECK(claims.Claim(1) == 5);
  CHECK(claims.Claim(1) == 8);
  CHECK(claims.Claim(0) == 0);
  CHECK(claims.Claim(2) == 6);
  CHECK(claims.Claim(1) == 9);
  CHECK(claims.Claim(1) == 2);
  CHECK(claims.Claim(2) == 7);
  CHECK(claims.Claim(2) == 1);
}

TEST_CASE("threads that own nothing take from those that do") {
  ClaimRanges claims;
  claims.Reset(6, 3, 1);
  CHECK(claims.Claim(0) == 0);
  CHECK(claims.Claim(2) == 3);
  CHECK(claims.Claim(2) == 4);
  CHECK(claims.Claim(1) == 2);
  CHECK(claims.Claim(0) == 1);
  CHECK(claims.Claim(0) == 5);
}

TEST_CASE("every index is claimed once, whatever the number of threads and of indices") {
  ClaimRanges claims;
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (const int64_t count : {1, 2, 5, 64, 1000}) {
      claims.Reset(count, pool.threads());
      std::vector<std::atomic<int>> times(static_cast<size_t>(count));
      auto body = [&](int64_t, int thread) { ++times[static_cast<size_t>(claims.Claim(thread))]; };
      pool.ParallelFor(count, body);
      bool once = true;
      for (const std::atomic<int>& n : times) once = once && n == 1;
      CHECK(once);
    }
  }
}

}  // namespace cairn
