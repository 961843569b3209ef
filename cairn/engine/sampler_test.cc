#include "cairn/engine/sampler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

namespace cairn {
namespace {

const std::vector<float> kLogits = {0.0f, 2.0f, 1.0f, 2.0f, -1.0f};

std::map<int32_t, int> Histogram(const SamplingOptions& options, int draws,
                                 const std::vector<TokenId>& history = {}) {
  Sampler sampler(options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.Sample(kLogits, history).value()];
  return counts;
}

SamplingOptions Plain() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 7};
}

}  // namespace

TEST_CASE("temperature 0 takes the likeliest token, the lowest id of equal ones") {
  Sampler sampler({.temperature = 0});
  CHECK(sampler.Sample(kLogits, {}) == TokenId(1));
}

TEST_CASE("plain sampling follows the softmax") {
  constexpr int kDraws = 20000;
  const auto counts = Histogram(Plain(), kDraws);
  double total = 0;
  for (const float l : kLogits) total += std::exp(l);
  for (const auto& [id, count] : counts) {
    const double expected = std::exp(kLogits[static_cast<size_t>(id)]) / total;
    CHECK(std::abs(static_cast<double>(count) / kDraws - expected) < 0.015);
  }
  CHECK(counts.size() == kLogits.size());
}

TEST_CASE("the same seed draws the same tokens, another seed others") {
  const auto draw = [](uint64_t seed) {
    SamplingOptions options = Plain();
    options.seed = seed;
    Sampler sampler(options);
    std::vector<int32_t> ids;
    for (int i = 0; i < 50; ++i) ids.push_back(sampler.Sample(kLogits, {}).value());
    return ids;
  };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
}

TEST_CASE("top-k, top-p and min-p each leave out the unlikely tokens") {
  SamplingOptions options = Plain();
  options.top_k = 2;
  CHECK(Histogram(options, 500).size() == 2);
  options = Plain();
  options.top_p = 0.5;  // the two best hold 0.75 of it, one alone 0.38
  CHECK(Histogram(options, 500).size() == 2);
  options = Plain();
  options.min_p = 0.3;  // e^-1 = 0.37 of the best stays, e^-2 goes
  CHECK(Histogram(options, 500).size() == 3);
  options = Plain();
  options.top_p = 1e-9;
  CHECK(Histogram(options, 50).size() == 1);
}

TEST_CASE("the repetition penalty lowers tokens of the window only") {
  SamplingOptions options = {.temperature = 0, .repetition_penalty = 4, .repetition_window = 2};
  Sampler sampler(options);
  CHECK(sampler.Sample(kLogits, std::vector<TokenId>{TokenId(1)}) == TokenId(3));
  CHECK(sampler.Sample(kLogits, std::vector<TokenId>{TokenId(1), TokenId(3)}) == TokenId(2));
  CHECK(sampler.Sample(kLogits, std::vector<TokenId>{TokenId(1), TokenId(0), TokenId(0)}) ==
        TokenId(1));
}

TEST_CASE("infinite and NaN logits never win and never crash") {
  Sampler sampler(Plain());
  const std::vector<float> logits = {NAN, 0.0f, -INFINITY};
  for (int i = 0; i < 20; ++i) CHECK(sampler.Sample(logits, {}) == TokenId(1));
}

TEST_CASE("options out of range are refused by name") {
  SamplingOptions options;
  options.top_p = 0;
  const Status status = CheckSamplingOptions(options);
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("--top-p") != std::string::npos);
}

}  // namespace cairn
