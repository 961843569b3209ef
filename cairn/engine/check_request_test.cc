#include "cairn/engine/check_request.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "cairn/engine/engine_for_tests.h"

namespace cairn {
namespace {

GenerationRequest Good() {
  GenerationRequest request;
  request.prompt = {TokenId(1), TokenId(47)};
  request.max_tokens = 5;
  return request;
}

// Empty if it is none.
std::string RefusalOf(const GenerationRequest& request) {
  ModelSpec spec;
  spec.vocabulary = 48;
  const Status status = CheckRequest(request, spec, TokenCount(100));
  if (status) return "";
  CHECK(status.error().code == ErrorCode::kInvalidArgument);
  return status.error().message;
}

template <class Change>
void CheckRefused(Change change, const char* reason) {
  GenerationRequest request = Good();
  change(request);
  CAPTURE(reason);
  const std::string refusal = RefusalOf(request);
  CAPTURE(refusal);
  CHECK(refusal.find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("a request with any one thing wrong is refused with what is wrong") {
  using R = GenerationRequest;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(RefusalOf(Good()) == "");
  CheckRefused([](R& r) { r.prompt.clear(); }, "empty");
  CheckRefused([](R& r) { r.prompt.emplace_back(48); },
               "token id 48 is outside the vocabulary of 48");
  CheckRefused([](R& r) { r.prompt.emplace_back(-1); }, "token id -1");
  CheckRefused([](R& r) { r.prompt.resize(100); }, "the context is 100 tokens");
  CheckRefused([](R& r) { r.max_tokens = -1; }, "max_tokens -1");
  CheckRefused([](R& r) { r.answers = 0; }, "0 answers");
  CheckRefused([](R& r) { r.answers = kMaxAnswers + 1; }, "129 answers");
  CheckRefused([](R& r) { r.top_logprobs = 49; }, "top_logprobs 49");
  CheckRefused([](R& r) { r.top_logprobs = -1; }, "top_logprobs -1");
  CheckRefused([](R& r) { r.sampling.top_p = 0; }, "top-p");
  CheckRefused([](R& r) { r.logit_bias = {{TokenId(48), 1.0f}}; }, "token id 48");
  CheckRefused([nan](R& r) { r.logit_bias = {{TokenId(3), nan}}; }, "biases are numbers");
  CheckRefused([](R& r) { r.logit_bias = {{TokenId(3), 1.0f}, {TokenId(3), 1.0f}}; },
               "3 comes after 3");
  CheckRefused([](R& r) { r.embedding = Pooling::kMean; }, "an embedding is one answer");
  CheckRefused(
      [](R& r) {
        r.embedding = Pooling::kLast;
        r.max_tokens = 0;
        r.answers = 2;
      },
      "an embedding is one answer");
}

TEST_CASE("a request at every limit is good") {
  GenerationRequest request = Good();
  request.prompt.resize(99);
  request.max_tokens = 0;
  request.answers = kMaxAnswers;
  request.top_logprobs = 48;
  request.logit_bias = {{TokenId(0), -std::numeric_limits<float>::infinity()}, {TokenId(47), 1.0f}};
  CHECK(RefusalOf(request) == "");
  request.max_tokens = std::numeric_limits<int64_t>::max();
  CHECK(RefusalOf(request) == "");
}

}  // namespace cairn
