// What tests of engines share: requests that can be copied, a listener that remembers, a
// constraint.
#ifndef CAIRN_ENGINE_ENGINE_FOR_TESTS_H_
#define CAIRN_ENGINE_ENGINE_FOR_TESTS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/engine/engine.h"

namespace cairn {

// Forbids a third of the tokens; which, depends on all of the answer so far.
class ThirdsConstraint final : public TokenConstraint {
 public:
  void Restrict(std::span<float> logits) override {
    for (size_t i = 0; i < logits.size(); ++i) {
      if ((i + sum_) % 3 == 0) logits[i] = -std::numeric_limits<float>::infinity();
    }
  }
  void Accept(TokenId token) override {
    CAIRN_CHECK((static_cast<size_t>(token.value()) + sum_) % 3 != 0);
    sum_ += static_cast<size_t>(token.value()) + 1;
  }
  std::unique_ptr<TokenConstraint> Clone() const override {
    return std::make_unique<ThirdsConstraint>(*this);
  }

 private:
  size_t sum_ = 1;
};

inline GenerationRequest CopyOf(const GenerationRequest& from) {
  GenerationRequest to;
  to.prompt = from.prompt;
  to.max_tokens = from.max_tokens;
  to.answers = from.answers;
  to.sampling = from.sampling;
  to.logit_bias = from.logit_bias;
  to.ends = from.ends;
  to.wants_logprobs = from.wants_logprobs;
  to.top_logprobs = from.top_logprobs;
  if (from.constraint) to.constraint = from.constraint->Clone();
  to.tenant = from.tenant;
  to.priority = from.priority;
  to.deadline_us = from.deadline_us;
  to.embedding = from.embedding;
  to.policy = from.policy;
  return to;
}

// What one answer was, to the bit.
struct RecordedAnswer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<std::pair<TokenId, float>> likeliest;
  std::optional<GenerationEnd> end;

  bool operator==(const RecordedAnswer&) const = default;
  bool BeginsAs(const RecordedAnswer& whole) const {
    if (tokens.size() > whole.tokens.size()) return false;
    const auto count = static_cast<ptrdiff_t>(tokens.size());
    return std::equal(tokens.begin(), tokens.end(), whole.tokens.begin()) &&
           std::equal(logprobs.begin(), logprobs.begin() + count, whole.logprobs.begin());
  }
};

// Remembers all that it hears of any number of generations.
class Recorder final : public GenerationListener {
 public:
  struct Heard {
    std::map<int32_t, RecordedAnswer> answers;
    std::vector<int64_t> times_us;  // of tokens
    std::vector<int64_t> progress;
    std::vector<float> embedding;
    GenerationUsage usage;
    std::string problem;
    bool over = false;
  };

  explicit Recorder(std::function<int64_t()> now_us = {}) : now_us_(std::move(now_us)) {}

  bool OnToken(const GeneratedToken& token) override {
    Heard& heard = heard_[token.id];
    RecordedAnswer& answer = heard.answers[token.answer];
    CAIRN_CHECK(!heard.over && !answer.end);
    answer.tokens.push_back(token.token);
    answer.logprobs.push_back(token.logprob);
    for (const TokenLogprob& one : token.likeliest) {
      answer.likeliest.emplace_back(one.token, one.logprob);
    }
    if (now_us_) heard.times_us.push_back(now_us_());
    ++tokens_;
    return !stop_after || static_cast<int64_t>(answer.tokens.size()) < *stop_after;
  }
  void OnEnd(const GenerationEnded& end) override {
    Heard& heard = heard_[end.id];
    RecordedAnswer& answer = heard.answers[end.answer];
    CAIRN_CHECK(!heard.over && !answer.end);
    CAIRN_CHECK(end.tokens == static_cast<int64_t>(answer.tokens.size()));
    answer.end = end.reason;
    heard.usage = end.usage;
    heard.problem = end.problem;
    heard.over = end.last;
    if (end.last) order_.push_back(end.id);
  }
  void OnEmbedding(GenerationId id, std::span<const float> embedding) override {
    Heard& heard = heard_[id];
    CAIRN_CHECK(!heard.over && heard.embedding.empty());
    heard.embedding.assign(embedding.begin(), embedding.end());
  }
  void OnPromptProgress(GenerationId id, TokenCount done, TokenCount /*total*/) override {
    heard_[id].progress.push_back(done.value());
  }

  const Heard& Of(GenerationId id) { return heard_[id]; }
  const std::vector<GenerationId>& order() const { return order_; }  // of ends
  int64_t tokens() const { return tokens_; }

  std::optional<int64_t> stop_after;

 private:
  std::function<int64_t()> now_us_;
  std::map<GenerationId, Heard> heard_;
  std::vector<GenerationId> order_;
  int64_t tokens_ = 0;
};

// Steps until nothing is to be done; the most that is needed is a bound for tests.
inline void RunAll(Engine& engine, int64_t steps_max = 1'000'000) {
  for (int64_t i = 0; i < steps_max; ++i) {
    if (engine.Step() == Engine::Progress::kIdle) return;
  }
  CAIRN_CHECK(false);
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_ENGINE_FOR_TESTS_H_
