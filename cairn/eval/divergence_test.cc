#include "cairn/eval/divergence.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cairn {
namespace {

std::vector<float> LogitsOf(std::initializer_list<double> probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + 3.0));
  return logits;
}

}  // namespace

TEST_CASE("the divergence of two known distributions is the one worked out by hand") {
  const std::vector<float> reference = LogitsOf({0.5, 0.25, 0.25});
  const std::vector<float> other = LogitsOf({0.25, 0.25, 0.5});
  ReferenceRows rows(3);
  rows.Resize(2);
  rows.Set(0, other, TokenId(2));
  rows.Set(1, reference, TokenId(2));
  // 0.5 log 2 + 0.25 log 1 + 0.25 log 0.5
  CHECK(rows.Compare(1, other).kl == doctest::Approx(0.25 * std::log(2)).epsilon(1e-6));
  CHECK_FALSE(rows.Compare(1, other).same_likeliest);
  CHECK(rows.Compare(1, other).nats == doctest::Approx(std::log(2)));
  CHECK(rows.Set(1, reference, TokenId(0)) == doctest::Approx(std::log(2)));
  // It is no distance: the other way round it may differ.
  const std::vector<float> third = LogitsOf({0.8, 0.1, 0.1});
  rows.Set(0, third, TokenId(2));
  CHECK(rows.Compare(0, reference).kl ==
        doctest::Approx(0.8 * std::log(1.6) + 0.2 * std::log(0.4)).epsilon(1e-6));
  CHECK(rows.Compare(1, third).kl ==
        doctest::Approx(0.5 * std::log(1 / 1.6) + 0.5 * std::log(2.5)).epsilon(1e-6));
  CHECK(rows.Compare(1, third).same_likeliest);
}

TEST_CASE("equal rows diverge by exactly nothing, and a constant changes no distribution") {
  std::vector<float> logits;
  for (int i = 0; i < 5000; ++i) logits.push_back(static_cast<float>(std::sin(i * 1.7) * 9));
  ReferenceRows rows(5000);
  rows.Resize(1);
  rows.Set(0, logits, TokenId(2));
  CHECK(rows.Compare(0, logits).kl == 0.0);
  CHECK(rows.Compare(0, logits).same_likeliest);
  for (float& logit : logits) logit += 64;
  CHECK(rows.Compare(0, logits).kl < 1e-6);
  logits[static_cast<size_t>(LikeliestOf(logits).value())] += 0.1f;
  CHECK(rows.Compare(0, logits).kl > 1e-6);
}

TEST_CASE("the likeliest of equals is the first, and log probabilities add up to one") {
  CHECK(LikeliestOf(std::vector<float>{1, 3, 3, 2}) == TokenId(1));
  const std::vector<float> logits = LogitsOf({0.125, 0.5, 0.375});
  CHECK(NegativeLogProbability(logits, TokenId(1)) == doctest::Approx(std::log(2)));
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += std::exp(-NegativeLogProbability(logits, TokenId(i)));
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("the lead is that of the first over the second, wherever they stand") {
  CHECK(LeadOf(std::vector<float>{1, 5, 3}) == 2);
  CHECK(LeadOf(std::vector<float>{5, 1, 4.5}) == 0.5);
  CHECK(LeadOf(std::vector<float>{2, 2}) == 0);
  CHECK(LeadOf(std::vector<float>{0, 1, 7, 7, 3}) == 0);
}

}  // namespace cairn
