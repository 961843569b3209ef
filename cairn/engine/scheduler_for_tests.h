// An engine on a fake model (fake_model_for_tests.h) with its store. Only for tests.
#ifndef CAIRN_ENGINE_SCHEDULER_FOR_TESTS_H_
#define CAIRN_ENGINE_SCHEDULER_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cairn/engine/engine_for_tests.h"
#include "cairn/engine/fake_model_for_tests.h"
#include "cairn/engine/scheduler.h"

namespace cairn {

// Tokens that differ by `salt`.
inline std::vector<TokenId> SomeTokens(int64_t count, uint64_t salt) {
  std::vector<TokenId> tokens;
  uint64_t x = salt * 2 + 1;
  for (int64_t i = 0; i < count; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    tokens.emplace_back(static_cast<int32_t>((x >> 40) % FakeModel::kVocabulary));
  }
  return tokens;
}

inline GenerationRequest RequestOf(std::vector<TokenId> prompt, int64_t max_tokens) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  return request;
}

struct FakeEngineOptions {
  FakeModel::Shape shape = {};
  Bytes budget{int64_t{64} << 20};
  int64_t max_sequences = 1024;
  ObjectStore* tier = nullptr;
  ByteAccount* account = nullptr;
  EvictionPolicy* policy = nullptr;  // outlives the engine; null: the default
  EngineOptions engine{
      .context = TokenCount(16384), .target_step_us = 0, .target_gap = 0, .weights = "fake"};
};

class FakeEngine {
 public:
  using Options = FakeEngineOptions;

  explicit FakeEngine(Options options = {}) : model(options.shape), recorder(Clock()) {
    store = *StateStore::Make(model.layout(), {.budget = options.budget,
                                               .max_sequences = options.max_sequences,
                                               .account = options.account});
    StateManager::Options state;
    state.run_tokens = TokenCount(32);
    state.shared_policy = options.policy;
    if (options.tier != nullptr) state.tiers.push_back({.name = "tier", .objects = options.tier});
    manager = *StateManager::Make(*store, state);
    options.engine.now_us = Clock();
    engine = *MakeEngine(model, *manager, options.engine);
  }

  GenerationId Submit(GenerationRequest request) {
    const Result<GenerationId> id = engine->Submit(std::move(request), recorder);
    REQUIRE_MESSAGE(id.has_value(), (id ? "" : id.error().message));
    return *id;
  }
  // Steps until the generation has been answered with so many tokens in all.
  void StepUntilTokens(GenerationId id, size_t tokens) {
    for (int i = 0; i < 100'000 && recorder.Of(id).times_us.size() < tokens; ++i) engine->Step();
    REQUIRE(recorder.Of(id).times_us.size() >= tokens);
  }
  void Audit() const { static_cast<const Scheduler&>(*engine).Audit(); }
  // CHECKs that nothing is live but what is kept.
  void CheckNothingLeft() {
    CHECK(engine->Step() == Engine::Progress::kIdle);
    CHECK(store->sequence_count() == 0);
    Audit();
  }

  FakeModel model;
  std::unique_ptr<StateStore> store;
  std::unique_ptr<StateManager> manager;
  std::unique_ptr<Engine> engine;
  Recorder recorder;

 private:
  std::function<int64_t()> Clock() {
    return [this] { return model.now_us; };
  }
};

// What is heard of the request when nobody else is there.
inline Recorder::Heard Solo(const GenerationRequest& request, FakeModel::Shape shape,
                            TokenCount context = TokenCount(16384)) {
  FakeEngineOptions options{.shape = shape};
  options.engine.context = context;
  FakeEngine alone(options);
  GenerationRequest copy = CopyOf(request);
  copy.priority = 0;
  copy.deadline_us = 0;
  const GenerationId id = alone.Submit(std::move(copy));
  RunAll(*alone.engine);
  return alone.recorder.Of(id);
}

inline std::map<int32_t, RecordedAnswer> SoloAnswers(const GenerationRequest& request,
                                                     FakeModel::Shape shape,
                                                     TokenCount context = TokenCount(16384)) {
  return Solo(request, shape, context).answers;
}

inline GenerationRequest EmbeddingOf(std::vector<TokenId> prompt, Pooling pooling) {
  GenerationRequest request = RequestOf(std::move(prompt), 0);
  request.embedding = pooling;
  return request;
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_SCHEDULER_FOR_TESTS_H_
