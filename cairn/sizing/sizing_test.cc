#include "cairn/sizing/sizing.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

constexpr StateCodecs kFloat32 = {.keys = DType::kF32, .values = DType::kF32};

Sizing MustSize(const ModelSpec& model, const SizingQuestion& question) {
  const auto sizing = SizeModel(model, question, std::nullopt);
  REQUIRE_MESSAGE(sizing.has_value(), sizing.error().message);
  return *sizing;
}

std::string SizeError(const ModelSpec& model, const SizingQuestion& question) {
  const auto sizing = SizeModel(model, question, std::nullopt);
  REQUIRE_FALSE(sizing.has_value());
  CHECK(sizing.error().IsBadInput());
  return sizing.error().message;
}

}  // namespace

// state.json holds what transformers keeps after each token count: the same rows, min(n, W - 1) of
// them in a sliding layer.
TEST_CASE("every layer of every golden keeps the bytes that the reference keeps, at each length") {
  for (const char* name : {"llama_mha", "llama_gqa", "llama_mqa", "mistral_swa", "smollm3", "gemma",
                           "gemma2", "gemma3_text"}) {
    CAPTURE(name);
    const ModelSpec model = GoldenModel(name);
    const auto state =
        nlohmann::json::parse(ReadFileForTest(std::string("tests/golden/") + name + "/state.json"));
    const auto& layers = state.at("layers");
    REQUIRE_EQ(layers.size(), model.layers.size());
    const StateSpec spec = StateSpecOf(model, kFloat32);
    std::vector<StateLayout> layouts;
    for (const LayerState& layer : spec.layers) {
      layouts.push_back(*StateLayout::Make({.layers = {layer}}));
    }
    const size_t lengths = layers[0].at("bytes_by_tokens_f32_model").size();
    REQUIRE_EQ(lengths, 112);
    for (size_t n = 1; n <= lengths; ++n) {
      CAPTURE(n);
      const TokenCount tokens(static_cast<int64_t>(n));
      int64_t total_bytes = 0;
      for (size_t i = 0; i < layouts.size(); ++i) {
        const int64_t bytes = layers[i].at("bytes_by_tokens_f32_model")[n - 1].get<int64_t>();
        CHECK_EQ(layouts[i].ContentBytes(tokens), Bytes(bytes));
        CHECK_EQ(layouts[i].ContentElements(tokens), ElementCount(bytes / 4));
        total_bytes += bytes;
      }
      const Sizing sizing = MustSize(model, {.codecs = kFloat32, .tokens = {tokens}});
      CHECK_EQ(sizing.answers[0].total.content_bytes, Bytes(total_bytes));
      CHECK_EQ(sizing.answers[0].total.content_elements, ElementCount(total_bytes / 4));
    }
  }
}

TEST_CASE("equal layers form one group, in the order of their first layer") {
  const Sizing sizing = MustSize(GoldenModel("gemma3_text"), {.tokens = {TokenCount(100)}});
  REQUIRE_EQ(sizing.groups.size(), 2);
  CHECK_EQ(sizing.groups[0].layers.size(), 6);
  CHECK_EQ(sizing.groups[0].layers.back(), LayerIndex(6));
  CHECK_EQ(sizing.groups[0].bytes_per_token, Bytes(0));
  CHECK_EQ(sizing.groups[1].layers, std::vector<LayerIndex>{LayerIndex(5)});
  CHECK_EQ(sizing.groups[1].bytes_per_token, Bytes(2 * 2 * 16 * 2));
  CHECK_EQ(sizing.bytes_per_token, Bytes(128));
  CHECK_EQ(sizing.elements_per_token, ElementCount(64));
  CHECK_EQ(sizing.fixed_bytes_per_request, Bytes(0));
}

TEST_CASE("groups add up to the model, and the batch to so many requests") {
  const std::vector<TokenCount> lengths = {TokenCount(0), TokenCount(1), TokenCount(7),
                                           TokenCount(100), TokenCount(4096)};
  for (const char* name : {"llama_mqa", "gemma2", "gemma3_text", "mistral_swa"}) {
    const Sizing sizing = MustSize(GoldenModel(name), {.batch = 3, .tokens = lengths});
    REQUIRE_EQ(sizing.answers.size(), lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
      StateAmount sum;
      for (const LayerGroup& group : sizing.groups) {
        sum.content_elements += group.amounts[i].content_elements;
        sum.content_bytes += group.amounts[i].content_bytes;
        sum.allocated_bytes += group.amounts[i].allocated_bytes;
        sum.kv_bytes += group.amounts[i].kv_bytes;
        sum.state_bytes += group.amounts[i].state_bytes;
      }
      CHECK_EQ(sum, sizing.answers[i].total);
      CHECK_EQ(sizing.answers[i].per_request.content_bytes * 3,
               sizing.answers[i].total.content_bytes);
      CHECK_EQ(sizing.answers[i].per_request.allocated_bytes * 3,
               sizing.answers[i].total.allocated_bytes);
      CHECK_GE(sum.allocated_bytes, sum.content_bytes);
    }
  }
}

TEST_CASE("more tokens never need less, and beyond the windows each adds the marginal bytes") {
  const ModelSpec model = GoldenModel("gemma2");
  std::vector<TokenCount> lengths;
  for (int64_t n = 0; n < 200; ++n) lengths.emplace_back(n);
  const Sizing sizing = MustSize(model, {.tokens = lengths});
  for (size_t n = 1; n < lengths.size(); ++n) {
    const Bytes grown =
        sizing.answers[n].total.content_bytes - sizing.answers[n - 1].total.content_bytes;
    CHECK_GE(grown, Bytes(0));
    if (n >= 8) CHECK_EQ(grown, sizing.bytes_per_token);
  }
}

TEST_CASE("keys and values may be stored in different formats") {
  const ModelSpec model = ModelFromJson(SmallConfig("llama", R"("head_dim": 32)"));
  const Sizing sizing =
      MustSize(model, {.codecs = {.keys = DType::kF32, .values = DType::kQ8_0}, .tokens = {}});
  CHECK_EQ(sizing.bytes_per_token, Bytes(4 * 2 * (32 * 4 + 34)));
}

TEST_CASE("a file's totals win over the count from shapes") {
  const ModelSpec model = GoldenModel("llama_mha");
  const auto sizing = SizeModel(model, {.tokens = {}}, WeightTotals{ElementCount(1234), Bytes(99)});
  REQUIRE(sizing.has_value());
  CHECK_EQ(sizing->parameters, ElementCount(1234));
  CHECK_EQ(*sizing->weights->bytes, Bytes(99));
}

TEST_CASE("questions without an answer are refused") {
  const ModelSpec model = GoldenModel("llama_mha");
  CHECK_EQ(SizeError(model, {.batch = 0, .tokens = {}}), "batch 0, expected 1 to 1000000");
  CHECK_EQ(SizeError(model, {.tokens = {TokenCount(-1)}}),
           "context -1, expected 0 to 1073741824 tokens");
  CHECK_EQ(SizeError(model, {.tokens = {TokenCount(int64_t{1} << 40)}}),
           "context 1099511627776, expected 0 to 1073741824 tokens");
  const ModelSpec large = ModelFromJson(SmallConfig(
      "llama", R"("num_attention_heads": 4096, "num_key_value_heads": 4096, "head_dim": 1024)"));
  CHECK_EQ(
      SizeError(large, {.codecs = kFloat32, .batch = 1000000, .tokens = {TokenCount(1 << 30)}}),
      "1000000 requests of up to 1073741824 tokens take more bytes than can be counted");
}

}  // namespace cairn
