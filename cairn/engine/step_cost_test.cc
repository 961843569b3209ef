#include "cairn/engine/step_cost.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <limits>

namespace cairn {

TEST_CASE("the budget of prompt tokens comes to what the target leaves, whatever was seen first") {
  for (const int first : {0, 1, 2}) {
    CAPTURE(first);
    StepCost cost(20'000);
    const auto step = [&](int64_t answers, int64_t prompt) {
      cost.Observe(answers, static_cast<double>(prompt), answers * 900 + prompt * 50);
    };
    CHECK(cost.PromptTokens(4) == StepCost::kLeastPromptTokens);
    if (first == 0) step(4, 0);
    if (first == 1) step(0, 500);
    int64_t last = 0;
    for (int i = 0; i < 60; ++i) {
      const int64_t prompt = cost.PromptTokens(4);
      // By the second look at what a step costs no step is longer than it may be by much.
      if (i > 0 && first < 2) CHECK(4 * 900 + prompt * 50 <= 20'000 * 11 / 10);
      CHECK((last == 0 || prompt <= 2 * last));
      last = prompt;
      step(4, prompt);
      if (i % 3 == 0) step(4, 0);
    }
    CHECK(last >= (20'000 - 4 * 900) / 50 * 9 / 10);
    CHECK(last <= (20'000 - 4 * 900) / 50 * 11 / 10);
  }
}

TEST_CASE("the budget follows a machine that becomes slower") {
  StepCost cost(20'000);
  for (int i = 0; i < 30; ++i)
    cost.Observe(4, static_cast<double>(cost.PromptTokens(4)), 4 * 900 + cost.PromptTokens(4) * 50);
  for (int i = 0; i < 30; ++i) {
    const int64_t prompt = cost.PromptTokens(4);
    cost.Observe(4, static_cast<double>(prompt), 2 * (4 * 900 + prompt * 50));
  }
  const int64_t step_us = 2 * (4 * 900 + cost.PromptTokens(4) * 50);
  CHECK(step_us <= 22'000);
  CHECK(step_us >= 18'000);
}

TEST_CASE(
    "beside answers a step grows by no more than the gap allows, also where prompts cost more") {
  StepCost cost(1'000'000, 1.8);
  for (int i = 0; i < 10; ++i) cost.Observe(4, 0, 4 * 900);
  cost.Observe(0, 500, 500 * 50);
  int64_t prompt = 0;
  for (int i = 0; i < 60; ++i) {
    prompt = cost.PromptTokens(4);
    cost.Observe(4, static_cast<double>(prompt),
                 4 * 900 + prompt * 90);  // beside answers they cost more than alone
  }
  const int64_t step_us = 4 * 900 + prompt * 90;
  CHECK(step_us <= 4 * 900 * 19 / 10);
  CHECK(step_us >= 4 * 900 * 15 / 10);
  CHECK(StepCost(0, 1.8).PromptTokens(0) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("of a step's time prompt tokens have the part that they were learned to take") {
  StepCost cost(20'000);
  CHECK(cost.PromptTokenUs(0, 10, 500) == doctest::Approx(50));
  CHECK(cost.PromptTokenUs(1, 9, 500) == doctest::Approx(50));
  cost.Observe(4, 0, 3600);
  cost.Observe(0, 100, 5000);
  CHECK(cost.PromptTokenUs(4, 20, 4600) == doctest::Approx(50));
  CHECK(cost.PromptTokenUs(4, 20, 9200) == doctest::Approx(100));
  CHECK(cost.PromptTokenUs(4, 0, 3600) == 0);
}

TEST_CASE("a prompt never starves, and without answers or a target nothing holds it back") {
  StepCost cost(1'000);
  cost.Observe(8, 0, 50'000);
  cost.Observe(8, 16, 60'000);
  CHECK(cost.PromptTokens(8) == StepCost::kLeastPromptTokens);
  CHECK(cost.PromptTokens(0) == std::numeric_limits<int64_t>::max());
  CHECK(StepCost(0).PromptTokens(8) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("slices of a piece fill the room that a step has, whole layers at a time") {
  constexpr int64_t kLayers = 30;
  for (const double room : {0.01, 0.3, 1.0, 2.2, 4.0, 7.0, 20.0, 40.0, 63.9}) {
    CAPTURE(room);
    const int64_t tokens = StepCost::PieceTokens(room, kLayers, 5000);
    CHECK(tokens >= StepCost::kLeastPieceTokens);
    CHECK(tokens <= StepCost::kMostPieceTokens);
    const double layer = static_cast<double>(tokens) / kLayers;
    int64_t steps = 0;
    for (int64_t passed = 0; passed < kLayers; ++steps) {
      const int64_t layers = StepCost::SliceLayers(room, tokens, kLayers, kLayers - passed);
      CHECK(layers >= 1);
      CHECK((layers == 1 || static_cast<double>(layers) * layer <= room + layer / 4));
      passed += layers;
      CHECK(passed <= kLayers);
    }
    if (room >= 0.6) CHECK(static_cast<double>(tokens) / static_cast<double>(steps) >= room * 0.7);
  }
}

TEST_CASE("pieces are alike, so that none of a few tokens is left at the end") {
  for (int64_t left = 1; left < 1000; ++left) {
    int64_t last = 0;
    for (int64_t rest = left; rest > 0;) {
      const int64_t tokens = StepCost::PieceTokens(2.2, 30, rest);
      CHECK((last == 0 || tokens >= last - 1));
      rest -= last = tokens;
      CHECK(rest >= 0);
    }
  }
}

TEST_CASE("a small piece counts as one of sixteen tokens, for it reads as much state") {
  CHECK(StepCost::SliceLayers(4, 1, 32, 32) == StepCost::SliceLayers(4, 16, 32, 32));
  CHECK(StepCost::SliceLayers(4, 16, 32, 32) == 8);
  CHECK(StepCost::SliceLayers(16, 1, 32, 32) == 32);
}

TEST_CASE(
    "where a step has no time for a prompt it has the least tokens', or a part of the answers'") {
  StepCost cost(1'000);
  cost.Observe(8, 0, 50'000);
  cost.Observe(0, 100, 10'000);
  CHECK(cost.Room(8) == doctest::Approx(StepCost::kLeastPromptTokens));
  cost.Observe(0, 1, 1'000'000);
  CHECK(cost.Room(8) < 0.1);
  CHECK(cost.Room(8) > 0);
  CHECK(StepCost(1'000).Room(8) == StepCost::kLeastPromptTokens);
  CHECK(cost.Room(0) == std::numeric_limits<double>::infinity());
}

}  // namespace cairn
