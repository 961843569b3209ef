#include "cairn/base/address_range.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

namespace cairn {

TEST_CASE("a range far larger than memory reads as zeros and can be written") {
  constexpr Bytes kTebibyte{int64_t{1} << 40};
  auto range = AddressRange::Reserve(kTebibyte);
  REQUIRE(range.has_value());
  std::byte* last = range->data() + kTebibyte.value() - 1;
  CHECK_EQ(*last, std::byte{0});
  *last = std::byte{7};
  CHECK_EQ(*last, std::byte{7});
}

TEST_CASE("pages given back read as zeros, their neighbours keep their bytes") {
  const int64_t page = AddressRange::PageBytes();
  auto range = AddressRange::Reserve(Bytes(4 * page));
  REQUIRE(range.has_value());
  std::fill_n(range->data(), 4 * page, std::byte{9});
  range->GiveBackPages(1, 3);
  const auto all_are = [&](int64_t first, int64_t end, std::byte value) {
    return std::all_of(range->data() + first * page, range->data() + end * page,
                       [&](std::byte b) { return b == value; });
  };
  CHECK(all_are(0, 1, std::byte{9}));
  CHECK(all_are(1, 3, std::byte{0}));
  CHECK(all_are(3, 4, std::byte{9}));
  CHECK_THROWS(range->GiveBackPages(3, 5));
}

TEST_CASE("a range that the system can't give is an error") {
  const auto range = AddressRange::Reserve(Bytes(int64_t{1} << 60));
  REQUIRE_FALSE(range.has_value());
  CHECK_EQ(range.error().code, ErrorCode::kExhausted);
}

TEST_CASE("an empty range has no address, and a moved one keeps its own") {
  auto empty = AddressRange::Reserve(Bytes(0));
  REQUIRE(empty.has_value());
  CHECK_EQ(empty->data(), nullptr);
  auto range = AddressRange::Reserve(Bytes(100));
  std::byte* data = range->data();
  const AddressRange moved = *std::move(range);
  CHECK_EQ(moved.data(), data);
}

}  // namespace cairn
