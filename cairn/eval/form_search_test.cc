#include "cairn/eval/form_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cairn/eval/excerpt.h"
#include "cairn/eval/induction_model_for_tests.h"

namespace cairn {
namespace {

constexpr TokenCount kContext{8192};
constexpr size_t kLayers = 3;

ModelSpec LayeredModel() {
  ModelSpec model;
  for (size_t i = 0; i < kLayers; ++i) {
    AttentionSpec attention;
    attention.heads = attention.kv_heads = 2;
    attention.key_width = attention.value_width = 64;
    model.layers.emplace_back().mixer = attention;
  }
  return model;
}

double ErrorOf(size_t form) { return 0.0001 * std::pow(4.0, static_cast<double>(form)); }

FormErrors EqualErrors() {
  FormErrors errors;
  for (size_t i = 0; i < kLayers; ++i) {
    FormErrors::Layer& layer = errors.layers.emplace_back().emplace();
    for (size_t f = 0; f < KeyForms().size(); ++f) layer.keys.push_back(ErrorOf(f));
    for (size_t f = 0; f < ValueForms().size(); ++f) layer.values.push_back(ErrorOf(f));
  }
  return errors;
}

// Goes on as the text did before, off by a noise whose square is what forms err: keys four times as
// much as values.
std::unique_ptr<Model> NoisyModel(int64_t vocabulary, const StateCodecs& codecs) {
  double error = 0;
  for (const LayerForms& forms : codecs.layers) {
    const std::vector<StateForm> keys = KeyForms();
    const std::vector<StateForm> values = ValueForms();
    error += 4 * ErrorOf(static_cast<size_t>(std::ranges::find(keys, forms.keys) - keys.begin()));
    error += ErrorOf(static_cast<size_t>(std::ranges::find(values, forms.values) - values.begin()));
  }
  return std::make_unique<InductionModel>(vocabulary, Lifetime::All(), std::sqrt(error));
}

FormReport Found(const StateGoal& goal) {
  EvalForTests made;
  const ModelSpec model = LayeredModel();
  const FormErrors errors = EqualErrors();
  FormSearch search;
  search.input = made.Input(EvalExcerpt().substr(0, 900), 256);
  search.input.windows = 1;
  search.reference = made.reference;
  search.model = &model;
  search.errors = &errors;
  search.load = [&](const StateCodecs& codecs) -> Result<std::unique_ptr<Model>> {
    return NoisyModel(made.tokenizer.vocab_size(), codecs);
  };
  const Result<FormReport> report = SearchForms(search, goal, kContext);
  REQUIRE_MESSAGE(report.has_value(), report.error().message);
  return *report;
}

double Bits(const FormReport& report) {
  const ChoiceBits bits = BitsOf(LayeredModel(), report.layers, kContext);
  return bits.keys + bits.values;
}

}  // namespace

TEST_CASE("what is found was measured within the goal, and a wider goal takes fewer bits") {
  double before = 1e9;
  for (const double kl : {0.0005, 0.002, 0.008, 0.03}) {
    CAPTURE(kl);
    const FormReport report = Found({.name = "any", .kl = kl, .copy_nats = 10});
    CHECK(report.reached);
    CHECK(report.kl <= kl);
    CHECK(report.kl_allowed == kl);
    CHECK(Bits(report) < before);
    before = Bits(report);
  }
}

TEST_CASE("copying holds a choice back that divergence would allow") {
  const FormReport free = Found({.name = "any", .kl = 0.03, .copy_nats = 10});
  const double limit = free.copy_over_f32 / 2;
  REQUIRE(limit > 0);
  const FormReport held = Found({.name = "any", .kl = 0.03, .copy_nats = limit});
  CHECK(held.reached);
  CHECK(held.copy_over_f32 <= limit);
  CHECK(Bits(held) > Bits(free));
}

TEST_CASE("a goal that nothing reaches gives the most exact forms, and says so") {
  const FormReport report = Found({.name = "any", .kl = 1e-7, .copy_nats = 1});
  CHECK_FALSE(report.reached);
  CHECK(report.layers == MostExact(LayeredModel(), EqualErrors()));
  CHECK(report.kl > 1e-7);
}

TEST_CASE("a goal is one of the names, or a divergence") {
  CHECK(StateGoalOf("high")->kl == 0.01);
  CHECK(StateGoalOf("0.005")->kl == 0.005);
  for (const char* text : {"", "hihg", "0", "-1", "nan", "0.01x", "1e9"}) {
    CAPTURE(text);
    const Result<StateGoal> goal = StateGoalOf(text);
    REQUIRE_FALSE(goal.has_value());
    CHECK(goal.error().message.find("near-lossless") != std::string::npos);
  }
}

}  // namespace cairn
