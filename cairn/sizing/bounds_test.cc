#include "cairn/sizing/bounds.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>

namespace cairn {
namespace {

// 64 layers, 8 KV heads of 128: 256 KiB a token, as the guide's Qwen3-32B.
ModelSpec Qwen32B() {
  ModelSpec model;
  model.family = "qwen3";
  model.vocabulary = 151'936;
  model.hidden = 5120;
  AttentionSpec attention;
  attention.heads = 64;
  attention.kv_heads = 8;
  attention.key_width = attention.value_width = 128;
  attention.query_key_norm = true;
  model.layers.assign(64,
                      {.mixer = attention, .feed_forward = GatedMlpSpec{.intermediate = 25'600}});
  return model;
}

BoundsQuestion Question(ModelSpec model, int64_t context) {
  BoundsQuestion question;
  question.model = std::move(model);
  question.codecs = {.keys = DType::kBF16, .values = DType::kBF16};
  question.context = TokenCount(context);
  return question;
}

void Weigh(BoundsQuestion& question, std::string_view form = "bf16") {
  const auto weights =
      WeighModel(question.model, question.parallel,
                 StorageOf(question.model, *WeightFormatFromName(form)), std::nullopt);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  question.weights = *weights;
}

DecodeBound Bound(const BoundsQuestion& question) {
  const auto bound = BoundDecode(question);
  REQUIRE_MESSAGE(bound.has_value(), bound.error().message);
  return *bound;
}

const Field* FieldOf(const Section& section, std::string_view key) {
  for (const Field& field : section.fields) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

double Number(const Section& section, std::string_view key) {
  const Field* field = FieldOf(section, key);
  REQUIRE_MESSAGE(field != nullptr, std::string(key));
  return std::get<double>(field->value);
}

}  // namespace

TEST_CASE("8 GiB at 3 TB/s take 2.863 ms, 1 GB at 64 GB/s takes 15.625 ms") {
  CHECK_EQ(*Milliseconds(8589934592.0, 3e12), doctest::Approx(2.8633).epsilon(1e-4));
  CHECK_EQ(*Milliseconds(1e9, 64e9), doctest::Approx(15.625));
  CHECK_FALSE(Milliseconds(1, 0).has_value());
  BoundsQuestion question = Question(Qwen32B(), 32'768);
  question.bytes_per_second = 3e12;
  const DecodeBound bound = Bound(question);
  CHECK_EQ(bound.state_read, Bytes(int64_t{8} << 30));
  CHECK_EQ(*bound.state_ms, doctest::Approx(2.8633).epsilon(1e-4));
}

TEST_CASE("a step reads the weights once and the state of every request") {
  BoundsQuestion question = Question(Qwen32B(), 32'768);
  question.gpu = ParseGpu("H100")->gpu;
  question.batch = 4;
  Weigh(question);
  const DecodeBound bound = Bound(question);
  const int64_t table = int64_t{151'936} * 5120 * 2;
  CHECK_EQ(bound.weights_read, question.weights->total - Bytes(table));
  CHECK_EQ(bound.state_read, Bytes(int64_t{32} << 30));
  CHECK_EQ(bound.state_written, Bytes(4 * 262'144));
  CHECK_EQ(bound.step, bound.weights_read + bound.state_read + bound.state_written);
  CHECK_EQ(*bound.step_ms,
           doctest::Approx(static_cast<double>(bound.step.value()) / 3.35e12 * 1e3));
  CHECK_EQ(*bound.bound_ms, *bound.step_ms);
}

TEST_CASE("two cards read half each, and stages of a pipeline add up") {
  BoundsQuestion whole = Question(Qwen32B(), 1024);
  whole.bytes_per_second = 1e12;
  Weigh(whole);
  BoundsQuestion halves = whole;
  halves.parallel.tp = 2;
  Weigh(halves);
  CHECK_EQ(Bound(halves).state_read * 2, Bound(whole).state_read);
  CHECK_LT(*Bound(halves).step_ms, 0.51 * *Bound(whole).step_ms);
  BoundsQuestion stages = whole;
  stages.parallel.pp = 2;
  Weigh(stages);
  CHECK_EQ(Bound(stages).state_read, Bound(whole).state_read);
  CHECK_EQ(Bound(stages).weights_read, Bound(whole).weights_read);
}

TEST_CASE("large batches on short contexts are bounded by compute") {
  BoundsQuestion question = Question(Qwen32B(), 16);
  question.gpu = ParseGpu("H100")->gpu;
  question.batch = 1024;
  Weigh(question);
  const DecodeBound bound = Bound(question);
  CHECK_GT(*bound.compute_ms, *bound.step_ms);
  CHECK_EQ(*bound.bound_ms, *bound.compute_ms);
}

TEST_CASE("reading a prompt takes 2 operations for each weight and token, and its attention") {
  BoundsQuestion question = Question(Qwen32B(), 4096);
  question.flops_per_second = 1e15;
  Weigh(question);
  const auto section = BoundsSection(question);
  REQUIRE(section.has_value());
  const auto multiplied = static_cast<double>(*question.weights->multiplied);
  CHECK_EQ(Number(*section, "prefill_matrix_flops"), 2 * multiplied * 4096);
  const double pairs = 4096.0 * 4097 / 2;
  CHECK_EQ(Number(*section, "prefill_attention_flops"), 64 * pairs * 2 * 64 * 256);
  CHECK_EQ(Number(*section, "prefill_ms"),
           doctest::Approx(Number(*section, "prefill_flops") / 1e12));
  question.compute_share = 0.5;
  CHECK_EQ(Number(*BoundsSection(question), "prefill_ms"),
           doctest::Approx(Number(*section, "prefill_flops") / 1e12 * 2));
}

TEST_CASE("narrow weights are multiplied at their own rate where the device has it") {
  BoundsQuestion question = Question(Qwen32B(), 16);
  question.gpu = ParseGpu("H100")->gpu;
  Weigh(question, "fp8");
  CHECK_EQ(question.Compute(), 1979e12);
  Weigh(question, "awq");
  CHECK_EQ(question.Compute(), 989e12);
  question.gpu = ParseGpu("B200")->gpu;
  Weigh(question, "nvfp4");
  CHECK_EQ(question.Compute(), 9000e12);
}

TEST_CASE("an index saves reads, not memory") {
  LatentAttentionSpec latent;
  latent.heads = 16;
  latent.latent_width = 512;
  latent.rope_width = 64;
  latent.key_width = latent.value_width = 128;
  latent.index = SparseIndexSpec{.query_heads = 4, .width = 128};
  latent.picks = 2048;
  ModelSpec model = Qwen32B();
  for (LayerSpec& layer : model.layers) layer.mixer = latent;
  const auto section = BoundsSection(Question(model, 131'072));
  REQUIRE(section.has_value());
  CHECK_EQ(Number(*section, "sparse_read_ratio"),
           doctest::Approx(131'072.0 * 576 / (2048.0 * 576 + 131'072.0 * 128)));
}

TEST_CASE("without weights the section warns and leaves the prompt out") {
  const auto section = BoundsSection(Question(Qwen32B(), 1024));
  REQUIRE(section.has_value());
  CHECK_EQ(FieldOf(*section, "prefill_flops"), nullptr);
  CHECK_EQ(section->warnings.size(), 2);
}

TEST_CASE("questions out of range are refused") {
  CHECK_FALSE(BoundDecode(Question(Qwen32B(), -1)).has_value());
  BoundsQuestion question = Question(Qwen32B(), 100);
  question.batch = 0;
  CHECK_FALSE(BoundDecode(question).has_value());
  question = Question(Qwen32B(), 100);
  question.cached = TokenCount(101);
  CHECK_FALSE(BoundDecode(question).has_value());
  question = Question(Qwen32B(), 100);
  question.compute_share = 0;
  CHECK_FALSE(BoundDecode(question).has_value());
  question = Question(Qwen32B(), (int64_t{1} << 30) - 1);
  question.batch = 1'000'000;
  CHECK_FALSE(BoundDecode(question).has_value());
}

}  // namespace cairn
