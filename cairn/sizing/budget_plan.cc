#include "cairn/sizing/budget_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "cairn/sizing/activations.h"
#include "cairn/sizing/weight_bytes.h"
#include "cairn/spec/state_layout.h"

namespace cairn {
namespace {

constexpr int kServer = 8;  // devices that a fast link joins

int64_t CeilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Requests of one copy: the most that any has.
RequestMix MixOfCopy(RequestMix mix, const Parallelism& parallel) {
  for (RequestGroup& group : mix.groups) group.count = CeilDiv(group.count, parallel.dp);
  return mix;
}

ActivationQuestion ActivationsOfStep(const Parallelism& parallel, int64_t chunk_tokens,
                                     int64_t requests, TokenCount longest) {
  ActivationQuestion activations;
  activations.parallel = parallel;
  activations.sequences = std::clamp<int64_t>(requests, 1, kMaxBatch);
  activations.context = std::max<int64_t>(longest.value(), 1);
  int64_t all = 0;
  if (__builtin_mul_overflow(activations.sequences, activations.context, &all)) all = chunk_tokens;
  activations.chunk_tokens = std::min(chunk_tokens, all);
  return activations;
}

ActivationQuestion ActivationsOfCopy(const CardQuestion& question, const RequestMix& mix) {
  return ActivationsOfStep(question.parallel, question.chunk_tokens, mix.Requests(), mix.Longest());
}

// A shorter context or fewer requests may not fill a chunk.
StepActivations StepsOfCopy(const CardQuestion& question, const ActivationAnswer& widths) {
  return [widths, parallel = question.parallel, chunk = question.chunk_tokens](TokenCount context,
                                                                               int64_t batch) {
    return PeakOfStep(widths, ActivationsOfStep(parallel, chunk, batch, context));
  };
}

// State of requests of one length on a card of the stage, the shared prefix once.
StateBytes StateOfStage(StateLayout layout, TokenCount prefix, int row_ranks) {
  return [layout = std::move(layout), prefix, row_ranks](TokenCount context,
                                                         int64_t batch) -> Result<Bytes> {
    RequestMix mix;
    mix.groups = {{.count = batch, .tokens = context}};
    mix.shared_prefix = std::min(prefix, context);
    CAIRN_ASSIGN(const StateAmount amount, AmountOf(layout, mix, row_ranks));
    return amount.TotalBytes();
  };
}

Result<std::vector<StageBudget>> StagesOf(const CardQuestion& question,
                                          const ModelWeights& weights) {
  const RequestMix mix = MixOfCopy(question.mix, question.parallel);
  CAIRN_ASSIGN(const auto activations,
               PeakActivations(question.model, ActivationsOfCopy(question, mix)));
  CAIRN_ASSIGN(const auto ranks, RankModels(question.model, question.parallel));
  std::vector<StageBudget> stages;
  for (size_t i = 0; i < ranks.size(); ++i) {
    CAIRN_ASSIGN(StateLayout layout,
                 StateLayout::Make(StateSpecOf(ranks[i].spec, question.codecs)));
    CAIRN_ASSIGN(const StateAmount amount, AmountOf(layout, mix, question.parallel.dcp));
    stages.push_back(
        {.stage = ranks[i].stage,
         .weights = weights.cards[i].total,
         .activations = activations.peak,
         .state = StateOfStage(std::move(layout), mix.shared_prefix, question.parallel.dcp),
         .mix = amount.TotalBytes(),
         .step = StepsOfCopy(question, activations)});
  }
  return stages;
}

Result<ModelWeights> WeightsFor(const CardQuestion& question, const Parallelism& parallel) {
  return WeighModel(question.model, parallel, question.storage, question.file);
}

Bytes MemoryOf(const CardQuestion& question) {
  if (question.memory > Bytes(0)) return question.memory;
  return question.gpu != nullptr ? question.gpu->Memory() : Bytes(0);
}

Result<BudgetQuestion> BudgetWith(const CardQuestion& question, const ModelWeights& weights) {
  const RequestMix mix = MixOfCopy(question.mix, question.parallel);
  BudgetQuestion budget;
  if (question.gpu != nullptr) budget.card = question.gpu->name;
  budget.memory = MemoryOf(question);
  budget.memory_fraction = question.memory_fraction;
  budget.cards = int64_t{question.parallel.tp} * question.parallel.pp;
  budget.overhead = question.overhead;
  CAIRN_ASSIGN(budget.stages, StagesOf(question, weights));
  budget.context = mix.Longest();
  budget.batch = mix.Requests();
  budget.most_context = kMaxStateTokens;
  return budget;
}

Section UncountedWeights(const Error& error) {
  Section section{.key = "weights", .title = "Weights"};
  section.warnings.push_back(error.message + ": no budget and no bounds with them");
  return section;
}

BoundsQuestion BoundsOf(const CardQuestion& question, const std::optional<ModelWeights>& weights) {
  const RequestMix mix = MixOfCopy(question.mix, question.parallel);
  BoundsQuestion bounds;
  bounds.model = question.model;
  bounds.parallel = question.parallel;
  bounds.codecs = question.codecs;
  bounds.weights = weights;
  bounds.context = mix.Longest();
  bounds.batch = mix.Requests();
  bounds.prompt = question.prompt;
  bounds.cached = question.cached;
  bounds.gpu = question.gpu;
  bounds.bytes_per_second = question.bytes_per_second;
  bounds.flops_per_second = question.flops_per_second;
  bounds.compute_share = question.compute_share;
  bounds.link = question.link;
  return bounds;
}

}  // namespace

Result<BudgetQuestion> BudgetOf(const CardQuestion& question) {
  CAIRN_ASSIGN(const ModelWeights weights, WeightsFor(question, question.parallel));
  return BudgetWith(question, weights);
}

Result<Parallelism> SpreadOver(const ModelSpec& model, int64_t cards) {
  if (cards < 1 || cards > kMaxCards) {
    return Fail(ErrorCode::kInvalidArgument, "{} cards, expected 1 to {}", cards, kMaxCards);
  }
  const auto layers = static_cast<int64_t>(model.layers.size());
  Parallelism parallel;
  parallel.tp = static_cast<int>(std::min<int64_t>(cards, kServer));
  if (cards % parallel.tp != 0) {
    return Fail(ErrorCode::kInvalidArgument, "{} cards aren't servers of {}", cards, kServer);
  }
  parallel.pp = static_cast<int>(cards / parallel.tp);
  if (parallel.pp > layers) {
    return Fail(ErrorCode::kInvalidArgument, "{} layers for {} stages", layers, parallel.pp);
  }
  const bool mixes = std::ranges::any_of(model.layers, [&](const LayerSpec& layer) {
    const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    return mixture != nullptr && mixture->experts >= parallel.tp;
  });
  const bool all_divide = std::ranges::all_of(model.layers, [&](const LayerSpec& layer) {
    const auto* mixture = std::get_if<MixtureSpec>(&layer.feed_forward);
    return mixture == nullptr || mixture->experts == 0 || mixture->experts % parallel.tp == 0;
  });
  if (mixes && all_divide) parallel.ep = parallel.tp;
  return parallel;
}

FleetQuestion FleetOf(const CardQuestion& question) {
  FleetQuestion fleet;
  fleet.plan = [question](int64_t cards) -> Result<ModelPlan> {
    CardQuestion spread = question;
    CAIRN_ASSIGN(spread.parallel, SpreadOver(question.model, cards));
    CAIRN_ASSIGN(const ModelWeights weights, WeightsFor(spread, spread.parallel));
    ModelPlan plan;
    CAIRN_ASSIGN(plan.stages, StagesOf(spread, weights));
    return plan;
  };
  fleet.context = question.mix.Longest();
  fleet.users = question.mix.Requests();
  fleet.memory_fraction = question.memory_fraction;
  fleet.overhead = question.overhead;
  return fleet;
}

Result<std::vector<Section>> CardSections(const CardQuestion& question) {
  std::vector<Section> sections;
  const Result<ModelWeights> weighed = WeightsFor(question, question.parallel);
  std::optional<ModelWeights> weights;
  if (weighed) {
    weights = *weighed;
    const int64_t batch =
        std::max<int64_t>(MixOfCopy(question.mix, question.parallel).Requests(), 1);
    sections.push_back(WeightsSection(question.model, question.parallel, *weights, batch));
  } else if (weighed.error().code == ErrorCode::kUnsupported) {
    sections.push_back(UncountedWeights(weighed.error()));
  } else {
    return std::unexpected(weighed.error());
  }
  const RequestMix mix = MixOfCopy(question.mix, question.parallel);
  CAIRN_ASSIGN(Section activations,
               ActivationsSection(question.model, ActivationsOfCopy(question, mix)));
  sections.push_back(std::move(activations));
  if (weights) {
    if (MemoryOf(question) > Bytes(0)) {
      CAIRN_ASSIGN(const BudgetQuestion budget, BudgetWith(question, *weights));
      CAIRN_ASSIGN(Section section, BudgetSection(budget));
      sections.push_back(std::move(section));
    }
    if (question.fleet || MemoryOf(question) == Bytes(0)) {
      CAIRN_ASSIGN(Section fleet, FleetSection(FleetOf(question)));
      sections.push_back(std::move(fleet));
    }
  }
  const BoundsQuestion bounds = BoundsOf(question, weights);
  CAIRN_ASSIGN(Section times, BoundsSection(bounds));
  sections.push_back(std::move(times));
  CAIRN_ASSIGN(Section transfers, TransfersSection(bounds));
  sections.push_back(std::move(transfers));
  return sections;
}

}  // namespace cairn
