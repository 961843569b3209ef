// What the scheduler does with state: forks, preemption, tight budgets, reuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cairn/engine/scheduler_for_tests.h"
#include "cairn/engine/state_identity.h"
#include "cairn/engine/state_needs.h"
#include "cairn/state/object_store_for_tests.h"

namespace cairn {
namespace {

constexpr FakeModel::Shape kShapes[] = {{}, {.window = true}, {.fixed = true}, {true, true}};

GenerationRequest SampledRequest(std::vector<TokenId> prompt, int64_t max_tokens, uint64_t seed) {
  GenerationRequest request = RequestOf(std::move(prompt), max_tokens);
  request.sampling.temperature = 1.2;
  request.sampling.seed = seed;
  return request;
}

// Whether each token is one that the constraint, which saw those before it, allows.
bool Follows(const TokenConstraint& constraint, std::span<const TokenId> tokens) {
  const std::unique_ptr<TokenConstraint> now = constraint.Clone();
  for (const TokenId token : tokens) {
    std::vector<float> scores(FakeModel::kVocabulary);
    now->Restrict(scores);
    if (scores[static_cast<size_t>(token.value())] != 0) return false;
    now->Accept(token);
  }
  return true;
}

// Notes the turns that paths are kept with; nothing ever goes.
class TurnRecorder final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "recorder"; }
  void Add(EvictionEntry& entry) override { entry.held = true; }
  void Remove(EvictionEntry& entry) override { entry.held = false; }
  EvictionEntry* Victim() override { return nullptr; }
  void Kept(EvictionEntry& path, int64_t) override { last = path.path.turn; }

  Turn last;
};

class ToolCaller final : public GenerationListener {
 public:
  bool OnToken(const GeneratedToken& token) override { return !stops || token.answer < 0; }
  void OnEnd(const GenerationEnded&) override {}
  bool CallsTool(GenerationId, int32_t) override { return calls_tool; }

  bool stops = false;
  bool calls_tool = false;
};

}  // namespace

TEST_CASE("an answer that had to make room goes on as if nothing had been") {
  for (const FakeModel::Shape shape : kShapes) {
    // Each alone takes 16 blocks of rows; all six don't fit together.
    FakeEngine fake({.shape = shape, .budget = Bytes(40 * kRowsPerBlock * 8)});
    std::vector<GenerationRequest> requests;
    std::vector<GenerationId> ids;
    for (uint64_t i = 0; i < 6; ++i) {
      requests.push_back(SampledRequest(SomeTokens(30, i), 220, i));
      ids.push_back(fake.Submit(CopyOf(requests.back())));
    }
    while (fake.engine->Step() != Engine::Progress::kIdle) fake.Audit();
    CHECK(fake.engine->stats().preemptions > 0);
    CHECK(fake.engine->stats().preemptions <= 6);  // one each time that bytes run out, not all
    CHECK(fake.recorder.Of(ids[0]).usage.preemptions == 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      CHECK(fake.recorder.Of(ids[i]).answers == SoloAnswers(requests[i], shape));
    }
    fake.CheckNothingLeft();
  }
}

TEST_CASE("where more is taken than the scheduler knows, no more are preempted than others end") {
  // What is pinned takes half of the budget.
  FakeEngine fake(FakeEngine::Options{.budget = Bytes(80 * kRowsPerBlock * 8)});
  GenerationRequest pinned = RequestOf(SomeTokens(40 * kRowsPerBlock, 99), 0);
  const GenerationId first = fake.Submit(CopyOf(pinned));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(first).over);
  StateIdentity identity = IdentityOf(fake.model.spec(), TokenCount(16384), "fake");
  const PinId pin = fake.manager->Pin(KeyOf(identity, fake.model.layout().spec()), pinned.prompt);
  CHECK(fake.manager->PinnedTokens(pin) == TokenCount(40 * kRowsPerBlock));
  std::vector<GenerationId> ids;
  for (uint64_t i = 0; i < 6; ++i) ids.push_back(fake.Submit(RequestOf(SomeTokens(30, i), 220)));
  RunAll(*fake.engine);
  CHECK(fake.engine->stats().finished == 7);
  CHECK(fake.engine->stats().preemptions > 0);
  CHECK(fake.engine->stats().preemptions <= 6);
  fake.manager->Unpin(pin);
}

TEST_CASE("one that would fit but for what is pinned fails alone, and says so") {
  FakeEngine fake(FakeEngine::Options{.budget = Bytes(40 * kRowsPerBlock * 8)});
  const GenerationRequest pinned = RequestOf(SomeTokens(30 * kRowsPerBlock, 99), 0);
  fake.Submit(CopyOf(pinned));
  RunAll(*fake.engine);
  const StateIdentity identity = IdentityOf(fake.model.spec(), TokenCount(16384), "fake");
  const PinId pin = fake.manager->Pin(KeyOf(identity, fake.model.layout().spec()), pinned.prompt);
  const GenerationId large = fake.Submit(RequestOf(SomeTokens(20 * kRowsPerBlock, 1), 5));
  const GenerationId small = fake.Submit(RequestOf(SomeTokens(20, 2), 5));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(large).answers.at(0).end == GenerationEnd::kFailed);
  CHECK(fake.recorder.Of(large).problem.find("pinned") != std::string::npos);
  CHECK(fake.recorder.Of(small).answers.at(0).end == GenerationEnd::kLength);
  fake.manager->Unpin(pin);
  fake.CheckNothingLeft();
}

TEST_CASE("who was preempted goes on when one has ended, though others still run") {
  FakeEngine fake(FakeEngine::Options{.budget = Bytes(60 * kRowsPerBlock * 8)});
  const GenerationId lasting = fake.Submit(RequestOf(SomeTokens(30, 1), 600));
  for (uint64_t i = 2; i < 6; ++i) fake.Submit(RequestOf(SomeTokens(30, i), 200));
  RunAll(*fake.engine);
  CHECK(fake.engine->stats().preemptions > 0);
  CHECK(fake.recorder.order().back() == lasting);
}

TEST_CASE("a large request is not overtaken for ever by small ones that would fit") {
  FakeEngine fake(FakeEngine::Options{.budget = Bytes(60 * kRowsPerBlock * 8)});
  fake.Submit(RequestOf(SomeTokens(400, 1), 60));
  fake.engine->Step();
  const GenerationId large = fake.Submit(RequestOf(SomeTokens(700, 2), 5));
  std::vector<GenerationId> small;
  for (uint64_t i = 3; i < 10; ++i) small.push_back(fake.Submit(RequestOf(SomeTokens(20, i), 5)));
  RunAll(*fake.engine);
  for (const GenerationId id : small) {
    CHECK(fake.recorder.Of(id).usage.queued_us >= fake.recorder.Of(large).usage.queued_us);
  }
}

TEST_CASE("when the first of those that share a prefix ends, its bytes still count") {
  FakeEngine fake(FakeEngine::Options{.budget = Bytes(80 * kRowsPerBlock * 8)});
  std::vector<TokenId> prompt = SomeTokens(50 * kRowsPerBlock, 1);
  fake.Submit(RequestOf(prompt, 10));
  for (int32_t i = 0; i < 2; ++i) {
    prompt.back() = TokenId(i);
    fake.Submit(RequestOf(prompt, 100));
  }
  for (int i = 0; i < 30; ++i) fake.engine->Step();
  CHECK(fake.engine->stats().running == 2);
  // It would fit beside two short answers, not beside their prefix.
  fake.Submit(RequestOf(SomeTokens(40 * kRowsPerBlock, 2), 5));
  fake.engine->Step();
  CHECK(fake.engine->stats().running == 2);
  RunAll(*fake.engine);
  CHECK(fake.engine->stats().preemptions == 0);
  CHECK(fake.engine->stats().finished == 4);
}

TEST_CASE("who has the highest priority never makes room for others, though it came last") {
  FakeEngine fake(FakeEngine::Options{.budget = Bytes(40 * kRowsPerBlock * 8)});
  for (uint64_t i = 0; i < 6; ++i) fake.Submit(RequestOf(SomeTokens(30, i), 220));
  GenerationRequest urgent = RequestOf(SomeTokens(30, 7), 220);
  urgent.priority = 5;
  const GenerationId id = fake.Submit(std::move(urgent));
  RunAll(*fake.engine);
  CHECK(fake.recorder.order().front() == id);
  CHECK(fake.recorder.Of(id).usage.preemptions == 0);
  CHECK(fake.engine->stats().finished == 7);
}

TEST_CASE("thirty-two answers read their prompt once, and each is what its seed alone would give") {
  for (const FakeModel::Shape shape : kShapes) {
    for (const int64_t places : {64, 5}) {
      FakeEngine::Options options{.shape = shape};
      options.engine.max_running = places;
      FakeEngine fake(options);
      GenerationRequest request = SampledRequest(SomeTokens(500, 1), 12, 1000);
      request.answers = 32;
      request.constraint = std::make_unique<ThirdsConstraint>();
      const GenerationId id = fake.Submit(CopyOf(request));
      RunAll(*fake.engine);
      CHECK(fake.engine->stats().answer_tokens == 32 * 12);
      // The first tokens need no reading, and the last ones are never read. One that got no fork
      // resumes from the prompt; where states exist at single lengths only, the first of those
      // that run at once from the length before.
      const bool has_forks = places > 32 || (!shape.window && !shape.fixed);
      CHECK(fake.model.computed_tokens >= 500 + 32 * 11);
      CHECK(fake.model.computed_tokens <= 500 + 32 * 11 + (has_forks ? 0 : places));
      request.answers = 1;
      for (int32_t i = 0; i < 32; ++i) {
        CAPTURE(i);
        CHECK(Follows(*request.constraint, fake.recorder.Of(id).answers.at(i).tokens));
        request.sampling.seed = 1000 + static_cast<uint64_t>(i);
        CHECK(fake.recorder.Of(id).answers.at(i) == SoloAnswers(request, shape).at(0));
      }
      fake.CheckNothingLeft();
    }
  }
}

TEST_CASE("forks share their prompt's bytes") {
  FakeEngine fake;
  GenerationRequest request = SampledRequest(SomeTokens(1024, 1), 10, 3);
  request.answers = 32;
  const GenerationId id = fake.Submit(std::move(request));
  fake.StepUntilTokens(id, 32 * 5);
  // 64 blocks for all, and one for each.
  CHECK(fake.store->LiveBytes() == Bytes((64 + 32) * kRowsPerBlock * 8));
  RunAll(*fake.engine);
}

TEST_CASE("what fits alone to the byte is answered, though what is kept on the way is in its way") {
  for (const FakeModel::Shape shape : kShapes) {
    const FakeModel model(shape);
    const StateNeeds needs(model.layout(), TokenCount(16384));
    FakeEngine fake({.shape = shape, .budget = needs.Alone(TokenCount(288))});
    const GenerationRequest other = RequestOf(SomeTokens(90, 3), 90);
    const GenerationRequest request = SampledRequest(SomeTokens(200, 1), 89, 3);
    fake.Submit(CopyOf(other));
    const GenerationId id = fake.Submit(CopyOf(request));
    const GenerationId again = fake.Submit(CopyOf(request));
    RunAll(*fake.engine);
    CHECK(fake.engine->stats().finished == 3);
    CHECK(fake.recorder.Of(id).answers == SoloAnswers(request, shape));
    CHECK(fake.recorder.Of(again).answers == SoloAnswers(request, shape));
    GenerationRequest larger = RequestOf(SomeTokens(200, 1), 90);
    CHECK_FALSE(fake.engine->Submit(std::move(larger), fake.recorder).has_value());
    fake.CheckNothingLeft();
  }
}

TEST_CASE("a store of few sequences serves many requests, one behind the other") {
  FakeEngine fake(FakeEngine::Options{.max_sequences = 2});
  GenerationRequest request = SampledRequest(SomeTokens(40, 1), 10, 3);
  request.answers = 5;
  const GenerationId forked = fake.Submit(CopyOf(request));
  for (uint64_t i = 0; i < 5; ++i) fake.Submit(RequestOf(SomeTokens(40, 10 + i), 10));
  RunAll(*fake.engine);
  CHECK(fake.engine->stats().finished == 6);
  CHECK(fake.recorder.Of(forked).answers == SoloAnswers(request, {}));
}

TEST_CASE("a tenant's pinned tokens stay under pressure, and are forgotten on request") {
  for (const FakeModel::Shape shape : kShapes) {
    FakeEngine fake({.shape = shape, .budget = Bytes(int64_t{1} << 20)});
    GenerationRequest request = RequestOf(SomeTokens(200, 1), 0);
    request.tenant = "a";
    fake.Submit(CopyOf(request));
    RunAll(*fake.engine);
    const PinId nobodys = fake.engine->Pin("b", request.prompt);
    CHECK(fake.engine->UseOf(nobodys).tokens == TokenCount(0));
    const PinId pin = fake.engine->Pin("a", request.prompt);
    CHECK(fake.engine->UseOf(pin).tokens == TokenCount(200));
    CHECK(fake.engine->UseOf(pin).alone == fake.engine->PinnedBytes());
    CHECK(fake.engine->Forget("a", request.prompt, TokenCount(0)) == Bytes(0));
    fake.manager->MakeRoom(fake.engine->StateBudget());
    CHECK(fake.store->LiveBytes() == fake.engine->PinnedBytes());
    const GenerationId again = fake.Submit(CopyOf(request));
    RunAll(*fake.engine);
    CHECK(fake.recorder.Of(again).usage.origin.memory == TokenCount(199));
    fake.engine->Unpin(pin);
    fake.engine->Unpin(nobodys);
    CHECK(fake.engine->Forget("a", request.prompt, TokenCount(0)) > Bytes(0));
    CHECK(fake.store->LiveBytes() == Bytes(0));
    fake.CheckNothingLeft();
  }
}

TEST_CASE("with no answer wanted the prompt is read and kept") {
  FakeEngine fake;
  const GenerationId id = fake.Submit(RequestOf(SomeTokens(200, 1), 0));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(id).answers.at(0).end == GenerationEnd::kLength);
  CHECK(fake.recorder.Of(id).answers.at(0).tokens.empty());
  const GenerationId next = fake.Submit(RequestOf(SomeTokens(200, 1), 3));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(next).usage.origin.memory == TokenCount(199));
  CHECK(fake.recorder.Of(next).answers == SoloAnswers(RequestOf(SomeTokens(200, 1), 3), {}));
}

TEST_CASE("the next turn of a conversation reads neither the prompt nor the answer again") {
  for (const FakeModel::Shape shape : kShapes) {
    FakeEngine fake({.shape = shape});
    std::vector<TokenId> talk = SomeTokens(100, 1);
    const GenerationId first = fake.Submit(RequestOf(talk, 30));
    RunAll(*fake.engine);
    for (const TokenId token : fake.recorder.Of(first).answers.at(0).tokens) talk.push_back(token);
    for (const TokenId token : SomeTokens(10, 2)) talk.push_back(token);
    const GenerationId second = fake.Submit(RequestOf(talk, 5));
    RunAll(*fake.engine);
    CHECK(fake.recorder.Of(second).usage.origin.memory == TokenCount(129));
    CHECK(fake.recorder.Of(second).answers == SoloAnswers(RequestOf(talk, 5), shape));
  }
}

TEST_CASE("after a restart an answer is the same, and its prompt is read from the tier") {
  for (const FakeModel::Shape shape : kShapes) {
    MemoryObjectStore objects;
    objects.ends_at_once = true;
    const GenerationRequest request = SampledRequest(SomeTokens(300, 1), 20, 5);
    std::map<int32_t, RecordedAnswer> before;
    for (const bool again : {false, true}) {
      FakeEngine fake({.shape = shape, .tier = &objects});
      const GenerationId id = fake.Submit(CopyOf(request));
      RunAll(*fake.engine);
      const Recorder::Heard& heard = fake.recorder.Of(id);
      if (again) {
        CHECK(heard.usage.origin.loaded >= TokenCount(256));
        CHECK(heard.usage.origin.tier == "tier");
        CHECK(heard.answers == before);
      } else {
        CHECK(heard.usage.origin.loaded == TokenCount(0));
        before = heard.answers;
      }
      fake.CheckNothingLeft();
    }
  }
}

TEST_CASE("while one is read from a tier others go on, and who leaves then leaves nothing") {
  MemoryObjectStore objects;
  objects.ends_at_once = true;
  {
    FakeEngine fake(FakeEngine::Options{.tier = &objects});
    fake.Submit(RequestOf(SomeTokens(300, 1), 1));
    RunAll(*fake.engine);
  }
  FakeEngine fake(FakeEngine::Options{.tier = &objects});
  objects.ends_at_once = false;
  const GenerationId loading = fake.Submit(RequestOf(SomeTokens(300, 1), 5));
  CHECK(fake.engine->Step() == Engine::Progress::kWaiting);
  const GenerationId other = fake.Submit(RequestOf(SomeTokens(50, 2), 5));
  fake.StepUntilTokens(other, 3);
  CHECK(fake.recorder.Of(loading).times_us.empty());
  fake.engine->Cancel(loading);
  fake.engine->Step();
  CHECK(fake.recorder.Of(loading).over);
  objects.ends_at_once = true;
  RunAll(*fake.engine);
  fake.CheckNothingLeft();
}

TEST_CASE(
    "while another model holds the budget that they share, an answer waits and doesn't fail") {
  ByteAccount account(Bytes(40 * kRowsPerBlock * 8));
  FakeEngine fake(FakeEngine::Options{.account = &account});
  const FakeModel other({});
  const auto store = *StateStore::Make(other.layout(), {.budget = Bytes(0), .account = &account});
  const SequenceId held = *store->Create();
  REQUIRE(store->Prepare(held, TokenCount(30 * kRowsPerBlock)));
  store->Commit(held, TokenCount(30 * kRowsPerBlock));
  const GenerationRequest request = SampledRequest(SomeTokens(100, 1), 100, 5);
  const GenerationId id = fake.Submit(CopyOf(request));
  Engine::Progress progress = Engine::Progress::kComputed;
  for (int i = 0; i < 300; ++i) progress = fake.engine->Step();
  CHECK(progress == Engine::Progress::kWaiting);
  CHECK_FALSE(fake.recorder.Of(id).over);
  store->Release(held);
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(id).answers == SoloAnswers(request, {}));
}

TEST_CASE("tenants find nothing of each other") {
  FakeEngine fake;
  GenerationRequest request = RequestOf(SomeTokens(100, 1), 5);
  request.tenant = "one";
  fake.Submit(CopyOf(request));
  RunAll(*fake.engine);
  request.tenant = "two";
  const GenerationId id = fake.Submit(CopyOf(request));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(id).usage.origin.memory == TokenCount(0));
  CHECK(fake.engine->stats().prompt_tokens == 200);
}

TEST_CASE("an answer ends at an end token, when the listener says so, or where the context ends") {
  const std::vector<TokenId> whole = SoloAnswers(RequestOf(SomeTokens(10, 1), 40), {}).at(0).tokens;
  FakeEngine::Options options;
  options.engine.context = TokenCount(30);
  FakeEngine fake(options);
  const GenerationId full = fake.Submit(RequestOf(SomeTokens(10, 1), 40));
  GenerationRequest ends = RequestOf(SomeTokens(10, 1), 40);
  ends.ends = {whole[7]};
  const auto first = std::ranges::find(whole, whole[7]) - whole.begin();
  const GenerationId ended = fake.Submit(std::move(ends));
  RunAll(*fake.engine);
  fake.recorder.stop_after = 3;
  const GenerationId stopped = fake.Submit(RequestOf(SomeTokens(10, 1), 40));
  RunAll(*fake.engine);
  const auto check = [&](GenerationId id, GenerationEnd end, ptrdiff_t tokens) {
    const RecordedAnswer& answer = fake.recorder.Of(id).answers.at(0);
    CHECK(answer.end == end);
    CHECK(std::ranges::equal(answer.tokens, std::span(whole).first(static_cast<size_t>(tokens))));
  };
  check(full, GenerationEnd::kContext, 20);
  check(ended, GenerationEnd::kEnd, first);
  check(stopped, GenerationEnd::kStopped, 3);
  fake.CheckNothingLeft();
}

TEST_CASE("where nothing may come next one answer fails, and the others don't notice") {
  FakeEngine fake;
  GenerationRequest none = RequestOf(SomeTokens(10, 1), 40);
  for (int32_t i = 0; i < FakeModel::kVocabulary; ++i) {
    none.logit_bias.emplace_back(TokenId(i), -std::numeric_limits<float>::infinity());
  }
  const GenerationId failed = fake.Submit(std::move(none));
  const GenerationId good = fake.Submit(RequestOf(SomeTokens(10, 2), 40));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(failed).answers.at(0).end == GenerationEnd::kFailed);
  CHECK(fake.recorder.Of(failed).problem.find("no token may come next") != std::string::npos);
  CHECK(fake.recorder.Of(good).answers == SoloAnswers(RequestOf(SomeTokens(10, 2), 40), {}));
  CHECK(fake.engine->stats().failed == 1);
}

TEST_CASE("what is kept knows how its answer ended, and whether a tool will come back with more") {
  TurnRecorder policy;
  FakeEngine fake({.policy = &policy});
  ToolCaller listener;
  const auto turn = [&](int64_t max_tokens, bool stops, bool calls_tool) {
    listener.stops = stops;
    listener.calls_tool = calls_tool;
    REQUIRE(fake.engine->Submit(RequestOf(SomeTokens(40, 3), max_tokens), listener).has_value());
    RunAll(*fake.engine);
    return policy.last;
  };
  CHECK(turn(7, false, false).end == TurnEnd::kLength);
  CHECK(policy.last.answer == TokenCount(7));
  CHECK(turn(7, true, false).end == TurnEnd::kEndOfTurn);
  CHECK(policy.last.answer == TokenCount(1));
  CHECK(turn(7, true, true).end == TurnEnd::kToolCall);
}

}  // namespace cairn
