#include "cairn/state/return_model.h"

#include <doctest/doctest.h>

#include <array>

#include "cairn/spec/state_spec_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr std::array<int64_t, 7> kIdle_s = {0, 2, 10, 60, 600, 3600, 36'000};

int KindOf(TurnEnd end) { return ReturnModel::KindOf({.turn = {.end = end, .answer = {}}}); }

}  // namespace

TEST_CASE("while nothing is known, what is idle longer is worth less: least recently used") {
  ReturnModel model;
  for (int kind = 0; kind < ReturnModel::kKinds; ++kind) {
    double before = 1e9;
    for (const int64_t idle_s : kIdle_s) {
      const double worth = model.Worth(kind, idle_s * kSecond, 0);
      CHECK(0 < worth);
      CHECK(worth < before);
      before = worth;
    }
  }
}

TEST_CASE("a path that waits for a tool is worth more than one that waits for a person") {
  ReturnModel model;
  const int tool = KindOf(TurnEnd::kToolCall);
  const int person = KindOf(TurnEnd::kEndOfTurn);
  int64_t now_us = 0;
  for (int i = 0; i < 300; ++i, now_us += 2000 * kSecond) {
    const int64_t soon = model.Watch(tool, now_us);
    const int64_t late = model.Watch(person, now_us);
    model.Returned(soon, now_us + 10 * kSecond);
    model.Returned(late, now_us + 1000 * kSecond);
  }
  // A watch is worth a return in about 10 s, or in 1,000.
  CHECK(model.Worth(tool, 0, now_us) == doctest::Approx(0.1).epsilon(0.3));
  CHECK(model.Worth(person, 0, now_us) == doctest::Approx(0.001).epsilon(0.3));
  // The person is expected at last when the tool's path must have been left for good.
  CHECK(model.Worth(person, 800 * kSecond, now_us) > model.Worth(person, 0, now_us));
  CHECK(model.Worth(person, 800 * kSecond, now_us) > model.Worth(tool, 800 * kSecond, now_us));
}

TEST_CASE("paths that never return lower the worth of their kind, also those still watched") {
  ReturnModel model;
  const int kind = KindOf(TurnEnd::kToolCall);
  const double before = model.Worth(kind, 0, 0);
  for (int i = 0; i < 100; ++i) model.Watch(kind, 0);
  const double after = model.Worth(kind, 0, 3600 * kSecond);
  CHECK(after < before / 10);
  for (int64_t i = 0; i < 2 * ReturnModel::kWatches; ++i) model.Watch(kind, 4000 * kSecond + i);
  CHECK(model.Worth(kind, 0, 8000 * kSecond) < before / 10);
}

TEST_CASE("a kind that was seen little is taken to be like its wider kind") {
  ReturnModel model;
  PathUse known{.turn = {.end = TurnEnd::kToolCall, .answer = TokenCount(100)}};
  PathUse rare = known;
  rare.turn.answer = TokenCount(5000);
  int64_t now_us = 0;
  for (int i = 0; i < 300; ++i, now_us += 100 * kSecond) {
    model.Returned(model.Watch(ReturnModel::KindOf(known), now_us), now_us + 20 * kSecond);
  }
  const double worth = model.Worth(ReturnModel::KindOf(known), 0, now_us);
  CHECK(ReturnModel::KindOf(rare) != ReturnModel::KindOf(known));
  CHECK(model.Worth(ReturnModel::KindOf(rare), 0, now_us) == doctest::Approx(worth).epsilon(0.05));
}

TEST_CASE("watches may be given up, end twice or never: worth stays a positive number") {
  RandomChoice choose(3);
  ReturnModel model;
  int64_t now_us = 0;
  for (int i = 0; i < 100'000; ++i) {
    now_us += choose(kSecond);
    const int kind = static_cast<int>(choose(ReturnModel::kKinds));
    const int64_t watch = model.Watch(kind, now_us);
    if (choose(3) == 0) model.Drop(watch);
    const int64_t other = choose(watch + 1);
    model.Returned(other, now_us);
    model.Returned(other, now_us);
    const double worth = model.Worth(kind, choose(int64_t{1} << 44), now_us);
    REQUIRE(worth > 0);
    REQUIRE(worth < 1e3);
  }
}

TEST_CASE(
    "kinds differ by the end of the answer, its length and the pauses, and are all in range") {
  const auto kind = [](TurnEnd end, int64_t answer, double log2_pause_s) {
    return ReturnModel::KindOf({.turn = {.end = end, .answer = TokenCount(answer)},
                                .log2_pause_s = log2_pause_s,
                                .has_paused = true});
  };
  const int one = kind(TurnEnd::kToolCall, 100, 5);
  CHECK(one != kind(TurnEnd::kLength, 100, 5));
  CHECK(one != kind(TurnEnd::kToolCall, 1000, 5));
  CHECK(one != kind(TurnEnd::kToolCall, 100, 8));
  for (const int64_t answer : {int64_t{-5}, int64_t{0}, int64_t{1} << 60}) {
    for (const double pause : {-1e9, 0.0, 1e9}) {
      const int found = kind(TurnEnd::kLength, answer, pause);
      CHECK(0 <= found);
      CHECK(found < ReturnModel::kKinds);
    }
  }
}

}  // namespace cairn
