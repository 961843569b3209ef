#include "cairn/eval/form_choice.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cairn {
namespace {

constexpr TokenCount kContext{4096};

// Layers of 2 heads of 64 channels; the last sees a window.
ModelSpec ModelOf(size_t layers) {
  ModelSpec model;
  for (size_t i = 0; i < layers; ++i) {
    AttentionSpec attention;
    attention.heads = 4;
    attention.kv_heads = 2;
    attention.key_width = attention.value_width = 64;
    if (i + 1 == layers) attention.lifetime = Lifetime::Window(TokenCount(128));
    model.layers.emplace_back().mixer = attention;
  }
  return model;
}

// Each bit less costs four times as much.
FormErrors ErrorsWith(const std::vector<double>& keys, const std::vector<double>& values) {
  FormErrors errors;
  for (size_t i = 0; i < keys.size(); ++i) {
    FormErrors::Layer& layer = errors.layers.emplace_back().emplace();
    for (size_t f = 0; f < KeyForms().size(); ++f) {
      layer.keys.push_back(keys[i] * std::pow(4.0, static_cast<double>(f)));
    }
    for (size_t f = 0; f < ValueForms().size(); ++f) {
      layer.values.push_back(values[i] * std::pow(4.0, static_cast<double>(f)));
    }
  }
  return errors;
}

double BitsSum(const ModelSpec& model, const LayerChoice& choice) {
  const ChoiceBits bits = BitsOf(model, choice, kContext);
  return bits.keys + bits.values;
}

}  // namespace

TEST_CASE("a choice foresees no more loss than it may, and more loss buys fewer bits") {
  const ModelSpec model = ModelOf(4);
  const FormErrors errors = ErrorsWith({1, 8, 2, 1}, {0.5, 0.5, 3, 0.5});
  const FormPrices prices = {.keys = 1e-4, .values = 2e-4};
  double before = std::numeric_limits<double>::max();
  for (const double loss : {0.004, 0.01, 0.05, 0.2, 10.0}) {
    const LayerChoice choice = ChooseForms(model, errors, prices, kContext, loss);
    CHECK(ForeseenLoss(choice, errors, prices) <= loss);
    CHECK(BitsSum(model, choice) <= before);
    before = BitsSum(model, choice);
  }
  CHECK(ChooseForms(model, errors, prices, kContext, 1e9).front().keys == KeyForms().back());
}

TEST_CASE("no loss allowed leaves the most exact forms") {
  const ModelSpec model = ModelOf(3);
  const FormErrors errors = ErrorsWith({1, 1, 1}, {1, 1, 1});
  CHECK(ChooseForms(model, errors, {1, 1}, kContext, 0) == MostExact(model, errors));
}

TEST_CASE("a layer that costs more keeps more bits, and short windows are left exact longest") {
  const ModelSpec model = ModelOf(3);
  const FormErrors errors = ErrorsWith({1, 64, 1}, {1, 1, 1});
  const FormPrices prices = {.keys = 1e-4, .values = 1e-4};
  const LayerChoice choice = ChooseForms(model, errors, prices, kContext, 0.02);
  CHECK(InfoOf(choice[0].keys.codec).block_bytes < InfoOf(choice[1].keys.codec).block_bytes);
  CHECK(InfoOf(choice[0].keys.codec).block_bytes < InfoOf(choice[2].keys.codec).block_bytes);
}

TEST_CASE("layers without errors keep what they have") {
  const ModelSpec model = ModelOf(2);
  FormErrors errors = ErrorsWith({1, 1}, {1, 1});
  errors.layers[1].reset();
  const LayerChoice choice = ChooseForms(model, errors, {1, 1}, kContext, 1e9);
  CHECK(choice[1] == LayerForms());
  CHECK(choice[0].keys == KeyForms().back());
}

}  // namespace cairn
