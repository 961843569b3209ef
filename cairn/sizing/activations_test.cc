#include "cairn/sizing/activations.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>

namespace cairn {
namespace {

// The layer of the guide: 32 heads and 8 KV heads of 128, 4,096 channels, 12,288 inside.
ModelSpec Qwen8B() {
  ModelSpec model;
  model.family = "qwen3";
  model.vocabulary = 151'936;
  model.hidden = 4096;
  AttentionSpec attention;
  attention.heads = 32;
  attention.kv_heads = 8;
  attention.key_width = attention.value_width = 128;
  model.layers.assign(36,
                      {.mixer = attention, .feed_forward = GatedMlpSpec{.intermediate = 12'288}});
  return model;
}

ActivationQuestion Chunk(int64_t tokens, int64_t context = 0, int tp = 1) {
  ActivationQuestion question;
  question.chunk_tokens = tokens;
  question.context = context;
  question.parallel.tp = tp;
  return question;
}

Section SectionOf(const ModelSpec& model, const ActivationQuestion& question) {
  auto section = ActivationsSection(model, question);
  REQUIRE_MESSAGE(section.has_value(), section.error().message);
  return *std::move(section);
}

int64_t Number(const Section& section, std::string_view key) {
  for (const Field& field : section.fields) {
    if (field.key == key) return std::get<int64_t>(field.value);
  }
  FAIL("no field " << key);
  return 0;
}

}  // namespace

TEST_CASE("scores of 32 heads at 32K: 68.7 GB, 137.4 GB to write and read, 274.9 GB with softmax") {
  const Section section = SectionOf(Qwen8B(), Chunk(8192, 32'768));
  CHECK_EQ(Number(section, "score_matrix_bytes_per_head"), int64_t{2} << 30);
  CHECK_EQ(Number(section, "score_matrix_bytes"), 68'719'476'736);
  CHECK_EQ(Number(section, "score_traffic_bytes"), 137'438'953'472);
  CHECK_EQ(Number(section, "softmax_traffic_bytes"), 137'438'953'472);
  CHECK_EQ(Number(section, "score_traffic_avoided_bytes"), 274'877'906'944);
}

TEST_CASE("128 heads at 32K would write 256 GiB of scores") {
  CHECK_EQ(*ScoreMatrixBytes(128, 32'768, 2), Bytes(int64_t{256} << 30));
}

TEST_CASE("of a layer's 15 activations 2 are kept, 1 passed on, 2 residual and 10 dropped") {
  const Section section = SectionOf(Qwen8B(), Chunk(1));
  CHECK_EQ(Number(section, "activations"), 15);
  CHECK_EQ(Number(section, "kept"), 2);
  CHECK_EQ(Number(section, "passed_on"), 1);
  CHECK_EQ(Number(section, "residual"), 2);
  CHECK_EQ(Number(section, "dropped"), 10);
  REQUIRE_EQ(section.tables[0].key, "lifecycle");
  CHECK_EQ(section.tables[0].rows.size(), 15);
}

TEST_CASE("the peak of a dense layer is where gate, up and their product are live") {
  const auto answer = PeakActivations(Qwen8B(), Chunk(1000));
  REQUIRE(answer.has_value());
  CHECK_EQ(answer->stage, "activation");
  CHECK_EQ(answer->live_width, 4096 + 3 * 12'288);
  CHECK_EQ(answer->peak, Bytes((4096 + 3 * 12'288) * 1000 * 2));
  CHECK_EQ(answer->logits, Bytes(151'936 * 4));
}

TEST_CASE("tensor parallel cards divide all but the residual stream") {
  const auto answer = PeakActivations(Qwen8B(), Chunk(1000, 0, 4));
  REQUIRE(answer.has_value());
  CHECK_EQ(answer->stage, "gate and up");
  CHECK_EQ(answer->peak, Bytes((2 * 4096 + 2 * 3072) * 1000 * 2));
  CHECK_EQ(answer->logits, Bytes(151'936 / 4 * 4));
}

TEST_CASE("logits of many sequences can be the peak") {
  ActivationQuestion question = Chunk(512);
  question.sequences = 512;
  const auto answer = PeakActivations(Qwen8B(), question);
  REQUIRE(answer.has_value());
  CHECK_EQ(answer->stage, "logits");
  CHECK_EQ(answer->peak, Bytes(int64_t{512} * 151'936 * 4 + int64_t{512} * 4096 * 2));
}

TEST_CASE("the peak grows with the chunk") {
  Bytes last;
  for (const int64_t tokens : {1, 16, 256, 4096, 65'536}) {
    const auto answer = PeakActivations(Qwen8B(), Chunk(tokens));
    REQUIRE(answer.has_value());
    CHECK_GT(answer->peak, last);
    last = answer->peak;
  }
}

TEST_CASE("questions out of range are refused, and so are scores beyond 63 bits") {
  for (const int64_t tokens : {int64_t{0}, int64_t{-1}, kMaxChunk + 1}) {
    CHECK_FALSE(ActivationsSection(Qwen8B(), Chunk(tokens)).has_value());
  }
  CHECK_FALSE(ActivationsSection(Qwen8B(), Chunk(1, -1)).has_value());
  CHECK_FALSE(ScoreMatrixBytes(16'384, int64_t{1} << 30, 8).has_value());
}

}  // namespace cairn
