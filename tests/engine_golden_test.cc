// Every golden model behind the engine: many random requests together, in a budget so small that
// they make room for one another, are answered as each is alone, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cairn/engine/engine_for_tests.h"
#include "cairn/engine/state_needs.h"
#include "cairn/spec/state_spec_for_tests.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

constexpr TokenCount kContext(112);  // the models' own
// Sanitizers look at the same code with fewer: it runs a tenth as fast there.
const int kRequests = std::getenv("CAIRN_SLOW_BUILD") == nullptr ? 200 : 20;

// An engine on a loaded model, with a store of its own.
struct Served {
  Served(LoadedModel& loaded, Bytes budget, EngineOptions options) {
    store = *StateStore::Make(loaded.model().layout(), {.budget = budget});
    manager = *StateManager::Make(*store, {});
    options.context = kContext;
    options.weights = "a golden";
    engine = *MakeEngine(loaded.model(), *manager, std::move(options));
  }
  GenerationId Submit(const GenerationRequest& request) {
    const Result<GenerationId> id = engine->Submit(CopyOf(request), recorder);
    REQUIRE_MESSAGE(id.has_value(), (id ? "" : id.error().message));
    return *id;
  }

  std::unique_ptr<StateStore> store;
  std::unique_ptr<StateManager> manager;
  std::unique_ptr<Engine> engine;
  Recorder recorder;
};

std::map<int32_t, RecordedAnswer> Solo(LoadedModel& loaded, const GenerationRequest& request) {
  Served alone(loaded, Bytes(int64_t{1} << 30), {});
  const GenerationId id = alone.Submit(request);
  RunAll(*alone.engine);
  return alone.recorder.Of(id).answers;
}

// Begins as the golden's prompt does, more or less long, and often goes on otherwise.
GenerationRequest RandomRequest(RandomChoice& choose, const Golden& golden, int64_t vocabulary) {
  GenerationRequest request;
  const auto most = std::min<int64_t>(static_cast<int64_t>(golden.prompt.size()), 80);
  const auto end = golden.prompt.begin() + 1 + static_cast<ptrdiff_t>(choose(most));
  request.prompt.assign(golden.prompt.begin(), end);
  const int64_t more = choose(2) == 0 ? 0 : choose(20);
  for (int64_t i = 0; i < more; ++i) {
    request.prompt.emplace_back(static_cast<int32_t>(choose(vocabulary)));
  }
  request.max_tokens = choose(7);
  request.sampling.temperature = choose(2) == 0 ? 0 : 1;
  request.sampling.seed = static_cast<uint64_t>(choose(1 << 20));
  request.wants_logprobs = true;
  request.top_logprobs = static_cast<int32_t>(choose(4));
  if (choose(8) == 0) request.answers = 2;
  if (choose(4) == 0) request.constraint = std::make_unique<ThirdsConstraint>();
  return request;
}

// What is needed for the longest request alone, and half as much again.
Bytes TightBudget(LoadedModel& loaded) {
  const StateNeeds needs(loaded.model().layout(), kContext);
  const Bytes alone = needs.Alone(kContext);
  return Bytes(alone.value() + alone.value() / 2);
}

}  // namespace

TEST_CASE(
    "on every golden random requests together, preempted and resumed, give each answer's own "
    "bits") {
  int64_t preemptions = 0;
  int64_t resumed = 0;
  const std::vector<std::string> names = GoldenNames();
  for (size_t g = 0; g < names.size(); ++g) {
    CAPTURE(names[g]);
    const Golden golden = ReadGolden(names[g]);
    LoadedModel crowd_model(GoldenFolder(names[g]), {DType::kF16, DType::kF16}, 2);
    LoadedModel solo_model(GoldenFolder(names[g]), {DType::kF16, DType::kF16}, 1);
    RandomChoice choose(g + 1);
    Served crowd(crowd_model, TightBudget(crowd_model),
                 {.max_running = 9, .step_tokens = TokenCount(23), .target_step_us = 0});
    std::vector<GenerationRequest> requests;
    std::vector<GenerationId> ids;
    for (int i = 0; i < kRequests; ++i) {
      requests.push_back(RandomRequest(choose, golden, crowd_model.vocabulary()));
      ids.push_back(crowd.Submit(requests.back()));
    }
    RunAll(*crowd.engine);
    for (size_t i = 0; i < ids.size(); ++i) {
      CAPTURE(i);
      CHECK(crowd.recorder.Of(ids[i]).answers == Solo(solo_model, requests[i]));
    }
    CHECK(crowd.engine->stats().finished == kRequests);
    CHECK(crowd.store->sequence_count() == 0);
    crowd.manager->Audit();
    preemptions += crowd.engine->stats().preemptions;
    resumed += crowd.engine->stats().resumed_tokens;
  }
  CHECK(preemptions > 100);
  CHECK(resumed > 1000);
  MESSAGE(preemptions << " preemptions, " << resumed << " tokens resumed");
}

TEST_CASE("on every golden thirty-two forks of one prompt answer as their seeds alone do") {
  for (const std::string& name : GoldenNames()) {
    CAPTURE(name);
    const Golden golden = ReadGolden(name);
    LoadedModel loaded(GoldenFolder(name), {DType::kF16, DType::kF16}, 1);
    Served crowd(loaded, Bytes(int64_t{1} << 30), {.max_running = 40});
    GenerationRequest request;
    request.prompt = golden.prompt;
    request.prompt.resize(std::min<size_t>(golden.prompt.size(), 60));
    request.max_tokens = 5;
    request.answers = 32;
    request.wants_logprobs = true;
    const GenerationId id = crowd.Submit(request);
    RunAll(*crowd.engine);
    CHECK(crowd.engine->stats().prompt_tokens == static_cast<int64_t>(request.prompt.size()));
    request.answers = 1;
    for (int32_t i = 0; i < 32; i += 5) {
      CAPTURE(i);
      request.sampling.seed = static_cast<uint64_t>(i);
      CHECK(crowd.recorder.Of(id).answers.at(i) == Solo(loaded, request).at(0));
    }
  }
}

}  // namespace cairn
