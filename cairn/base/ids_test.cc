#include "cairn/base/ids.h"

#include <doctest/doctest.h>

#include <concepts>
#include <type_traits>
#include <unordered_set>

namespace cairn {

// What must not compile: adding ids, mixing kinds, slipping in a bare integer.
template <class A, class B>
concept Adds = requires(A a, B b) { a + b; };
static_assert(Adds<TokenCount, TokenCount>);
static_assert(!Adds<TokenCount, Bytes>);
static_assert(!Adds<TokenId, TokenId>);
static_assert(!Adds<TokenCount, int>);
static_assert(!std::is_convertible_v<int, TokenId>);
static_assert(!std::is_convertible_v<int64_t, Bytes>);
static_assert(!std::equality_comparable_with<LayerIndex, ClassIndex>);
static_assert(sizeof(TokenId) == sizeof(int32_t) && std::is_trivially_copyable_v<TokenId>);

TEST_CASE("counts add, subtract and scale like the integers inside") {
  TokenCount count(3);
  count += TokenCount(4);
  count -= TokenCount(1);
  CHECK_EQ(count, TokenCount(6));
  CHECK_EQ(count * 2 + TokenCount(1) - TokenCount(3), TokenCount(10));
  CHECK_LT(Bytes(-1), Bytes());
}

TEST_CASE("ids compare and hash by value") {
  CHECK_EQ(BlockId(7), BlockId(7));
  CHECK_LT(BlockId(6), BlockId(7));
  const std::unordered_set<TokenId> ids = {TokenId(1), TokenId(2), TokenId(1)};
  CHECK_EQ(ids.size(), 2);
}

}  // namespace cairn
