#include "cairn/engine/likely_tokens.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// All of them, sorted: slow and plain.
std::vector<ScoredToken> Sorted(std::vector<float> logits,
                                const std::vector<ScoredToken>& changed) {
  for (const ScoredToken& token : changed) logits[static_cast<size_t>(token.id)] = token.logit;
  std::vector<ScoredToken> all;
  for (size_t i = 0; i < logits.size(); ++i) {
    all.push_back({static_cast<int32_t>(i), std::isnan(logits[i]) ? -INFINITY : logits[i]});
  }
  std::ranges::sort(all, [](const ScoredToken& a, const ScoredToken& b) {
    return std::pair(-a.logit, a.id) < std::pair(-b.logit, b.id);
  });
  return all;
}

void CheckEqual(std::span<const ScoredToken> found, std::span<const ScoredToken> expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].id == expected[i].id);
    REQUIRE(found[i].logit == expected[i].logit);
  }
}

// Few distinct values where `levels` is small, so that many are equal.
std::vector<float> RandomLogits(std::mt19937& random, size_t size, int levels) {
  std::vector<float> logits(size);
  for (float& logit : logits) {
    const auto drawn = static_cast<uint32_t>(random());
    logit = static_cast<float>(drawn % static_cast<uint32_t>(levels)) / 7.0f - 20.0f;
    if (drawn % 97 == 0) logit = NAN;
    if (drawn % 89 == 0) logit = -INFINITY;
    if (drawn % 1009 == 0) logit = INFINITY;
  }
  return logits;
}

std::vector<ScoredToken> RandomChanges(std::mt19937& random, size_t size, size_t count) {
  std::vector<ScoredToken> changed;
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<int32_t>(random() % size);
    changed.push_back({id, static_cast<float>(random() % 300) / 7.0f - 20.0f});
  }
  std::ranges::sort(changed, {}, &ScoredToken::id);
  const auto repeated = std::ranges::unique(changed, {}, &ScoredToken::id);
  changed.erase(repeated.begin(), repeated.end());
  return changed;
}

}  // namespace

TEST_CASE("the likeliest tokens are those that sorting everything puts first") {
  std::mt19937 random(5);
  LikelyTokens likely;
  for (const size_t size : {1, 2, 39, 255, 256, 257, 5000, 30001}) {
    for (const int levels : {1, 3, 250, 1 << 20}) {
      for (const size_t changes : {0, 1, 64}) {
        CAPTURE(size);
        CAPTURE(levels);
        CAPTURE(changes);
        const std::vector<float> logits = RandomLogits(random, size, levels);
        const std::vector<ScoredToken> changed = RandomChanges(random, size, changes);
        const std::vector<ScoredToken> expected = Sorted(logits, changed);
        CHECK(LikeliestToken(logits, changed) == expected[0].id);
        for (const int64_t count : {1, 40, 700, 40000}) {
          const size_t kept = std::min(size, static_cast<size_t>(count));
          CheckEqual(likely.Find(logits, changed, count), std::span(expected).first(kept));
        }
      }
    }
  }
}

TEST_CASE("rising and falling logits, where all or none displace the ones before") {
  LikelyTokens likely;
  std::vector<float> logits(20000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i);
  std::vector<ScoredToken> expected = Sorted(logits, {});
  CheckEqual(likely.Find(logits, {}, 40), std::span(expected).first(40));
  CHECK(LikeliestToken(logits, {}) == 19999);
  std::ranges::reverse(logits);
  expected = Sorted(logits, {});
  CheckEqual(likely.Find(logits, {}, 40), std::span(expected).first(40));
  CHECK(LikeliestToken(logits, {}) == 0);
}

TEST_CASE("nothing but NaN and minus infinity gives the lowest ids") {
  LikelyTokens likely;
  std::vector<float> logits(1000, NAN);
  logits[3] = -INFINITY;
  CHECK(LikeliestToken(logits, {}) == 0);
  const auto found = likely.Find(logits, {}, 2);
  CHECK(found[0].id == 0);
  CHECK(found[1].id == 1);
}

}  // namespace cairn
