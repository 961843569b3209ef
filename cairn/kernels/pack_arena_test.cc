#include "cairn/kernels/pack_arena.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "cairn/base/thread_pool.h"
#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/packed_matrix.h"

namespace cairn {

TEST_CASE("pieces of an arena are aligned neighbours, and large ones get a chunk of their own") {
  PackArena arena;
  std::byte* first = arena.Allocate(100);
  std::byte* second = arena.Allocate(64);
  CHECK_EQ(reinterpret_cast<uintptr_t>(first) % AlignedBuffer::kAlignment, 0);
  CHECK_EQ(second - first, 128);
  std::byte* large = arena.Allocate(int64_t{40} << 20);
  large[(int64_t{40} << 20) - 1] = std::byte{1};
  std::byte* third = arena.Allocate(1);
  CHECK_EQ(reinterpret_cast<uintptr_t>(third) % AlignedBuffer::kAlignment, 0);
  std::memset(first, 1, 100);
  std::memset(second, 2, 64);
  CHECK_EQ(first[99], std::byte{1});
  CHECK_THROWS(arena.Allocate(0));
}

TEST_CASE("a matrix in an arena is the same as one of its own, also after a move") {
  ThreadPool pool(1);
  PackArena arena;
  const auto source = RandomWeights(DType::kQ6_K, 20, 512, 1);
  const auto own = PackedMatrix::Pack(DType::kQ6_K, source, 20, 512, pool);
  auto packed = PackedMatrix::Pack(DType::kQ6_K, source, 20, 512, pool, &arena);
  const PackedMatrix moved = std::move(packed);
  CHECK_EQ(moved.bytes(), own.bytes());
  CHECK_EQ(std::memcmp(moved.Stripe(0), own.Stripe(0), static_cast<size_t>(own.bytes())), 0);
}

}  // namespace cairn
