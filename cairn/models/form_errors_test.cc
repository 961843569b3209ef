#include "cairn/models/form_errors.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace cairn {
namespace {

constexpr int64_t kTokens = 320;

AttentionSpec Attention(Lifetime lifetime) {
  AttentionSpec attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_width = attention.value_width = 64;
  attention.scale = 0.125;
  attention.lifetime = lifetime;
  return attention;
}

std::vector<float> Normal(int64_t count, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random);
  return values;
}

FormErrors::Layer Measure(const AttentionSpec& attention, float key_scale) {
  ModelSpec model;
  model.layers.emplace_back().mixer = attention;
  KeyStandards standards;
  const size_t channels = 2 * 64;
  standards.layers.push_back(
      {std::vector<float>(channels, 0.0f), std::vector<float>(channels, 1.0f)});
  ThreadPool pool(2);
  FormMeter meter(model, TokenCount(1024), standards, pool);
  const std::vector<float> queries = Normal(kTokens * 4 * 64, 1, 1);
  const std::vector<float> keys = Normal(kTokens * 2 * 64, key_scale, 2);
  const std::vector<float> values = Normal(kTokens * 2 * 64, 1, 3);
  SeenKeys seen;
  seen.layer = LayerIndex(0);
  seen.spec = &attention;
  seen.tokens = kTokens;
  seen.queries = queries.data();
  seen.keys = keys.data();
  seen.values = values.data();
  meter.OnKeys(seen);
  REQUIRE(meter.errors().layers[0].has_value());
  return *meter.errors().layers[0];
}

}  // namespace

TEST_CASE("fewer bits have larger errors, by about the codecs' own distortion for values") {
  const FormErrors::Layer layer = Measure(Attention(Lifetime::All()), 1);
  for (size_t f = 1; f < layer.keys.size(); ++f) CHECK(layer.keys[f] > layer.keys[f - 1]);
  for (size_t f = 1; f < layer.values.size(); ++f) CHECK(layer.values[f] > layer.values[f - 1]);
  // Lloyd-Max: 0.0095 of the squares at 4 bits, 0.1175 at 2; some rows are read exactly.
  CHECK(layer.values[2] < 0.0110);
  CHECK(layer.values[2] > 0.0040);
  CHECK(layer.values[4] / layer.values[2] == doctest::Approx(12).epsilon(0.2));
}

TEST_CASE("keys that weigh more err more, and a window inside the exact rows errs not at all") {
  const FormErrors::Layer sharp = Measure(Attention(Lifetime::All()), 4);
  const FormErrors::Layer flat = Measure(Attention(Lifetime::All()), 0.25);
  CHECK(sharp.keys[3] > 10 * flat.keys[3]);
  const FormErrors::Layer near = Measure(Attention(Lifetime::Window(TokenCount(64))), 1);
  CHECK(near.keys[0] > 0);  // q8_0, which has no ends
  for (size_t f = 1; f < near.keys.size(); ++f) CHECK(near.keys[f] == 0);
  for (size_t f = 1; f < near.values.size(); ++f) CHECK(near.values[f] == 0);
}

TEST_CASE(
    "heads that aren't whole blocks of channels, and keys picked by an index, take no forms") {
  AttentionSpec attention = Attention(Lifetime::All());
  CHECK(TakesForms(attention));
  attention.key_width = 80;
  CHECK_FALSE(TakesForms(attention));
  attention.key_width = 64;
  attention.index.emplace();
  CHECK_FALSE(TakesForms(attention));
}

}  // namespace cairn
