// Pieces of prompts whose layers are shared out among steps.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "cairn/engine/scheduler_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kLayers = 30;

FakeEngineOptions Sliced(FakeModel::Shape shape = {}) {
  shape.layers = kLayers;
  FakeEngineOptions options{.shape = shape};
  options.engine.target_gap = EngineOptions{}.target_gap;
  return options;
}

// A step of four answers takes 2.8 ms, and at the end of 6,000 tokens a piece of one token 12.8.
constexpr FakeModel::Cost kMuchState = {.single_us = 700, .token_us = 800, .read_us = 2};

// Four that stream, and a prompt that arrives among them.
struct Arrival {
  explicit Arrival(FakeEngineOptions options, int64_t tokens = 6000, int64_t answer = 4000)
      : fake(std::move(options)) {
    fake.model.cost = kMuchState;
    for (uint64_t i = 0; i < 4; ++i) {
      streams.push_back(fake.Submit(RequestOf(SomeTokens(20, i), answer)));
    }
    for (const GenerationId id : streams) fake.StepUntilTokens(id, 50);
    prompt = fake.Submit(RequestOf(SomeTokens(tokens, 99), 4));
  }
  // Until a piece has some of its layers behind it.
  void StepIntoPiece() {
    const int64_t before = fake.model.slices;
    for (int i = 0; i < 1000 && fake.model.slices == before; ++i) fake.engine->Step();
    REQUIRE(fake.model.slices == before + 1);
  }
  // Of the streams while the prompt was being read.
  std::vector<int64_t> Gaps(int64_t arrived_us, int64_t read_us) {
    std::vector<int64_t> gaps;
    for (const GenerationId id : streams) {
      const std::vector<int64_t>& times_us = fake.recorder.Of(id).times_us;
      for (size_t i = 1; i < times_us.size(); ++i) {
        if (times_us[i] < arrived_us || times_us[i - 1] > read_us) continue;
        gaps.push_back(times_us[i] - times_us[i - 1]);
      }
    }
    return gaps;
  }

  FakeEngine fake;
  std::vector<GenerationId> streams;
  GenerationId prompt;
};

// Longest gap of the streams, and how long the prompt took to be read.
struct Reading {
  int64_t longest_us = 0;
  int64_t took_us = 0;
};
Reading ReadAmongStreams(FakeEngineOptions options) {
  Arrival arrival(std::move(options));
  const int64_t arrived_us = arrival.fake.model.now_us;
  arrival.fake.StepUntilTokens(arrival.prompt, 1);
  const int64_t read_us = arrival.fake.recorder.Of(arrival.prompt).times_us.front();
  return {.longest_us = std::ranges::max(arrival.Gaps(arrived_us, read_us)),
          .took_us = read_us - arrived_us};
}

}  // namespace

TEST_CASE("however much state a prompt's pieces read, no stream waits twice its usual gap") {
  constexpr int64_t kUsual = 4 * 700;
  FakeEngineOptions whole = Sliced();
  whole.shape.layers = 1;
  const Reading at_once = ReadAmongStreams(whole);
  CHECK(at_once.longest_us > 5 * kUsual);
  const Reading sliced = ReadAmongStreams(Sliced());
  CHECK(sliced.longest_us <= 2 * kUsual);
  // A piece is longer and so reads the state before it less often: the prompt is read sooner.
  CHECK(sliced.took_us < at_once.took_us);
  MESSAGE("longest gap " << sliced.longest_us << " us (" << at_once.longest_us
                         << " in one), read in " << sliced.took_us << " us (" << at_once.took_us
                         << ")");
}

TEST_CASE("by a fixed target steps stay near it as well") {
  FakeEngineOptions options = Sliced();
  options.engine.target_gap = 0;
  options.engine.target_step_us = 5'000;
  CHECK(ReadAmongStreams(options).longest_us <= 5'500);
}

TEST_CASE("where nobody streams, or regions are moved on, pieces pass all layers at once") {
  FakeEngine alone(Sliced());
  alone.model.cost = kMuchState;
  alone.Submit(RequestOf(SomeTokens(3000, 1), 4));
  RunAll(*alone.engine);
  CHECK(alone.model.slices == 0);
  Arrival fixed(Sliced({.fixed = true}), 500, 300);
  RunAll(*fixed.fake.engine);
  CHECK(fixed.fake.model.slices == 0);
}

TEST_CASE("in the middle of a piece bytes are those that are predicted") {
  for (const bool window : {false, true}) {
    Arrival arrival(Sliced({.window = window}), 400);
    for (int64_t i = 0; i < 20; ++i) {
      arrival.StepIntoPiece();
      arrival.fake.Audit();
    }
    RunAll(*arrival.fake.engine);
    arrival.fake.CheckNothingLeft();
  }
}

TEST_CASE("who leaves in the middle of a piece is gone within one step") {
  for (const bool window : {false, true}) {
    Arrival arrival(Sliced({.window = window}));
    FakeEngine& fake = arrival.fake;
    for (int i = 0; i < 40; ++i) fake.engine->Step();
    arrival.StepIntoPiece();
    const Recorder::Heard& heard = fake.recorder.Of(arrival.prompt);
    fake.engine->Cancel(arrival.prompt);
    fake.engine->Step();
    CHECK(heard.over);
    CHECK(heard.answers.at(0).end == GenerationEnd::kCancelled);
    fake.Audit();
    // What it had read before the piece is kept.
    const GenerationId again = fake.Submit(RequestOf(SomeTokens(6000, 99), 4));
    RunAll(*fake.engine);
    CHECK(fake.recorder.Of(again).usage.origin.memory > TokenCount(0));
    CHECK(fake.recorder.Of(again).answers ==
          SoloAnswers(RequestOf(SomeTokens(6000, 99), 4), {.window = window}));
    fake.CheckNothingLeft();
  }
}

TEST_CASE("when the streams end in the middle of a piece the rest of its layers follow at once") {
  Arrival arrival(Sliced());
  arrival.StepIntoPiece();
  for (const GenerationId id : arrival.streams) arrival.fake.engine->Cancel(id);
  const int64_t slices = arrival.fake.model.slices;
  arrival.fake.engine->Step();
  CHECK(arrival.fake.model.slices == slices + 1);
  CHECK(arrival.fake.recorder.Of(arrival.prompt).progress.size() >= 1);
  RunAll(*arrival.fake.engine);
  CHECK(arrival.fake.model.slices == slices + 1);
  CHECK(arrival.fake.recorder.Of(arrival.prompt).answers ==
        SoloAnswers(RequestOf(SomeTokens(6000, 99), 4), {}));
}

TEST_CASE("a piece gives way to one of higher priority where places or bytes are few") {
  FakeEngineOptions options = Sliced();
  options.engine.max_running = 5;
  Arrival arrival(options, 1000);
  FakeEngine& fake = arrival.fake;
  arrival.StepIntoPiece();
  GenerationRequest urgent = RequestOf(SomeTokens(30, 7), 5);
  urgent.priority = 1;
  const GenerationId high = fake.Submit(CopyOf(urgent));
  RunAll(*fake.engine);
  CHECK(fake.recorder.order().front() == high);
  CHECK(fake.recorder.Of(arrival.prompt).usage.preemptions == 1);
  CHECK(fake.recorder.Of(arrival.prompt).answers ==
        SoloAnswers(RequestOf(SomeTokens(1000, 99), 4), {}));
  fake.CheckNothingLeft();
}

TEST_CASE("answers whose bytes run out take a piece's place in its middle") {
  // Blocks have 128 bytes. Streams have five each when the prompt comes, and need 33 in the end;
  // the prompt needs 44.
  FakeEngineOptions options = Sliced();
  options.budget = Bytes(128 * 110);
  Arrival arrival(options, 700, 500);
  RunAll(*arrival.fake.engine);
  CHECK(arrival.fake.recorder.Of(arrival.prompt).usage.preemptions > 0);
  for (uint64_t i = 0; i < 4; ++i) {
    CHECK(arrival.fake.recorder.Of(arrival.streams[i]).answers ==
          SoloAnswers(RequestOf(SomeTokens(20, i), 500), {}));
  }
  CHECK(arrival.fake.recorder.Of(arrival.prompt).answers ==
        SoloAnswers(RequestOf(SomeTokens(700, 99), 4), {}));
  arrival.fake.CheckNothingLeft();
}

TEST_CASE("one that begins as the prompt does, up to the middle of a piece, resumes right there") {
  for (const bool window : {false, true}) {
    Arrival arrival(Sliced({.window = window}), 2000);
    FakeEngine& fake = arrival.fake;
    const Recorder::Heard& heard = fake.recorder.Of(arrival.prompt);
    while (heard.progress.empty() || heard.progress.back() < 300) {
      fake.engine->Step();
    }
    arrival.StepIntoPiece();
    const int64_t read = heard.progress.back();
    std::vector<TokenId> tokens = SomeTokens(2000, 99);
    tokens.resize(static_cast<size_t>(read) + 5);
    for (const TokenId token : SomeTokens(20, 5)) tokens.push_back(token);
    const GenerationId second = fake.Submit(RequestOf(tokens, 4));
    fake.Audit();
    RunAll(*fake.engine);
    CHECK(fake.recorder.Of(second).usage.origin.memory >= TokenCount(read + 5));
    CHECK(fake.recorder.Of(second).answers ==
          SoloAnswers(RequestOf(tokens, 4), {.window = window}));
    CHECK(heard.answers == SoloAnswers(RequestOf(SomeTokens(2000, 99), 4), {.window = window}));
    fake.CheckNothingLeft();
  }
}

TEST_CASE(
    "several answers and embeddings of a prompt that is read in slices are what they are alone") {
  Arrival arrival(Sliced({.window = true}), 300);
  FakeEngine& fake = arrival.fake;
  GenerationRequest forks = RequestOf(SomeTokens(200, 31), 20);
  forks.answers = 4;
  forks.sampling = {.temperature = 1, .seed = 5};
  const GenerationRequest copy = CopyOf(forks);
  const GenerationId forked = fake.Submit(std::move(forks));
  std::vector<GenerationId> embeddings;
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLast}) {
    embeddings.push_back(fake.Submit(EmbeddingOf(SomeTokens(250, 41), pooling)));
  }
  RunAll(*fake.engine);
  CHECK(fake.model.slices > 20);
  CHECK(fake.recorder.Of(forked).answers == SoloAnswers(copy, {.window = true}));
  CHECK(fake.recorder.Of(embeddings[0]).embedding ==
        Solo(EmbeddingOf(SomeTokens(250, 41), Pooling::kMean), {.window = true}).embedding);
  CHECK(fake.recorder.Of(embeddings[1]).embedding ==
        Solo(EmbeddingOf(SomeTokens(250, 41), Pooling::kLast), {.window = true}).embedding);
  fake.CheckNothingLeft();
}

TEST_CASE("prompts of two tenants that are read in slices go on side by side") {
  Arrival arrival(Sliced(), 10);
  FakeEngine& fake = arrival.fake;
  fake.StepUntilTokens(arrival.prompt, 4);
  std::vector<GenerationId> prompts;
  for (const char* tenant : {"one", "two"}) {
    GenerationRequest request = RequestOf(SomeTokens(2000, 50), 4);
    request.tenant = tenant;
    prompts.push_back(fake.Submit(std::move(request)));
  }
  const auto done = [&](GenerationId id) {
    const auto& progress = fake.recorder.Of(id).progress;
    return progress.empty() ? 0 : progress.back();
  };
  while (done(prompts[0]) < 1000) {
    fake.engine->Step();
    CHECK(std::abs(done(prompts[0]) - done(prompts[1])) <= 2 * StepCost::kMostPieceTokens);
  }
}

}  // namespace cairn
