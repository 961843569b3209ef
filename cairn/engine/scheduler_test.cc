#include "cairn/engine/scheduler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cairn/engine/scheduler_for_tests.h"

namespace cairn {
namespace {

// Sizes of a generation's gaps between tokens, shortest first.
std::vector<int64_t> GapsOf(const std::vector<int64_t>& times_us) {
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < times_us.size(); ++i) gaps.push_back(times_us[i] - times_us[i - 1]);
  std::ranges::sort(gaps);
  return gaps;
}

std::string RefusalOf(FakeEngine& fake, GenerationRequest request, ErrorCode code) {
  const Result<GenerationId> id = fake.engine->Submit(std::move(request), fake.recorder);
  REQUIRE_FALSE(id.has_value());
  CHECK(id.error().code == code);
  return id.error().message;
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a long prompt among four streams stretches no gap beyond twice the usual one") {
  // A step of four answers takes 4 ms: there is room for nearly as long again, by a fixed target or
  // by the gap that is usual.
  struct Limit {
    int64_t target_step_us;
    double target_gap;
    int64_t least_tokens;  // of the prompt in a step: it must not starve
  };
  for (const Limit& limit : {Limit{7'800, 0, 36}, {0, EngineOptions{}.target_gap, 30}}) {
    CAPTURE(limit.target_step_us);
    FakeEngine::Options options;
    options.engine.target_step_us = limit.target_step_us;
    options.engine.target_gap = limit.target_gap;
    FakeEngine fake(options);
    std::vector<GenerationId> streams;
    for (uint64_t i = 0; i < 4; ++i)
      streams.push_back(fake.Submit(RequestOf(SomeTokens(20, i), 600)));
    for (const GenerationId id : streams) fake.StepUntilTokens(id, 50);
    const GenerationId prompt = fake.Submit(RequestOf(SomeTokens(6000, 99), 4));
    RunAll(*fake.engine);
    for (const GenerationId id : streams) {
      const std::vector<int64_t> gaps = GapsOf(fake.recorder.Of(id).times_us);
      CHECK(gaps.back() <= 2 * gaps[gaps.size() / 2]);
    }
    const int64_t steps = static_cast<int64_t>(fake.recorder.Of(prompt).progress.size());
    CHECK(steps <= 6000 / limit.least_tokens);
    CHECK(fake.recorder.Of(prompt).answers.at(0).tokens.size() == 4);
  }
}

TEST_CASE("without a target a prompt takes the whole step, and what is beside it waits that long") {
  FakeEngine fake;
  const GenerationId stream = fake.Submit(RequestOf(SomeTokens(20, 1), 300));
  fake.StepUntilTokens(stream, 20);
  fake.Submit(RequestOf(SomeTokens(6000, 99), 1));
  RunAll(*fake.engine);
  CHECK(GapsOf(fake.recorder.Of(stream).times_us).back() == 1000 + 511 * 100);
}

TEST_CASE("eight users with one long system prompt compute it once") {
  for (const auto& [window, fixed] : {std::pair(false, false), {true, false}, {true, true}}) {
    FakeEngine fake({.shape = {.window = window, .fixed = fixed}});
    const std::vector<TokenId> system = SomeTokens(4096, 5);
    std::vector<GenerationId> users;
    for (uint64_t i = 0; i < 8; ++i) {
      std::vector<TokenId> prompt = system;
      for (const TokenId token : SomeTokens(20, 100 + i)) prompt.push_back(token);
      users.push_back(fake.Submit(RequestOf(prompt, 5)));
    }
    RunAll(*fake.engine);
    CHECK(fake.engine->stats().prompt_tokens <= 4096 + 8 * (20 + 16));
    CHECK(fake.engine->stats().prompt_tokens >= 4096 + 8 * 10);
    for (size_t i = 1; i < users.size(); ++i) {
      CHECK(fake.recorder.Of(users[i]).usage.origin.memory >= TokenCount(4096 - 16));
    }
    fake.CheckNothingLeft();
  }
}

TEST_CASE("one that comes while its prefix is being read waits for it, and one in haste doesn't") {
  for (const bool in_haste : {false, true}) {
    FakeEngine fake({.shape = {.window = false, .fixed = true}});
    std::vector<TokenId> prompt = SomeTokens(3000, 5);
    fake.Submit(RequestOf(prompt, 2));
    fake.engine->Step();
    fake.engine->Step();
    prompt.resize(2000);
    prompt.emplace_back(1);
    GenerationRequest second = RequestOf(prompt, 2);
    second.priority = in_haste ? 1 : 0;
    const GenerationId id = fake.Submit(CopyOf(second));
    RunAll(*fake.engine);
    // One in haste takes what was kept on the way and reads the rest itself.
    CHECK((fake.engine->stats().prompt_tokens > 3001 + 500) == in_haste);
    if (!in_haste) CHECK(fake.engine->stats().prompt_tokens == 3001);
    CHECK(fake.recorder.Of(id).answers == SoloAnswers(second, {.window = false, .fixed = true}));
  }
}

TEST_CASE("higher priority goes first, and takes the place of lower where places are few") {
  FakeEngine::Options options;
  options.engine.max_running = 2;
  FakeEngine fake(options);
  std::vector<GenerationId> low;
  for (uint64_t i = 0; i < 4; ++i) low.push_back(fake.Submit(RequestOf(SomeTokens(30, i), 50)));
  fake.engine->Step();
  GenerationRequest urgent = RequestOf(SomeTokens(30, 9), 5);
  urgent.priority = 1;
  const GenerationId high = fake.Submit(std::move(urgent));
  RunAll(*fake.engine);
  CHECK(fake.recorder.order().front() == high);
  CHECK(fake.recorder.Of(low[1]).usage.preemptions == 1);
  CHECK(fake.recorder.Of(low[0]).usage.preemptions == 0);
  for (uint64_t i = 0; i < 4; ++i) {
    CHECK(fake.recorder.Of(low[i]).answers == SoloAnswers(RequestOf(SomeTokens(30, i), 50), {}));
  }
}

TEST_CASE("a tenant that asks ten times as much is served no more while another waits") {
  FakeEngine::Options options;
  options.engine.max_running = 4;
  FakeEngine fake(options);
  std::vector<GenerationId> greedy;
  std::vector<GenerationId> modest;
  for (uint64_t i = 0; i < 110; ++i) {
    GenerationRequest request = RequestOf(SomeTokens(40, i), 20);
    request.tenant = i % 11 == 10 ? "modest" : "greedy";
    (i % 11 == 10 ? modest : greedy).push_back(fake.Submit(std::move(request)));
  }
  RunAll(*fake.engine);
  // Both are served alike until the modest one has nothing more to ask: of the first twenty to end,
  // it has its ten, give or take what runs at once.
  const auto& order = fake.recorder.order();
  const auto last = std::ranges::find(order, modest.back()) - order.begin();
  CHECK(last <= 10 + 10 + 4);
}

TEST_CASE("long answers count as long prompts do") {
  FakeEngine::Options options;
  options.engine.max_running = 2;
  FakeEngine fake(options);
  std::vector<GenerationId> brief;
  for (uint64_t i = 0; i < 40; ++i) {
    const bool talks = i % 2 == 0;
    GenerationRequest request = RequestOf(SomeTokens(20, i), talks ? 200 : 2);
    request.tenant = talks ? "talks" : "asks";
    const GenerationId id = fake.Submit(std::move(request));
    if (!talks) brief.push_back(id);
  }
  RunAll(*fake.engine);
  // One long answer costs as much as all that the other tenant asks.
  const auto& order = fake.recorder.order();
  const auto last = std::ranges::find(order, brief.back()) - order.begin();
  CHECK(last <= 20 + 2);
}

TEST_CASE("who was away claims nothing for it") {
  FakeEngine::Options options;
  options.engine.max_running = 2;
  FakeEngine fake(options);
  const auto ask = [&](const char* tenant, uint64_t salt) {
    GenerationRequest request = RequestOf(SomeTokens(40, salt), 20);
    request.tenant = tenant;
    return fake.Submit(std::move(request));
  };
  for (uint64_t i = 0; i < 30; ++i) ask("early", i);
  for (int i = 0; i < 200; ++i) fake.engine->Step();
  std::vector<GenerationId> late;
  for (uint64_t i = 0; i < 20; ++i) late.push_back(ask("late", 100 + i));
  const size_t before = fake.recorder.order().size();
  RunAll(*fake.engine);
  const auto& order = fake.recorder.order();
  int64_t of_late = 0;
  for (size_t i = before; i < before + 12; ++i) {
    of_late += std::ranges::find(late, order[i]) != late.end() ? 1 : 0;
  }
  CHECK(of_late >= 4);
  CHECK(of_late <= 8);
}

TEST_CASE("a client that leaves is gone within one step, whatever its generation is doing") {
  FakeEngine::Options options;
  options.engine.max_running = 2;
  FakeEngine fake(options);
  GenerationRequest two = RequestOf(SomeTokens(10, 1), 100);
  two.answers = 2;
  const GenerationId answering = fake.Submit(std::move(two));
  fake.StepUntilTokens(answering, 4);
  const GenerationId waiting = fake.Submit(RequestOf(SomeTokens(10, 2), 100));
  fake.engine->Step();
  for (const GenerationId id : {answering, waiting}) {
    fake.engine->Cancel(id);
    fake.engine->Cancel(id);
    fake.engine->Step();
    CHECK(fake.recorder.Of(id).over);
    CHECK(fake.recorder.Of(id).answers.at(0).end == GenerationEnd::kCancelled);
    fake.engine->Cancel(id);
  }
  CHECK(fake.recorder.Of(answering).answers.at(1).end == GenerationEnd::kCancelled);
  const GenerationId reading = fake.Submit(RequestOf(SomeTokens(5000, 3), 100));
  fake.engine->Step();
  fake.engine->Cancel(reading);
  fake.CheckNothingLeft();
  CHECK(fake.recorder.Of(reading).over);
  CHECK(fake.engine->stats().cancelled == 3);
}

TEST_CASE("a deadline ends what isn't done, in the queue or out of it") {
  FakeEngine::Options options;
  options.engine.max_running = 1;
  FakeEngine fake(options);
  std::vector<GenerationId> ids;
  for (uint64_t i = 0; i < 2; ++i) {
    GenerationRequest request = RequestOf(SomeTokens(1, i), 1000);
    request.deadline_us = fake.model.now_us + 20'500;
    ids.push_back(fake.Submit(std::move(request)));
  }
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(ids[0]).answers.at(0).end == GenerationEnd::kDeadline);
  CHECK(fake.recorder.Of(ids[0]).answers.at(0).tokens.size() == 21);
  CHECK(fake.recorder.Of(ids[1]).answers.at(0).end == GenerationEnd::kDeadline);
  CHECK(fake.recorder.Of(ids[1]).answers.at(0).tokens.empty());
  fake.CheckNothingLeft();
}

TEST_CASE("an engine that is drained ends what it has begun and takes nothing new") {
  FakeEngine fake;
  const GenerationId brief = fake.Submit(RequestOf(SomeTokens(10, 1), 10));
  const GenerationId endless = fake.Submit(RequestOf(SomeTokens(10, 2), 10'000));
  fake.engine->Step();
  fake.engine->Drain(fake.model.now_us + 50'000);
  CHECK(Has(RefusalOf(fake, RequestOf(SomeTokens(10, 3), 1), ErrorCode::kCancelled),
            "shutting down"));
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(brief).answers.at(0).end == GenerationEnd::kLength);
  CHECK(fake.recorder.Of(endless).answers.at(0).end == GenerationEnd::kDeadline);
  fake.CheckNothingLeft();
}

TEST_CASE("what the budget could never hold is refused with the bytes that are missing") {
  FakeEngine::Options options{.budget = Bytes(100 * 8)};
  options.engine.context = TokenCount(1000);
  options.engine.max_waiting = 1;
  FakeEngine fake(options);
  // 97 tokens are seven blocks of 128 bytes.
  CHECK(Has(RefusalOf(fake, RequestOf(SomeTokens(90, 1), 8), ErrorCode::kUnsupported),
            "96 bytes are missing"));
  CHECK(fake.engine->MissingBytes(RequestOf(SomeTokens(90, 1), 8)) == Bytes(96));
  CHECK(fake.engine->MissingBytes(RequestOf(SomeTokens(89, 1), 8)) == Bytes(0));
  RefusalOf(fake, RequestOf({}, 1), ErrorCode::kInvalidArgument);
  fake.Submit(RequestOf(SomeTokens(89, 1), 8));
  CHECK(
      Has(RefusalOf(fake, RequestOf(SomeTokens(2, 1), 1), ErrorCode::kExhausted), "queue is full"));
  RunAll(*fake.engine);
  CHECK(fake.engine->stats().refused == 3);
  CHECK(fake.engine->stats().finished == 1);
}

TEST_CASE("options out of range make no engine") {
  FakeEngine fake;
  const auto refusal = [&](EngineOptions options) {
    const auto engine = MakeEngine(fake.model, *fake.manager, std::move(options));
    return engine ? std::string() : engine.error().message;
  };
  CHECK(refusal({}) == "");
  CHECK(Has(refusal({.context = TokenCount(0)}), "context 0"));
  CHECK(Has(refusal({.max_running = 0}), "running answers 0"));
  CHECK(Has(refusal({.max_waiting = -1}), "waiting generations -1"));
  CHECK(Has(refusal({.step_tokens = TokenCount(0)}), "tokens of a step 0"));
  CHECK(Has(refusal({.target_step_us = -1}), "target of -1"));
  CHECK(Has(refusal({.target_gap = 0.5}), "gap of 0.5"));
}

}  // namespace cairn
