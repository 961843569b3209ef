#include "cairn/base/heap.h"

#include <doctest/doctest.h>

#include <barrier>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>

#include "cairn/base/check.h"

namespace cairn {
namespace {

void UseForAMoment(size_t bytes) {
  void* volatile memory = std::malloc(bytes);  // volatile: the compiler would leave it out
  CAIRN_CHECK(memory != nullptr);
  std::memset(memory, 1, bytes);
  std::free(memory);
}

TEST_CASE("what threads needed for a moment isn't kept for each of them") {
  constexpr int kThreads = 8;
  constexpr size_t kBytes = size_t{3} << 20;
  ReturnFreedMemory();
  UseForAMoment(size_t{16} << 20);  // without it glibc would keep all smaller ones from now on
  const size_t before = mallinfo2().fordblks;
  std::barrier used(kThreads + 1);
  std::barrier looked(kThreads + 1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int times = 0; times < 4; ++times) UseForAMoment(kBytes);
      used.arrive_and_wait();
      looked.arrive_and_wait();  // a thread that has ended leaves its memory to the next one
    });
  }
  used.arrive_and_wait();
  const size_t after = mallinfo2().fordblks;
  looked.arrive_and_wait();
  CHECK(after < before + 2 * kBytes);
}

}  // namespace
}  // namespace cairn

#endif  // __GLIBC__
