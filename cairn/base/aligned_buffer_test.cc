#include "cairn/base/aligned_buffer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace cairn {

TEST_CASE("a buffer starts on a cache line and holds what was asked") {
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{1000}}) {
    AlignedBuffer buffer(bytes);
    CHECK_EQ(buffer.size(), bytes);
    CHECK_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0);
    std::memset(buffer.data(), 1, bytes);
    CHECK_EQ(buffer.As<uint8_t>()[bytes - 1], 1);
  }
  CHECK_EQ(AlignedBuffer().data(), nullptr);
  CHECK_EQ(AlignedBuffer(0).size(), 0);
}

TEST_CASE("reserving less keeps the buffer, moving hands it over") {
  AlignedBuffer buffer(100);
  const std::byte* data = buffer.data();
  buffer.Reserve(50);
  CHECK_EQ(buffer.data(), data);
  const AlignedBuffer moved = std::move(buffer);
  CHECK_EQ(moved.data(), data);
  AlignedBuffer grown;
  grown.Reserve(200);
  CHECK_EQ(grown.size(), 200);
}

}  // namespace cairn
