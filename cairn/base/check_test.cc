#include "cairn/base/check.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace cairn {
namespace {

int g_calls = 0;

[[noreturn]] void CountAndThrow(const std::string& message) {
  ++g_calls;
  throw std::runtime_error(message);
}

}  // namespace

TEST_CASE("a check that holds costs nothing and evaluates its condition once") {
  int evaluations = 0;
  CAIRN_CHECK(++evaluations == 1);
  CHECK_EQ(evaluations, 1);
}

TEST_CASE("a check that fails tells the handler what broke, and where") {
  const CheckFailureHandler previous = SetCheckFailureHandler(&CountAndThrow);
  CHECK_THROWS_WITH_AS(CAIRN_CHECK(1 + 1 == 3), doctest::Contains("check_test.cc:"),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(CAIRN_CHECK(1 + 1 == 3), doctest::Contains("broken invariant: 1 + 1 == 3"),
                       std::runtime_error);
  CHECK((SetCheckFailureHandler(previous) == &CountAndThrow));
  CHECK_EQ(g_calls, 2);
}

}  // namespace cairn
