#include "cairn/sizing/explain.h"

#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

Section Explain(const ModelSpec& model, SizingQuestion question) {
  const auto report = AnswerSizeRequest({.name = "m", .spec = model}, {.question = question});
  REQUIRE_MESSAGE(report.has_value(), report.error().message);
  return ExplainSection(*report);
}

}  // namespace

TEST_CASE("each group of layers and each answer is a formula with numbers filled in") {
  const Section section = Explain(GoldenModel("gemma3_text"), {.tokens = {TokenCount(4096)}});
  REQUIRE_EQ(section.notes.size(), 3);
  CHECK_EQ(section.notes[0],
           "sliding: 6 layers x (2 x 16 keys x 2 bytes + 2 x 16 values x 2 bytes) x min(T, window "
           "of 8) tokens; nothing more once it is full.");
  CHECK_EQ(section.notes[1],
           "full: 1 layer x (2 x 16 keys x 2 bytes + 2 x 16 values x 2 bytes) x T tokens; 128 "
           "bytes for each token more.");
  CHECK_EQ(section.notes[2],
           "one request of 4,096 tokens: sliding 6,144 + full 524,288 = 530,432 bytes (518.00 "
           "KiB).");
}

TEST_CASE("scales of packed forms, states and a shared prefix show in the formulas") {
  ModelSpec model = GoldenModel("llama_gqa");
  for (LayerSpec& layer : model.layers) std::get<AttentionSpec>(layer.mixer).key_width = 64;
  const Section packed = Explain(model, {.codecs = {.keys = DType::kQ8_0},
                                         .batch = 4,
                                         .tokens = {TokenCount(10)},
                                         .shared_prefix = TokenCount(5)});
  CHECK(packed.notes[0].find("34/32 bytes") != std::string::npos);
  const Section scaled =
      Explain(model, {.codecs = {.keys = DType::kLM3}, .tokens = {TokenCount(10)}});
  CHECK(scaled.notes[0].find("x (64 keys x 12/32 bytes + 1)") != std::string::npos);
  CHECK(packed.notes.back().find("first 5 tokens' rows are kept once") != std::string::npos);
  const Section fixed = Explain(ModelFromJson(SmallConfig("rwkv7")), {.tokens = {TokenCount(1)}});
  CHECK(fixed.notes[0].find("once a request") != std::string::npos);
}

TEST_CASE("attention has the name that people use") {
  CHECK_EQ(AttentionName(GoldenModel("llama_mha")), "mha");
  CHECK_EQ(AttentionName(GoldenModel("llama_gqa")), "gqa");
  CHECK_EQ(AttentionName(GoldenModel("llama_mqa")), "mqa");
  CHECK_EQ(AttentionName(GoldenModel("gemma3_text")), "gqa in a window + gqa");
}

}  // namespace cairn
