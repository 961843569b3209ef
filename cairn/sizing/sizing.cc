#include "cairn/sizing/sizing.h"

#include <algorithm>
#include <utility>

#include "cairn/sizing/parameters.h"

namespace cairn {
namespace {

Status CheckQuestion(const SizingQuestion& question) {
  if (question.batch < 1 || question.batch > kMaxBatch) {
    return Fail(ErrorCode::kInvalidArgument, "batch {}, expected 1 to {}", question.batch,
                kMaxBatch);
  }
  return {};
}

const Alias* AliasOf(const LayerState& state) {
  return state.components.empty() ? nullptr : std::get_if<Alias>(&state.components.front());
}

// A group's state alone, as if the model had no other layers. A reader of another layer's rows
// keeps nothing, and by itself is no state that can be laid out.
StateSpec SpecOfGroup(const LayerGroup& group) {
  StateSpec spec;
  if (AliasOf(group.state) == nullptr) spec.layers.assign(group.layers.size(), group.state);
  return spec;
}

// Readers of other layers are one group, whatever layers they read.
bool Joins(const LayerGroup& group, const std::string& kind, const LayerState& state) {
  if (group.kind != kind) return false;
  return group.state == state || (AliasOf(group.state) != nullptr && AliasOf(state) != nullptr);
}

std::vector<LayerGroup> GroupLayers(const ModelSpec& model, const StateSpec& spec) {
  std::vector<LayerGroup> groups;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const std::string kind = KindOf(model.layers[i].mixer);
    const LayerState& state = spec.layers[i];
    const auto same = std::ranges::find_if(
        groups, [&](const LayerGroup& group) { return Joins(group, kind, state); });
    LayerGroup& group = same != groups.end() ? *same : groups.emplace_back();
    if (group.layers.empty()) {
      group.kind = kind;
      group.state = state;
    }
    group.layers.push_back(LayerIndex(static_cast<int32_t>(i)));
    if (const Alias* alias = AliasOf(state)) group.sources.push_back(alias->layer);
  }
  return groups;
}

Status SizeGroup(const SizingQuestion& question, LayerGroup& group) {
  CAIRN_ASSIGN(const StateLayout layout, StateLayout::Make(SpecOfGroup(group)));
  group.elements_per_token = layout.MarginalElementsPerToken();
  group.bytes_per_token = layout.MarginalBytesPerToken();
  group.fixed_bytes_per_request = layout.fixed_bytes();
  for (const RequestMix& mix : question.Mixes()) {
    CAIRN_ASSIGN(const StateAmount amount, AmountOf(layout, mix, question.row_ranks));
    group.amounts.push_back(amount);
  }
  return {};
}

}  // namespace

std::vector<RequestMix> SizingQuestion::Mixes() const {
  if (!requests.empty()) return {{.groups = requests, .shared_prefix = shared_prefix}};
  std::vector<RequestMix> mixes;
  for (const TokenCount each : tokens) {
    mixes.push_back({.groups = {{.count = batch, .tokens = each}}, .shared_prefix = shared_prefix});
  }
  return mixes;
}

std::vector<std::pair<int32_t, int32_t>> RunsOf(const std::vector<LayerIndex>& layers) {
  std::vector<std::pair<int32_t, int32_t>> runs;
  for (const LayerIndex layer : layers) {
    if (!runs.empty() && runs.back().second + 1 == layer.value()) {
      runs.back().second = layer.value();
    } else {
      runs.emplace_back(layer.value(), layer.value());
    }
  }
  return runs;
}

Result<Sizing> SizeModel(const ModelSpec& model, SizingQuestion question,
                         std::optional<WeightTotals> weights) {
  CAIRN_TRY(CheckQuestion(question));
  StateSpec spec = StateSpecOf(model, question.codecs);
  Sizing sizing;
  sizing.parameters = ParameterCount(model);
  if (weights) sizing.parameters = weights->parameters;
  sizing.weights = weights;
  sizing.groups = GroupLayers(model, spec);
  CAIRN_ASSIGN(const StateLayout layout, StateLayout::Make(std::move(spec)));
  sizing.elements_per_token = layout.MarginalElementsPerToken();
  sizing.bytes_per_token = layout.MarginalBytesPerToken();
  sizing.fixed_bytes_per_request = layout.fixed_bytes();
  for (const RequestMix& mix : question.Mixes()) {
    SizeAnswer& answer = sizing.answers.emplace_back();
    answer.tokens = mix.Longest();
    answer.requests = mix.Requests();
    CAIRN_ASSIGN(answer.total, AmountOf(layout, mix, question.row_ranks));
    const RequestMix alone = {.groups = {{.count = 1, .tokens = answer.tokens}},
                              .shared_prefix = {}};
    CAIRN_ASSIGN(answer.per_request, AmountOf(layout, alone, question.row_ranks));
  }
  for (LayerGroup& group : sizing.groups) CAIRN_TRY(SizeGroup(question, group));
  sizing.question = std::move(question);
  return sizing;
}

}  // namespace cairn
