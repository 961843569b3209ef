#include "cairn/base/checksum.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <vector>

namespace cairn {
namespace {

std::vector<std::byte> Pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8));
  return bytes;
}

// From XXH3's specification, which fixes these for all time: files keep the sums.
TEST_CASE("the sum of nothing is the published one") {
  CHECK(Checksum::Of({}, 0) == Sum128{0x6001C324468D497FULL, 0x99AA06D3014798D8ULL});
}

TEST_CASE("pieces of any size give the sum of the whole") {
  const std::vector<std::byte> bytes = Pattern(2000);
  for (size_t piece = 1; piece <= bytes.size(); piece += 97) {
    Checksum sum(7);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      sum.Update(std::span(bytes).subspan(at).first(std::min(piece, bytes.size() - at)));
    }
    CHECK(sum.Finish() == Checksum::Of(bytes, 7));
  }
}

TEST_CASE("any flipped bit, another length and another seed change the sum") {
  std::vector<std::byte> bytes = Pattern(500);
  const Sum128 sum = Checksum::Of(bytes, 1);
  CHECK(Checksum::Of(bytes, 2) != sum);
  CHECK(Checksum::Of(std::span(bytes).first(499), 1) != sum);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte flip = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= flip;
    CHECK(Checksum::Of(bytes, 1) != sum);
    bytes[bit / 8] ^= flip;
  }
}

}  // namespace
}  // namespace cairn
