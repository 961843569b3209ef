// Embeddings beside answers, on an engine with a fake model.
#include <doctest/doctest.h>

#include <vector>

#include "cairn/engine/scheduler_for_tests.h"

namespace cairn {
namespace {

constexpr FakeModel::Shape kShapes[] = {{false, false}, {true, false}, {true, true}};

std::vector<float> LastOf(std::vector<TokenId> prompt, FakeModel::Shape shape) {
  return Solo(EmbeddingOf(std::move(prompt), Pooling::kLast), shape).embedding;
}

}  // namespace

TEST_CASE("a mean is that of what each of the tokens gives as the last one") {
  for (const FakeModel::Shape shape : kShapes) {
    const std::vector<TokenId> prompt = SomeTokens(70, 3);
    std::vector<double> sums(FakeModel::kHidden);
    for (size_t size = 1; size <= prompt.size(); ++size) {
      const std::vector<float> last =
          LastOf({prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(size)}, shape);
      REQUIRE(last.size() == sums.size());
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(last[i]);
    }
    const std::vector<float> mean = Solo(EmbeddingOf(prompt, Pooling::kMean), shape).embedding;
    for (size_t i = 0; i < sums.size(); ++i) {
      CHECK(mean[i] == static_cast<float>(sums[i] / static_cast<double>(prompt.size())));
    }
  }
}

TEST_CASE("pieces, company and having to make room change no bit of an embedding") {
  int64_t preempted = 0;
  for (const FakeModel::Shape shape : kShapes) {
    for (const int64_t step_tokens : {3, 40, 512}) {
      FakeEngine::Options options{.shape = shape, .budget = Bytes(60 * kRowsPerBlock * 8)};
      options.engine.step_tokens = TokenCount(step_tokens);
      options.engine.max_running = 2;
      FakeEngine fake(options);
      std::vector<std::pair<GenerationId, GenerationRequest>> asked;
      for (uint64_t i = 0; i < 12; ++i) {
        GenerationRequest request = RequestOf(SomeTokens(60, i), 100);
        if (i % 3 != 0) {
          request =
              EmbeddingOf(SomeTokens(200, i % 5), i % 2 == 0 ? Pooling::kMean : Pooling::kLast);
        }
        asked.emplace_back(fake.Submit(CopyOf(request)), std::move(request));
      }
      // Comes while a text is being read, and takes its place.
      for (int i = 0; i < 4; ++i) fake.engine->Step();
      GenerationRequest urgent = RequestOf(SomeTokens(300, 77), 40);
      urgent.priority = 1;
      asked.emplace_back(fake.Submit(CopyOf(urgent)), std::move(urgent));
      RunAll(*fake.engine);
      for (const auto& [id, request] : asked) {
        const Recorder::Heard alone = Solo(request, shape);
        CHECK(fake.recorder.Of(id).answers == alone.answers);
        CHECK(fake.recorder.Of(id).embedding == alone.embedding);
        CHECK(alone.embedding.empty() == !request.embedding.has_value());
        preempted += request.embedding ? fake.recorder.Of(id).usage.preemptions : 0;
      }
      fake.CheckNothingLeft();
    }
  }
  CHECK(preempted > 0);
}

TEST_CASE("an embedding's state is computed anew and not kept") {
  FakeEngine fake({.shape = {.window = true, .fixed = true}});
  const std::vector<TokenId> prompt = SomeTokens(300, 3);
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLast, Pooling::kMean}) {
    const GenerationId id = fake.Submit(EmbeddingOf(prompt, pooling));
    RunAll(*fake.engine);
    CHECK(fake.recorder.Of(id).usage.origin.resumed() == TokenCount(0));
    CHECK(fake.manager->tree().stats().nodes == 0);
    CHECK(fake.store->stats().live == Bytes(0));
  }
  CHECK(fake.engine->stats().prompt_tokens == 900);
}

TEST_CASE("who leaves while its text is read gets no embedding") {
  FakeEngine::Options options;
  options.engine.step_tokens = TokenCount(50);
  FakeEngine fake(options);
  const GenerationId id = fake.Submit(EmbeddingOf(SomeTokens(300, 3), Pooling::kMean));
  fake.engine->Step();
  fake.engine->Cancel(id);
  RunAll(*fake.engine);
  CHECK(fake.recorder.Of(id).embedding.empty());
  CHECK(fake.recorder.Of(id).answers.at(0).end == GenerationEnd::kCancelled);
  fake.CheckNothingLeft();
}

}  // namespace cairn
