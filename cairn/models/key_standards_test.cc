#include "cairn/models/key_standards.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace cairn {
namespace {

constexpr int64_t kWidth = 8;

AttentionSpec Spec(bool turns) {
  AttentionSpec spec;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.key_width = spec.value_width = kWidth;
  if (turns) spec.rope = Rope{.width = kWidth, .scaling = {}};
  return spec;
}

ModelSpec ModelOf(size_t layers) {
  ModelSpec model;
  model.layers.resize(layers);
  return model;
}

// Keys of a known mean and spread, turned to their positions; queries of a known size.
void Show(KeyMeter& meter, const AttentionSpec& spec, int64_t tokens) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> keys, queries;
  const std::vector<float> frequencies =
      spec.rope ? RopeFrequencies(*spec.rope) : std::vector<float>();
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < spec.kv_heads; ++h) {
      std::vector<float> key;
      for (int64_t c = 0; c < kWidth; ++c) {
        key.push_back(static_cast<float>(c + 10 * h) + normal(random) * (c % 4 == 0 ? 4.0f : 1.0f));
      }
      for (size_t i = 0; i < frequencies.size(); ++i) {
        const double angle = static_cast<double>(t) * frequencies[i];
        const double a = key[i], b = key[i + frequencies.size()];
        key[i] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
        key[i + frequencies.size()] = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
      }
      keys.insert(keys.end(), key.begin(), key.end());
    }
    for (int64_t i = 0; i < spec.heads * kWidth; ++i) queries.push_back(normal(random) * 2);
  }
  SeenKeys seen;
  seen.layer = LayerIndex(1);
  seen.spec = &spec;
  seen.tokens = tokens;
  seen.queries = queries.data();
  seen.keys = keys.data();
  meter.OnKeys(seen);
}

}  // namespace

TEST_CASE("means and spreads of keys are found, turned or not") {
  for (const bool turns : {false, true}) {
    CAPTURE(turns);
    const AttentionSpec spec = Spec(turns);
    KeyMeter meter(ModelOf(2), TokenCount(8192));
    Show(meter, spec, 4000);
    const Result<KeyStandards> standards = meter.Standards();
    REQUIRE(standards);
    CHECK(standards->layers[0].mean.empty());
    const KeyStandards::Layer& layer = standards->layers[1];
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t c = 0; c < kWidth; ++c) {
        const auto i = static_cast<size_t>(h * kWidth + c);
        CHECK(layer.mean[i] == doctest::Approx(static_cast<double>(c + 10 * h)).epsilon(0.3));
        const double deviation = c % 4 == 0 ? 4 : 1;  // a pair has one
        CHECK(layer.spread[i] == doctest::Approx(std::sqrt(deviation / 2)).epsilon(0.05));
      }
    }
  }
}

TEST_CASE("too few tokens and numbers that aren't finite are refused") {
  const AttentionSpec spec = Spec(true);
  KeyMeter few(ModelOf(2), TokenCount(8192));
  Show(few, spec, 20);
  CHECK_FALSE(few.Standards());
  KeyMeter broken(ModelOf(2), TokenCount(8192));
  Show(broken, spec, 100);
  std::vector<float> infinite(kWidth * 4, HUGE_VALF);
  SeenKeys seen;
  seen.layer = LayerIndex(1);
  seen.spec = &spec;
  seen.first_position = 100;
  seen.tokens = 1;
  seen.queries = seen.keys = infinite.data();
  broken.OnKeys(seen);
  CHECK_FALSE(broken.Standards());
}

TEST_CASE("standards of another model are refused, and no two have one digest") {
  ModelSpec model = ModelOf(1);
  Rows rows;
  rows.name = "keys";
  rows.heads = 2;
  rows.width = 4;
  rows.transform = RowTransform::kStandardized;
  StateSpec state;
  state.layers.push_back({{rows}});
  KeyStandards standards;
  CHECK_FALSE(CheckStandards(standards, model, state));
  standards.layers.push_back({std::vector<float>(8), std::vector<float>(8, 1)});
  CHECK(CheckStandards(standards, model, state));
  KeyStandards other = standards;
  other.layers[0].mean[3] = 1;
  CHECK(standards.Digest() != other.Digest());
  other.layers[0].spread.pop_back();
  CHECK_FALSE(CheckStandards(other, model, state));
  for (const float spread : {0.0f, -1.0f, HUGE_VALF, std::nanf("")}) {
    KeyStandards unusable = standards;
    unusable.layers[0].spread[5] = spread;
    CHECK_FALSE(CheckStandards(unusable, model, state));
  }
  KeyStandards infinite = standards;
  infinite.layers[0].mean[0] = -HUGE_VALF;
  CHECK_FALSE(CheckStandards(infinite, model, state));
  CHECK(KeyStandards().Digest().empty());
  rows.transform = RowTransform::kRotated;
  state.layers[0].components[0] = rows;
  CHECK(CheckStandards({}, model, state));
}

}  // namespace cairn
