#include "cairn/eval/form_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/eval/run.h"

namespace cairn {
namespace {

constexpr int kMostRounds = 5;
// What is foreseen may be off; the rest of the goal is for that.
constexpr double kShareForeseen = 0.85;
// Where the floor leaves less of a goal than this, so much above the floor stands for it.
constexpr double kShareAboveFloor = 0.5;
// Forms by which prices are measured: coarse enough to stand out of the floor.
constexpr size_t kProbeKeys = 3;
constexpr size_t kProbeValues = 3;
// Below this a difference of two measurements is noise.
constexpr double kLeastLoss = 1e-5;

struct Measured {
  double kl = 0;
  double copy = 0;  // over f32
};

class Search {
 public:
  Search(const FormSearch& search, const StateGoal& goal, TokenCount context) : search_(search) {
    report_.goal = goal;
    report_.context = context;
    report_.measured_tokens = search.input.context;
  }

  Result<FormReport> Run() {
    CAIRN_TRY(MeasurePrices());
    report_.kl_allowed =
        std::max(report_.goal.kl, report_.kl_floor + kShareAboveFloor * report_.goal.kl);
    const double own = report_.kl_allowed - base_kl_;
    double wanted = kShareForeseen * std::max(own, 0.0);
    for (int round = 0; round < kMostRounds && wanted > 0; ++round) {
      const LayerChoice choice = ChooseForms(*search_.model, *search_.errors, prices_,
                                             report_.context, wanted + exact_loss_);
      if (tried_.end() != std::ranges::find(tried_, choice)) break;
      tried_.push_back(choice);
      CAIRN_ASSIGN(const Measured found, Measure(choice));
      const bool good = found.kl <= report_.kl_allowed && found.copy <= report_.goal.copy_nats;
      if (good) Keep(choice, found);
      // More or less loss by as much as this one missed; copying falls off at its own pace.
      const double to_kl = own / std::max(found.kl - base_kl_, kLeastLoss);
      const double to_copy = report_.goal.copy_nats / std::max(found.copy, kLeastLoss);
      const double factor = std::clamp(std::min(to_kl, to_copy), 0.25, 4.0);
      if (good && factor < 1.1) break;
      wanted *= good ? std::min(factor, 2.0) * 0.95 : std::min(factor, 0.8) * 0.9;
    }
    if (!report_.reached) {
      report_.layers = MostExact(*search_.model, *search_.errors);
      report_.kl = base_kl_;
      report_.copy_over_f32 = base_copy_;
    }
    return report_;
  }

 private:
  StateCodecs CodecsOf(const LayerChoice& choice) const {
    StateCodecs codecs;
    codecs.layers = choice;
    return codecs;
  }

  double BytesOf(const LayerChoice& choice) const {
    const ChoiceBits bits = BitsOf(*search_.model, choice, report_.context);
    return bits.keys + bits.values;
  }

  void Keep(const LayerChoice& choice, const Measured& found) {
    if (report_.reached && BytesOf(choice) >= BytesOf(report_.layers)) return;
    report_.reached = true;
    report_.layers = choice;
    report_.kl = found.kl;
    report_.copy_over_f32 = found.copy;
  }

  Result<Measured> Measure(const LayerChoice& choice) { return Measure(CodecsOf(choice), "forms"); }

  Result<Measured> Measure(const StateCodecs& codecs, const char* name) {
    CAIRN_ASSIGN(const std::unique_ptr<Model> model, search_.load(codecs));
    const EvalSetting setting = {.name = name, .model = model.get()};
    const EvalPlan plan = {.tasks = {FindEvalTask("kl"), FindEvalTask("copy")},
                           .contexts = {search_.input.context}};
    CAIRN_ASSIGN(const std::vector<EvalRow> rows,
                 RunEval(plan, search_.input, search_.reference, {&setting, 1}));
    CAIRN_CHECK(rows.size() == 4);  // the reference's and the setting's, twice
    return Measured{rows[1].loss, rows[3].loss - rows[2].loss};
  }

  Status MeasurePrices() {
    CAIRN_ASSIGN(const Measured floor, Measure(StateCodecs(), "f16"));
    report_.kl_floor = floor.kl;
    const LayerChoice exact = MostExact(*search_.model, *search_.errors);
    CAIRN_ASSIGN(const Measured base, Measure(exact));
    base_kl_ = base.kl;
    base_copy_ = base.copy;
    const FormPrices base_errors = ErrorsOf(exact, *search_.errors);
    const LayerChoice keys = AllKeysIn(*search_.model, *search_.errors, kProbeKeys);
    CAIRN_ASSIGN(const Measured with_keys, Measure(keys));
    const LayerChoice values = AllValuesIn(*search_.model, *search_.errors, kProbeValues);
    CAIRN_ASSIGN(const Measured with_values, Measure(values));
    const auto price = [](double loss, double error) {
      return error > 0 ? std::max(loss, kLeastLoss) / error : 0;
    };
    prices_.keys =
        price(with_keys.kl - base.kl, ErrorsOf(keys, *search_.errors).keys - base_errors.keys);
    prices_.values = price(with_values.kl - base.kl,
                           ErrorsOf(values, *search_.errors).values - base_errors.values);
    exact_loss_ = ForeseenLoss(exact, *search_.errors, prices_);
    return {};
  }

  const FormSearch& search_;
  FormReport report_;
  FormPrices prices_;
  double base_kl_ = 0;  // of the most exact forms
  double base_copy_ = 0;
  double exact_loss_ = 0;  // what prices foresee for them
  std::vector<LayerChoice> tried_;
};

}  // namespace

std::span<const StateGoal> StateGoals() {
  static const std::array<StateGoal, 4> kGoals = {{{"near-lossless", 0.002, 0.02},
                                                   {"high", 0.01, 0.05},
                                                   {"balanced", 0.02, 0.07},
                                                   {"small", 0.04, 0.08}}};
  return kGoals;
}

std::string StateGoalNames() {
  std::string names;
  for (const StateGoal& goal : StateGoals()) names += (names.empty() ? "" : ", ") + goal.name;
  return names;
}

Result<StateGoal> StateGoalOf(std::string_view text) {
  for (const StateGoal& goal : StateGoals()) {
    if (goal.name == text) return goal;
  }
  double kl = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kl);
  if (error != std::errc() || end != text.data() + text.size() || !(kl > 0) || kl > 10) {
    return Fail(ErrorCode::kInvalidArgument,
                "--state-quality {}: one of {}, or a divergence in nats as 0.01, would be right",
                text, StateGoalNames());
  }
  return StateGoal{.name = std::string(text), .kl = kl, .copy_nats = std::max(0.05, 2 * kl)};
}

Result<FormReport> SearchForms(const FormSearch& search, const StateGoal& goal,
                               TokenCount context) {
  return Search(search, goal, context).Run();
}

}  // namespace cairn
