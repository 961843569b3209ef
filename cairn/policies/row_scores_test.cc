#include "cairn/policies/row_scores.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cairn {

TEST_CASE("scores that aren't numbers are the worst, and ties go to the older row") {
  const std::vector<double> scores = {1, std::nan(""), 3, 1, std::nan(""), 1};
  CHECK(KeepBest(scores, {.budget = 3}) == std::vector<int32_t>{0, 2, 3});
  CHECK(KeepBest(scores, {.budget = 3, .first = 2, .last = 2}) == std::vector<int32_t>{0, 1, 5});
}

TEST_CASE("budgets that are short of both ends keep the beginning") {
  const std::vector<double> scores(6);
  CHECK(KeepBest(scores, {.budget = 3, .first = 2, .last = 4}) == std::vector<int32_t>{0, 1, 5});
  CHECK(KeepBest(scores, {.budget = 1, .first = 2, .last = 4}) == std::vector<int32_t>{0});
  CHECK(KeepBest(scores, {.budget = 9, .last = 9}) == std::vector<int32_t>{0, 1, 2, 3, 4, 5});
}

}  // namespace cairn
