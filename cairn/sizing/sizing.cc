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
  for (const TokenCount tokens : question.tokens) {
    if (tokens < TokenCount(0) || tokens > kMaxStateTokens) {
      return Fail(ErrorCode::kInvalidArgument, "context {}, expected 0 to {} tokens",
                  tokens.value(), kMaxStateTokens.value());
    }
  }
  return {};
}

StateAmount AmountAt(const StateLayout& layout, TokenCount tokens) {
  return {.content_elements = layout.ContentElements(tokens),
          .content_bytes = layout.ContentBytes(tokens),
          .allocated_bytes = layout.AllocatedBytes(tokens),
          .kv_bytes = layout.SeenRowBytes(tokens),
          .state_bytes = layout.fixed_content_bytes()};
}

StateAmount Times(const StateAmount& amount, int64_t factor) {
  return {.content_elements = amount.content_elements * factor,
          .content_bytes = amount.content_bytes * factor,
          .allocated_bytes = amount.allocated_bytes * factor,
          .kv_bytes = amount.kv_bytes * factor,
          .state_bytes = amount.state_bytes * factor};
}

bool Overflows(const StateAmount& amount, int64_t factor) {
  int64_t product = 0;
  const Bytes most = std::max(amount.allocated_bytes, amount.kv_bytes + amount.state_bytes);
  return __builtin_mul_overflow(most.value(), factor, &product) ||
         __builtin_mul_overflow(amount.content_elements.value(), factor, &product);
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
  for (const TokenCount tokens : question.tokens) {
    group.amounts.push_back(Times(AmountAt(layout, tokens), question.batch));
  }
  return {};
}

}  // namespace

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
  for (const TokenCount tokens : question.tokens) {
    const StateAmount amount = AmountAt(layout, tokens);
    if (Overflows(amount, question.batch)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "batch {} of {} tokens takes more bytes than can be counted", question.batch,
                  tokens.value());
    }
    sizing.answers.push_back(
        {.tokens = tokens, .per_request = amount, .total = Times(amount, question.batch)});
  }
  for (LayerGroup& group : sizing.groups) CAIRN_TRY(SizeGroup(question, group));
  sizing.question = std::move(question);
  return sizing;
}

}  // namespace cairn
