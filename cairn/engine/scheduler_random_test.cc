// Thousands of random operations on an engine, with every answer held to what it is alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cairn/engine/scheduler_for_tests.h"
#include "cairn/spec/state_spec_for_tests.h"
#include "cairn/state/object_store_for_tests.h"

namespace cairn {
namespace {

class RandomCrowd {
 public:
  RandomCrowd(uint64_t seed, FakeModel::Shape shape)
      : choose_(seed), shape_(shape), fake_(Options()) {
    fake_.model.cost.read_us = 50;  // so that a few tokens take longer than a step should
  }

  void Operate() {
    const int64_t op = choose_(10);
    if (op < 2) {
      Submit();
    } else if (op == 2 && choose_(6) == 0 && !requests_.empty()) {
      fake_.engine->Cancel(Any());
    } else {
      objects_.Run(static_cast<size_t>(choose_(4)));
      fake_.engine->Step();
      if (choose_(8) == 0) fake_.Audit();
    }
  }
  // Ends all and compares.
  void Finish() {
    objects_.ends_at_once = true;
    RunAll(*fake_.engine);
    for (const auto& [id, request] : requests_) {
      CAPTURE(id.value());
      Compare(id, request);
    }
    fake_.CheckNothingLeft();
    // What is live is what is kept, and all of it can go.
    CHECK(fake_.engine->stats().failed == 0);
  }
  const EngineStats& stats() const { return fake_.engine->stats(); }
  const StateManager::Stats& state() const { return fake_.manager->stats(); }
  int64_t embedded = 0;
  int64_t slices() const { return fake_.model.slices; }
  int64_t evictions() const { return fake_.manager->tree().stats().evictions; }

 private:
  FakeEngineOptions Options() {
    FakeEngineOptions options{.shape = shape_, .budget = Bytes(6000 + choose_(20'000))};
    if (choose_(2) == 0) options.tier = &objects_;
    options.max_sequences = choose_(3) == 0 ? 4 : 100;
    options.engine.context = TokenCount(400);
    options.engine.max_running = 1 + choose_(12);
    options.engine.max_waiting = 30;
    options.engine.step_tokens = TokenCount(1 + choose_(200));
    options.engine.target_step_us = choose_(3) == 0 ? 0 : choose_(20'000);
    options.engine.target_gap = choose_(2) == 0 ? 0 : 1.8;
    return options;
  }
  GenerationId Any() {
    auto at = requests_.begin();
    std::advance(at, choose_(static_cast<int64_t>(requests_.size())));
    return at->first;
  }
  // Often what another one began with.
  std::vector<TokenId> Prompt() {
    std::vector<TokenId> prompt;
    if (!requests_.empty() && choose_(3) > 0) {
      const GenerationId of = Any();
      prompt = requests_.at(of).prompt;
      const auto& heard = fake_.recorder.Of(of).answers;
      if (choose_(3) == 0 && heard.contains(0)) {
        for (const TokenId token : heard.at(0).tokens) prompt.push_back(token);
      }
      prompt.resize(static_cast<size_t>(choose_(static_cast<int64_t>(prompt.size()) + 1)));
    }
    const int64_t most = choose_(3) == 0 ? 250 : 20;
    for (const TokenId token : SomeTokens(choose_(most), static_cast<uint64_t>(choose_(1 << 20)))) {
      prompt.push_back(token);
    }
    return prompt;
  }
  void Submit() {
    GenerationRequest request = RequestOf(Prompt(), choose_(40));
    request.answers = choose_(4) == 0 ? static_cast<int32_t>(1 + choose_(6)) : 1;
    request.sampling.temperature = choose_(3) == 0 ? 0 : 1.5;
    request.sampling.seed = static_cast<uint64_t>(choose_(1000));
    request.sampling.repetition_penalty = choose_(3) == 0 ? 1.3 : 1;
    if (choose_(4) == 0) request.ends = {TokenId(static_cast<int32_t>(choose_(48)))};
    if (choose_(4) == 0) request.constraint = std::make_unique<ThirdsConstraint>();
    if (choose_(4) == 0) request.logit_bias = {{TokenId(5), 4.0f}, {TokenId(9), -100.0f}};
    request.wants_logprobs = choose_(2) == 0;
    if (choose_(4) == 0) request.top_logprobs = 3;
    request.tenant = choose_(3) == 0 ? "other" : "";
    request.priority = choose_(4) == 0 ? static_cast<int32_t>(choose_(3)) : 0;
    if (choose_(10) == 0) request.deadline_us = fake_.model.now_us + choose_(200'000);
    if (request.sampling.seed % 8 == 0) {
      request.embedding = request.sampling.seed % 16 == 0 ? Pooling::kMean : Pooling::kLast;
      request.max_tokens = 0;
      request.answers = 1;
    }
    if (!request.embedding && request.sampling.seed % 3 == 0) {
      constexpr std::array kPolicies = {"h2o:keep=0.6", "snapkv:keep=0.3,window=8,every=5",
                                        "streaming:every=16", "tova:budget=20,every=1"};
      request.policy = *PolicySettings::Parse(kPolicies[request.sampling.seed / 3 % 4]);
    }
    GenerationRequest copy = CopyOf(request);
    const Result<GenerationId> id = fake_.engine->Submit(std::move(request), fake_.recorder);
    if (id) requests_.emplace(*id, std::move(copy));
  }
  void Compare(GenerationId id, const GenerationRequest& request) {
    const Recorder::Heard& heard = fake_.recorder.Of(id);
    CHECK(heard.over);
    REQUIRE(heard.answers.size() == static_cast<size_t>(request.answers));
    const Recorder::Heard alone = Solo(request, shape_, TokenCount(400));
    const auto& solo = alone.answers;
    if (heard.answers.at(0).end == GenerationEnd::kLength) {
      CHECK(heard.embedding == alone.embedding);
      embedded += heard.embedding.empty() ? 0 : 1;
    }
    for (const auto& [index, answer] : heard.answers) {
      const bool cut =
          answer.end == GenerationEnd::kCancelled || answer.end == GenerationEnd::kDeadline;
      CHECK((cut ? answer.BeginsAs(solo.at(index)) : answer == solo.at(index)));
    }
  }

  RandomChoice choose_;
  const FakeModel::Shape shape_;
  MemoryObjectStore objects_;
  FakeEngine fake_;
  std::map<GenerationId, GenerationRequest> requests_;
};

}  // namespace

TEST_CASE("random requests, leavings and tight budgets change no answer and lose no lease") {
  EngineStats all;
  int64_t evictions = 0;
  int64_t loads = 0;
  int64_t embedded = 0;
  int64_t slices = 0;
  for (uint64_t n = 1; n <= 41; ++n) {
    const uint64_t seed = n <= 40 ? n : 1440;  // it found bytes in the hands of a tier's writes
    CAPTURE(seed);
    const auto layers = static_cast<int64_t>(seed % 3 == 0 ? 1 : seed % 10 + 1);
    RandomCrowd crowd(seed, {.window = seed % 2 == 0, .fixed = seed % 4 >= 2, .layers = layers});
    for (int i = 0; i < 600; ++i) crowd.Operate();
    crowd.Finish();
    all.finished += crowd.stats().finished;
    all.preemptions += crowd.stats().preemptions;
    all.resumed_tokens += crowd.stats().resumed_tokens;
    all.cancelled += crowd.stats().cancelled;
    all.dropped_tokens += crowd.stats().dropped_tokens;
    evictions += crowd.evictions();
    embedded += crowd.embedded;
    slices += crowd.slices();
    loads += crowd.state().loads;
  }
  // The crowd is a crowd.
  CHECK(all.finished > 1000);
  CHECK(all.preemptions > 200);
  CHECK(all.cancelled > 50);
  CHECK(all.resumed_tokens > 10'000);
  CHECK(all.dropped_tokens > 10'000);
  CHECK(evictions > 1000);
  CHECK(embedded > 100);
  CHECK(loads > 30);
  CHECK(slices > 2000);
  MESSAGE(all.finished << " finished, " << all.preemptions << " preempted, " << all.cancelled
                       << " cancelled, " << evictions << " evictions, " << loads << " loads, "
                       << slices << " slices");
}

}  // namespace cairn
