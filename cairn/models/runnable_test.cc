#include "cairn/models/runnable.h"

#include <doctest/doctest.h>

#include <string>

#include "cairn/models/model.h"
#include "cairn/spec/families_for_tests.h"
#include "cairn/weights/weight_file.h"

namespace cairn {
namespace {

std::string Refusal(const ModelSpec& model) {
  const Status status = CheckRunnable(model);
  REQUIRE_FALSE(status.has_value());
  CHECK_EQ(status.error().code, ErrorCode::kUnsupported);
  return status.error().message;
}

}  // namespace

TEST_CASE("models of attention and gated networks can be run") {
  CHECK(CheckRunnable(GoldenModel("llama_gqa")).has_value());
  CHECK(CheckRunnable(GoldenModel("gemma3_text")).has_value());
}

TEST_CASE("the first layer of another kind is named") {
  ModelSpec model = GoldenModel("llama_mha");
  model.layers[2].mixer = RecurrentGateSpec{.width = 64};
  model.layers[3].mixer = NoMixer{};
  CHECK_EQ(Refusal(model), "llama can be sized but not run yet: layer 2 is rg_lru");

  model = GoldenModel("llama_mha");
  model.layers[1].feed_forward = MixtureSpec{};
  CHECK_EQ(Refusal(model),
           "llama can be sized but not run yet: layer 1 is a mixture of an unknown number of "
           "experts");

  model = GoldenModel("llama_mha");
  std::get<AttentionSpec>(model.layers[0].mixer).index = SparseIndexSpec{.width = 128};
  CHECK_EQ(Refusal(model), "llama can be sized but not run yet: layer 0 is full+index");
}

TEST_CASE("n-grams need gated streams, and these need both halves of a layer") {
  ModelSpec model = GoldenModel("llama_mha");
  model.layers[1].ngram = NgramSpec{.history = 1};
  CHECK_EQ(Refusal(model),
           "llama can be sized but not run yet: layer 1 is n-gram embeddings without gated "
           "streams");
  model.residual = GatedStreamsSpec{.streams = 2, .rank = 4};
  CHECK(CheckRunnable(model).has_value());
  model.layers[2].feed_forward = NoFeedForward{};
  CHECK_EQ(Refusal(model),
           "llama can be sized but not run yet: layer 2 is half a layer between gated streams");
}

TEST_CASE("a description that only sizes says why") {
  ModelSpec model = GoldenModel("llama_mha");
  model.sizing_only = "its rotation isn't described";
  CHECK_EQ(Refusal(model), "llama can be sized but not run yet: its rotation isn't described");
}

TEST_CASE("loading refuses such a model before it reads a weight") {
  ModelSpec model = GoldenModel("llama_mha");
  model.layers[0].mixer = RecurrentGateSpec{};
  auto file = OpenWeightFile("tests/golden/llama_mha");
  REQUIRE(file.has_value());
  ThreadPool pool(1);
  const auto loaded = LoadModel(std::move(*file), std::move(model), {}, pool);
  REQUIRE_FALSE(loaded.has_value());
  CHECK_EQ(loaded.error().message, "llama can be sized but not run yet: layer 0 is rg_lru");
}

}  // namespace cairn
