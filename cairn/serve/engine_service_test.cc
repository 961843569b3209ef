#include "cairn/serve/engine_service.h"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>

#include "cairn/engine/engine_for_tests.h"
#include "cairn/engine/fake_model_for_tests.h"
#include "cairn/serve/fake_engine_for_tests.h"

namespace cairn {
namespace {

TokenTable Letters() {
  TokenTable table;
  for (const char* text : {"a", "b", "c", "d"}) table.Add(text, text, false);
  return table;
}

class Collector final : public AnswerObserver {
 public:
  void OnAnswerEvents(std::vector<AnswerEvent> events) override {
    const std::lock_guard lock(mutex_);
    for (AnswerEvent& event : events) {
      lasts_ += event.last ? 1 : 0;
      events_.push_back(std::move(event));
    }
    changed_.notify_all();
  }
  // Until so many jobs have ended.
  std::vector<AnswerEvent> WaitForEnds(int64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lasts_ >= count; });
    return events_;
  }
  void WaitForEvent() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !events_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AnswerEvent> events_;
  int64_t lasts_ = 0;
};

AnswerJob Job(std::vector<int32_t> prompt, int64_t max_tokens) {
  AnswerJob job;
  for (const int32_t id : prompt) job.request.prompt.emplace_back(id);
  job.request.max_tokens = max_tokens;
  return job;
}

std::string TextOf(const std::vector<AnswerEvent>& events, JobId job, int32_t answer = 0) {
  std::string text;
  for (const AnswerEvent& event : events) {
    if (event.job == job && event.answer == answer) text += event.piece.text;
  }
  return text;
}

TEST_CASE("answers of several jobs come as text, each with one end") {
  const TokenTable table = Letters();
  FakeEngine engine;
  Collector collector;
  EngineService service(engine, table, collector, {});
  AnswerJob forked = Job({2, 1}, 9);
  forked.request.answers = 2;
  CHECK(service.Submit(JobId(1), Job({0, 1, 2}, 9)));
  CHECK(service.Submit(JobId(2), std::move(forked)));
  const std::vector<AnswerEvent> events = collector.WaitForEnds(2);
  CHECK(TextOf(events, JobId(1)) == "abc");
  CHECK(TextOf(events, JobId(2), 0) == "cb");
  CHECK(TextOf(events, JobId(2), 1) == "cb");
  CHECK(service.jobs() == 0);
}

TEST_CASE("a stop string ends an answer within its step") {
  const TokenTable table = Letters();
  FakeEngine engine;
  Collector collector;
  EngineService service(engine, table, collector, {});
  AnswerJob job = Job({0, 1, 2, 3}, 9);
  job.text.stops = {"bc"};
  service.Submit(JobId(1), std::move(job));
  const std::vector<AnswerEvent> events = collector.WaitForEnds(1);
  CHECK(TextOf(events, JobId(1)) == "a");
  CHECK(events.back().end.reason == GenerationEnd::kStopped);
  CHECK(events.back().end.stop == "bc");
  CHECK(events.back().tokens == 3);
  CHECK(engine.steps == 3);
}

TEST_CASE("a cancelled job ends with the next step") {
  const TokenTable table = Letters();
  FakeEngine engine({.step_us = 1000, .ignores_end = true, .origin = {}});
  Collector collector;
  EngineService service(engine, table, collector, {});
  service.Submit(JobId(1), Job({0}, 1'000'000));
  collector.WaitForEvent();
  service.Cancel(JobId(1));
  const int64_t steps = engine.steps;
  const std::vector<AnswerEvent> events = collector.WaitForEnds(1);
  CHECK(events.back().end.reason == GenerationEnd::kCancelled);
  CHECK(engine.steps <= steps + 2);  // the one under way, and the next
}

TEST_CASE("what the engine refuses is told, and more than max_jobs are refused at once") {
  const TokenTable table = Letters();
  FakeEngine engine({.max_waiting = 1, .step_us = 1000, .ignores_end = true, .origin = {}});
  Collector collector;
  EngineService service(engine, table, collector, {.max_jobs = 2});
  CHECK(service.Submit(JobId(1), Job({0}, 1'000'000)));
  CHECK(service.Submit(JobId(2), Job({0}, 1)));
  const std::vector<AnswerEvent> events = collector.WaitForEnds(1);
  const auto end = std::ranges::find_if(events, [](const AnswerEvent& e) { return e.last; });
  CHECK(end->job == JobId(2));
  CHECK(end->kind == AnswerEvent::Kind::kRefused);
  CHECK(end->problem.code == ErrorCode::kExhausted);
  CHECK(service.Submit(JobId(3), Job({0}, 1)));
  CHECK_FALSE(service.Submit(JobId(4), Job({0}, 1)));
}

TEST_CASE("after a drain nothing new is taken, and what is there goes on") {
  const TokenTable table = Letters();
  FakeEngine engine({.step_us = 1000, .origin = {}});
  Collector collector;
  EngineService service(engine, table, collector, {});
  service.Submit(JobId(1), Job({0, 1, 2, 3}, 9));
  service.Drain(0);
  service.Submit(JobId(2), Job({0}, 9));
  const std::vector<AnswerEvent> events = collector.WaitForEnds(2);
  CHECK(TextOf(events, JobId(1)) == "abcd");
  CHECK(TextOf(events, JobId(2)).empty());
}

// Its answer is these tokens and no others.
class Script final : public TokenConstraint {
 public:
  explicit Script(std::vector<TokenId> tokens) : tokens_(std::move(tokens)) {}
  void Restrict(std::span<float> logits) override {
    for (size_t i = 0; i < logits.size(); ++i) {
      if (TokenId(static_cast<int32_t>(i)) == tokens_.at(next_)) continue;
      logits[i] = -std::numeric_limits<float>::infinity();
    }
  }
  void Accept(TokenId token) override { next_ += token == tokens_.at(next_) ? 1 : 0; }
  std::unique_ptr<TokenConstraint> Clone() const override {
    return std::make_unique<Script>(*this);
  }

 private:
  std::vector<TokenId> tokens_;
  size_t next_ = 0;
};

// Remembers what it was told last of an answer's end.
class TurnRecorder final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "recorder"; }
  void Add(EvictionEntry& entry) override { entry.held = true; }
  void Remove(EvictionEntry& entry) override { entry.held = false; }
  EvictionEntry* Victim() override { return nullptr; }
  void Kept(EvictionEntry& path, int64_t /*now_us*/) override { last = path.path.turn; }

  Turn last;
};

TEST_CASE("the policy hears of an answer that calls a tool, as its client will") {
  using Form = ToolCallReader::Form;
  constexpr TokenId kEnd(0);
  TokenTable table;
  table.Add("<end>", "<end>", true);
  for (const char* text : {"<tool_", "call>", R"({"name": "f", )", R"("arguments": {}})",
                           "</tool_call>", "well", " x"}) {
    table.Add(text, text, false);
  }
  FakeModel model({});
  for (int i = static_cast<int>(table.size()); i < FakeModel::kVocabulary; ++i) {
    table.Add(fmt::format("t{}", i), "t", false);
  }
  TurnRecorder policy;
  const auto store = *StateStore::Make(model.layout(), {.budget = Bytes(1 << 20)});
  StateManager::Options state_options;
  state_options.shared_policy = &policy;
  const auto state = *StateManager::Make(*store, state_options);
  const auto engine = *MakeEngine(model, *state, {.context = TokenCount(64)});
  const auto end_of = [&](Form form, std::vector<int32_t> answer, std::string stop = "") {
    Collector collector;
    EngineService service(*engine, table, collector, {});
    AnswerJob job = Job({9, 10, 11}, 20);
    std::vector<TokenId> script;
    for (const int32_t id : answer) script.emplace_back(id);
    job.request.constraint = std::make_unique<Script>(std::move(script));
    job.request.ends = {kEnd};
    job.calls = form;
    if (!stop.empty()) job.text.stops = {stop};
    REQUIRE(service.Submit(JobId(1), std::move(job)));
    CHECK(collector.WaitForEnds(1).back().end.reason !=
          (stop.empty() ? GenerationEnd::kStopped : GenerationEnd::kEnd));
    return policy.last.end;
  };
  CHECK(end_of(Form::kMarked, {6, 1, 2, 3, 4, 5, 0}) == TurnEnd::kToolCall);
  CHECK(end_of(Form::kMarked, {1, 2, 3, 4, 5, 7, 0}) == TurnEnd::kToolCall);
  // The end mark may be missing, or be the stop string that ends the answer.
  CHECK(end_of(Form::kMarked, {6, 1, 2, 3, 4, 0}) == TurnEnd::kToolCall);
  CHECK(end_of(Form::kMarked, {1, 2, 3, 4, 5}, "</tool_call>") == TurnEnd::kToolCall);
  CHECK(end_of(Form::kWhole, {3, 4, 0}) == TurnEnd::kToolCall);
  // What the client gets as text is no call, nor is one that nobody looks for.
  CHECK(end_of(Form::kMarked, {6, 1, 2, 7, 0}) == TurnEnd::kEndOfTurn);
  CHECK(end_of(Form::kMarked, {6, 7, 0}) == TurnEnd::kEndOfTurn);
  CHECK(end_of(Form::kNone, {6, 1, 2, 3, 4, 5, 0}) == TurnEnd::kEndOfTurn);
}

TEST_CASE("a look at the engine comes between steps, also while it idles") {
  const TokenTable table = Letters();
  FakeEngine engine;
  Collector collector;
  EngineService service(engine, table, collector, {});
  std::mutex mutex;
  std::condition_variable changed;
  int64_t context = 0;
  service.Inspect([&](const Engine& looked) {
    const std::lock_guard lock(mutex);
    context = looked.context().value();
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return context != 0; });
  CHECK(context == 64);
}

}  // namespace
}  // namespace cairn
