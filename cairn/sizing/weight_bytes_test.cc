#include "cairn/sizing/weight_bytes.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

ModelSpec Mixture() {
  ModelSpec model;
  model.family = "test";
  model.vocabulary = 256;
  model.hidden = 64;
  AttentionSpec attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_width = attention.value_width = 16;
  const MixtureSpec mixture = {.experts = 8, .experts_per_token = 2, .intermediate = 32};
  model.layers.assign(4, {.mixer = attention, .feed_forward = mixture});
  return model;
}

constexpr int64_t kExpertWeights = 4 * 8 * 3 * 64 * 32;
constexpr int64_t kAllWeights =
    2 * 256 * 64 + 4 * (2 * 64 * 64 + 2 * 64 * 32 + 8 * 64 + 2 * 64) + 64 + kExpertWeights;

ModelWeights Weigh(const ModelSpec& model, std::string_view form, const Parallelism& parallel = {},
                   const std::optional<WeightTotals>& file = std::nullopt) {
  auto weights = WeighModel(model, parallel, StorageOf(model, *WeightFormatFromName(form)), file);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  return *std::move(weights);
}

const Field& FieldOf(const Section& section, std::string_view key) {
  for (const Field& field : section.fields) {
    if (field.key == key) return field;
  }
  FAIL("no field " << key);
  return section.fields.front();
}

}  // namespace

TEST_CASE("a model in BF16 takes two bytes for each weight, on one card all of them") {
  const ModelWeights weights = Weigh(Mixture(), "bf16");
  CHECK_EQ(weights.total, Bytes(2 * kAllWeights));
  CHECK_EQ(*weights.parameters, kAllWeights);
  CHECK_EQ(*weights.active, kAllWeights - kExpertWeights / 8 * 6);
  REQUIRE_EQ(weights.cards.size(), 1);
  CHECK_EQ(weights.Heaviest().total, weights.total);
}

TEST_CASE("a file's total beats the shapes', and its parts keep their proportions") {
  const WeightTotals file = {.parameters = ElementCount(kAllWeights + 7),
                             .bytes = Bytes(4 * kAllWeights)};
  const ModelWeights weights = Weigh(Mixture(), "bf16", {}, file);
  CHECK(weights.from_file);
  CHECK_EQ(weights.total, Bytes(4 * kAllWeights));
  CHECK_EQ(*weights.parameters, kAllWeights + 7);
  CHECK_EQ(weights.parts[static_cast<size_t>(WeightPart::kExperts)], Bytes(4 * kExpertWeights));
  CHECK_EQ(weights.Heaviest().total, weights.total);
}

TEST_CASE("where only a file's total is known, each card has an even share and the section warns") {
  ModelSpec model = Mixture();
  model.uncounted = "its gates aren't described";
  const WeightTotals file = {.parameters = ElementCount(1000), .bytes = Bytes(2001)};
  Parallelism two;
  two.tp = 2;
  const ModelWeights weights = Weigh(model, "bf16", two, file);
  CHECK_EQ(weights.total, Bytes(2001));
  CHECK_EQ(weights.Heaviest().total, Bytes(1001));
  CHECK_EQ(WeightsSection(model, two, weights, 1).warnings.size(), 1);
  const auto unknown =
      WeighModel(model, two, StorageOf(model, *WeightFormatFromName("bf16")), std::nullopt);
  REQUIRE_FALSE(unknown.has_value());
  CHECK_EQ(unknown.error().message,
           "the weights of this test can't be counted: its gates aren't described");
}

TEST_CASE("a step reads all but the embedding's table and the experts that nobody picks") {
  const CardWeights card = Weigh(Mixture(), "bf16").Heaviest();
  const int64_t rest = 2 * (kAllWeights - kExpertWeights - 256 * 64);
  CHECK_EQ(card.ReadBy(1), Bytes(rest + 2 * kExpertWeights / 4));
  // Two tokens: 8 x (1 - (3/4)^2) = 3.5 experts.
  CHECK_EQ(card.ReadBy(2), Bytes(rest + 2 * kExpertWeights * 7 / 16));
  CHECK_EQ(card.ReadBy(1e6), Bytes(rest + 2 * kExpertWeights));
}

TEST_CASE("a tied table is read as the head") {
  ModelSpec model = Mixture();
  model.tied_head = true;
  const CardWeights card = Weigh(model, "bf16").Heaviest();
  CHECK_EQ(card.ReadBy(1e6), card.total);
}

TEST_CASE("the fullest card of a pipeline is the one of the stage with the most") {
  Parallelism three;
  three.pp = 3;
  const ModelWeights weights = Weigh(Mixture(), "bf16", three);
  REQUIRE_EQ(weights.cards.size(), 3);
  Bytes sum;
  for (const CardWeights& card : weights.cards) {
    sum += card.total;
    CHECK_LE(card.total, weights.Heaviest().total);
  }
  CHECK_EQ(sum, weights.total);
}

TEST_CASE("the section says experts touched and the formula") {
  const ModelSpec model = Mixture();
  const Section section = WeightsSection(model, {}, Weigh(model, "bf16"), 2);
  CHECK_EQ(std::get<double>(FieldOf(section, "experts_touched").value), doctest::Approx(3.5));
  CHECK_EQ(FieldOf(section, "experts_touched").formula,
           "8 x (1 - (1 - 2 / 8)^2), if each is as likely");
  CHECK_EQ(std::get<int64_t>(FieldOf(section, "weights_bytes").value), 2 * kAllWeights);
  CHECK_EQ(std::get<double>(FieldOf(section, "bits_per_weight").value), doctest::Approx(16));
}

}  // namespace cairn
