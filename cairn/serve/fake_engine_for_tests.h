// FakeEngine: an Engine without a model. Its answers repeat the prompt, token by token, one a step
// for each answer, all answers of a generation alike. Embeddings are (3, -4, the prompt's tokens).
#ifndef CAIRN_SERVE_FAKE_ENGINE_FOR_TESTS_H_
#define CAIRN_SERVE_FAKE_ENGINE_FOR_TESTS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/engine/engine.h"

namespace cairn {

class FakeEngine final : public Engine {
 public:
  struct Options {
    TokenCount context{64};
    int64_t max_waiting = 1000;
    Bytes missing = {};        // of every request
    int64_t step_us = 0;       // that each step takes
    bool ignores_end = false;  // answers go round until their limit
    bool fails = false;        // after the first token; gives no embeddings
    StateOrigin origin;
  };

  FakeEngine() : FakeEngine(Options()) {}
  explicit FakeEngine(Options options) : options_(std::move(options)) {}

  Result<GenerationId> Submit(GenerationRequest request, GenerationListener& listener) override {
    if (options_.missing > Bytes(0)) return Fail(ErrorCode::kUnsupported, "it can't be held");
    if (drained_) return Fail(ErrorCode::kCancelled, "the engine is stopping");
    if (static_cast<int64_t>(running_.size()) >= options_.max_waiting) {
      return Fail(ErrorCode::kExhausted, "{} generations wait", running_.size());
    }
    const GenerationId id(next_++);
    Running& made = running_[id];
    made.request = std::move(request);
    made.listener = &listener;
    made.ended.resize(static_cast<size_t>(made.request.answers));
    ++stats_.submitted;
    return id;
  }

  Bytes MissingBytes(const GenerationRequest& /*request*/) const override {
    return options_.missing;
  }
  void Cancel(GenerationId id) override {
    const auto found = running_.find(id);
    if (found != running_.end()) found->second.cancelled = true;
  }
  void Drain(int64_t /*deadline_us*/) override { drained_ = true; }

  Progress Step() override {
    if (running_.empty()) return Progress::kIdle;
    if (options_.step_us > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(options_.step_us));
    }
    ++stats_.steps;
    steps = stats_.steps;
    std::vector<GenerationId> done;
    for (auto& [id, generation] : running_) {
      for (int32_t a = 0; a < generation.request.answers; ++a) StepAnswer(id, generation, a);
      if (std::ranges::all_of(generation.ended, [](bool e) { return e; })) done.push_back(id);
    }
    for (const GenerationId id : done) running_.erase(id);
    return Progress::kComputed;
  }

  // Everything that was ever asked for is at hand; a token of state takes kTokenBytes.
  static constexpr int64_t kTokenBytes = 16;
  PinId Pin(const std::string& tenant, std::span<const TokenId> tokens) override {
    const PinId id(next_pin_++);
    pins_[id] = {tenant, {tokens.begin(), tokens.end()}};
    return id;
  }
  void Unpin(PinId id) override { CAIRN_CHECK(pins_.erase(id) == 1); }
  StateManager::PinUse UseOf(PinId id) const override {
    const auto size = static_cast<int64_t>(pins_.at(id).tokens.size());
    return {.tokens = TokenCount(size),
            .bytes = Bytes(size * kTokenBytes),
            .alone = PinnedBytes() - PinnedBytesWithout(id)};
  }
  Bytes PinnedBytes() const override { return PinnedBytesWithout(PinId(-1)); }
  Bytes StateBudget() const override { return Bytes(int64_t{1} << 20); }
  Bytes Forget(const std::string& tenant, std::span<const TokenId> tokens,
               TokenCount keep) override {
    forgotten = tenant;
    const auto size = static_cast<int64_t>(tokens.size());
    return Bytes((size - std::min(keep.value(), size)) * kTokenBytes);
  }
  int64_t pins() const { return static_cast<int64_t>(pins_.size()); }
  std::string forgotten;  // whose tokens, last

  const EngineStats& stats() const override { return stats_; }
  const ModelSpec& spec() const override { return spec_; }
  TokenCount context() const override { return options_.context; }

  std::atomic<int64_t> steps{0};
  std::atomic<int64_t> cancelled{0};

 private:
  struct Pinned {
    std::string tenant;
    std::vector<TokenId> tokens;
  };
  // Each prefix once.
  Bytes PinnedBytesWithout(PinId without) const {
    std::set<std::pair<std::string, std::vector<TokenId>>> prefixes;
    for (const auto& [id, pinned] : pins_) {
      if (id == without) continue;
      for (auto end = pinned.tokens.begin(); end != pinned.tokens.end(); ++end) {
        prefixes.emplace(pinned.tenant, std::vector(pinned.tokens.begin(), end + 1));
      }
    }
    return Bytes(static_cast<int64_t>(prefixes.size()) * kTokenBytes);
  }

  struct Running {
    GenerationRequest request;
    GenerationListener* listener = nullptr;
    std::vector<bool> ended;
    std::vector<int64_t> counts = std::vector<int64_t>(static_cast<size_t>(kMaxAnswers));
    bool cancelled = false;
  };

  void StepAnswer(GenerationId id, Running& g, int32_t answer) {
    const auto at = static_cast<size_t>(answer);
    if (g.ended[at]) return;
    if (g.cancelled) {
      ++cancelled;
      return End(id, g, answer, GenerationEnd::kCancelled);
    }
    const auto size = static_cast<int64_t>(g.request.prompt.size());
    if (g.request.embedding && !options_.fails) {
      const std::vector<float> embedding = {3, -4, static_cast<float>(size)};
      g.listener->OnEmbedding(id, embedding);
    }
    if (g.counts[at] >= g.request.max_tokens) return End(id, g, answer, GenerationEnd::kLength);
    if (!options_.ignores_end && g.counts[at] >= size) {
      return End(id, g, answer, GenerationEnd::kEnd);
    }
    if (options_.fails && g.counts[at] == 1) return End(id, g, answer, GenerationEnd::kFailed);
    const TokenId token = g.request.prompt[static_cast<size_t>(g.counts[at] % size)];
    const std::vector<TokenLogprob> likeliest(static_cast<size_t>(g.request.top_logprobs),
                                              TokenLogprob{token, -0.5f});
    ++g.counts[at];
    ++stats_.answer_tokens;
    const bool go_on = g.listener->OnToken(
        {.id = id, .answer = answer, .token = token, .logprob = -0.5f, .likeliest = likeliest});
    if (!go_on) End(id, g, answer, GenerationEnd::kStopped);
  }

  void End(GenerationId id, Running& g, int32_t answer, GenerationEnd reason) {
    const auto at = static_cast<size_t>(answer);
    g.ended[at] = true;
    GenerationEnded ended;
    ended.id = id;
    ended.answer = answer;
    ended.reason = reason;
    ended.tokens = g.counts[at];
    ended.last = std::ranges::all_of(g.ended, [](bool e) { return e; });
    if (reason == GenerationEnd::kFailed) ended.problem = "the model broke";
    ended.usage.prompt = TokenCount(static_cast<int64_t>(g.request.prompt.size()));
    ended.usage.origin = options_.origin;
    g.listener->OnEnd(ended);
  }

  const Options options_;
  std::map<GenerationId, Running> running_;
  std::map<PinId, Pinned> pins_;
  int64_t next_pin_ = 1;
  int64_t next_ = 1;
  bool drained_ = false;
  EngineStats stats_;
  ModelSpec spec_;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_FAKE_ENGINE_FOR_TESTS_H_
