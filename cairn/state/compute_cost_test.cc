#include "cairn/state/compute_cost.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("what is expected of tokens is what such tokens took") {
  ComputeCost cost;
  CHECK_FALSE(cost.known());
  CHECK(cost.ExpectedUs(TokenCount(0), TokenCount(100)) == 0);
  cost.Note(TokenCount(0), TokenCount(512), 5120);
  CHECK(cost.known());
  CHECK(cost.ExpectedUs(TokenCount(0), TokenCount(100)) == doctest::Approx(1000));
  CHECK(cost.ExpectedUs(TokenCount(256), TokenCount(512)) == doctest::Approx(2560));
}

TEST_CASE("tokens behind many others cost what was seen there, or what was seen nearest before") {
  ComputeCost cost;
  cost.Note(TokenCount(0), TokenCount(512), 5120);
  CHECK(cost.ExpectedUs(TokenCount(8192), TokenCount(8292)) == doctest::Approx(1000));
  cost.Note(TokenCount(8192), TokenCount(512), 51200);
  CHECK(cost.ExpectedUs(TokenCount(8192), TokenCount(8292)) == doctest::Approx(10'000));
  CHECK(cost.ExpectedUs(TokenCount(0), TokenCount(100)) == doctest::Approx(1000));
}

TEST_CASE("tokens that took no time that a clock could see cost next to nothing") {
  ComputeCost cost;
  cost.Note(TokenCount(0), TokenCount(10), 0);
  cost.Note(TokenCount(100), TokenCount(10), -5);  // a clock that went back
  CHECK(cost.known());
  CHECK(cost.ExpectedUs(TokenCount(0), TokenCount(1000)) == doctest::Approx(1));
}

TEST_CASE("the latest measurements count most") {
  ComputeCost cost;
  for (int i = 0; i < 50; ++i) cost.Note(TokenCount(0), TokenCount(10), 1000);
  for (int i = 0; i < 50; ++i) cost.Note(TokenCount(0), TokenCount(10), 2000);
  CHECK(cost.ExpectedUs(TokenCount(0), TokenCount(10)) == doctest::Approx(2000).epsilon(0.01));
}

}  // namespace cairn
