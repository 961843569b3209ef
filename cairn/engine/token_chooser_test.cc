#include "cairn/engine/token_chooser.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/engine/engine_for_tests.h"

namespace cairn {
namespace {

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 2.0f, 1.5f, 0.0f};
constexpr float kNever = -std::numeric_limits<float>::infinity();

GenerationRequest Greedy() {
  GenerationRequest request;
  request.sampling.temperature = 0;
  return request;
}

}  // namespace

TEST_CASE("bias comes before the sampler and changes no log probability") {
  GenerationRequest request = Greedy();
  request.wants_logprobs = true;
  request.top_logprobs = 3;
  request.logit_bias = {{TokenId(1), kNever}, {TokenId(4), 1.0f}};
  TokenChooser chooser(request, 0);
  TokenChooser::Scratch scratch;
  const TokenChooser::Choice choice = chooser.Choose(kLogits, {}, scratch);
  CHECK(choice.token == TokenId(4));
  CHECK(choice.possible);
  double sum = 0;
  for (const float logit : kLogits) sum += std::exp(static_cast<double>(logit));
  CHECK(choice.logprob == doctest::Approx(1.5 - std::log(sum)).epsilon(1e-6));
  REQUIRE(choice.likeliest.size() == 3);
  CHECK(choice.likeliest[0].token == TokenId(1));
  CHECK(choice.likeliest[1].token == TokenId(3));
  CHECK(choice.likeliest[2].token == TokenId(4));
  CHECK(choice.likeliest[2].logprob == choice.logprob);
  CHECK(choice.likeliest[0].logprob == doctest::Approx(2.0 - std::log(sum)).epsilon(1e-6));
}

TEST_CASE("log probabilities of large logits are finite") {
  GenerationRequest request = Greedy();
  request.wants_logprobs = true;
  TokenChooser chooser(request, 0);
  TokenChooser::Scratch scratch;
  const std::vector<float> logits = {1e30f, 1e30f, -1e30f};
  CHECK(chooser.Choose(logits, {}, scratch).logprob == doctest::Approx(-std::log(2.0)));
}

TEST_CASE("a constraint holds for every token and sees each, in a copy for each answer") {
  GenerationRequest request = Greedy();
  request.constraint = std::make_unique<ThirdsConstraint>();
  TokenChooser first(request, 0);
  TokenChooser second(request, 1);
  TokenChooser::Scratch scratch;
  const auto answer = [&](TokenChooser& chooser) {
    std::vector<TokenId> tokens;
    for (int i = 0; i < 10; ++i) {
      tokens.push_back(chooser.Choose(kLogits, {}, scratch).token);
      chooser.Accept(tokens.back());  // checks that it wasn't forbidden
    }
    return tokens;
  };
  const std::vector<TokenId> tokens = answer(first);
  CHECK(tokens == answer(second));
  CHECK(std::ranges::count(tokens, tokens.front()) < 10);
}

TEST_CASE("where bias and constraint leave nothing, that is said") {
  GenerationRequest request = Greedy();
  for (int32_t i = 0; i < 6; ++i) request.logit_bias.emplace_back(TokenId(i), kNever);
  TokenChooser::Scratch scratch;
  CHECK_FALSE(TokenChooser(request, 0).Choose(kLogits, {}, scratch).possible);
  request.sampling.temperature = 1;
  CHECK_FALSE(TokenChooser(request, 0).Choose(kLogits, {}, scratch).possible);
}

TEST_CASE("a drawn token is never one that bias or constraint forbid") {
  GenerationRequest request;
  request.sampling = {.temperature = 5, .top_k = 0, .top_p = 1, .min_p = 0};
  request.logit_bias = {{TokenId(1), kNever}, {TokenId(3), kNever}};
  request.constraint = std::make_unique<ThirdsConstraint>();
  TokenChooser chooser(request, 0);
  TokenChooser::Scratch scratch;
  for (int i = 0; i < 2000; ++i) {
    const TokenChooser::Choice choice = chooser.Choose(kLogits, {}, scratch);
    CHECK(choice.possible);
    CHECK(choice.token != TokenId(1));
    CHECK(choice.token != TokenId(3));
    chooser.Accept(choice.token);
  }
}

TEST_CASE("answer i draws as a request with the seed plus i does") {
  GenerationRequest request;
  request.sampling = {.temperature = 2, .seed = 7};
  GenerationRequest other;
  other.sampling = {.temperature = 2, .seed = 10};
  TokenChooser third(request, 3);
  TokenChooser alone(other, 0);
  TokenChooser zeroth(request, 0);
  TokenChooser::Scratch scratch;
  bool differs = false;
  for (int i = 0; i < 50; ++i) {
    const TokenId token = third.Choose(kLogits, {}, scratch).token;
    CHECK(token == alone.Choose(kLogits, {}, scratch).token);
    differs = differs || token != zeroth.Choose(kLogits, {}, scratch).token;
  }
  CHECK(differs);
}

}  // namespace cairn
