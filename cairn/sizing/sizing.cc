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
          .allocated_bytes = layout.AllocatedBytes(tokens)};
}

StateAmount Times(const StateAmount& amount, int64_t factor) {
  return {.content_elements = amount.content_elements * factor,
          .content_bytes = amount.content_bytes * factor,
          .allocated_bytes = amount.allocated_bytes * factor};
}

bool Overflows(const StateAmount& amount, int64_t factor) {
  int64_t product = 0;
  return __builtin_mul_overflow(amount.allocated_bytes.value(), factor, &product) ||
         __builtin_mul_overflow(amount.content_elements.value(), factor, &product);
}

// A group's state alone, as if the model had no other layers. A reader of another layer's rows
// keeps nothing, and by itself is no state that can be laid out.
StateSpec SpecOfGroup(const LayerGroup& group) {
  StateSpec spec;
  const bool alias = std::ranges::any_of(group.state.components, [](const Component& component) {
    return std::holds_alternative<Alias>(component);
  });
  if (!alias) spec.layers.assign(group.layers.size(), group.state);
  return spec;
}

std::vector<LayerGroup> GroupLayers(const StateSpec& spec) {
  std::vector<LayerGroup> groups;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const auto same = std::ranges::find(groups, spec.layers[i], &LayerGroup::state);
    LayerGroup& group = same != groups.end() ? *same : groups.emplace_back();
    group.state = spec.layers[i];
    group.layers.push_back(LayerIndex(static_cast<int32_t>(i)));
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

Result<Sizing> SizeModel(const ModelSpec& model, SizingQuestion question,
                         std::optional<WeightTotals> weights) {
  CAIRN_TRY(CheckQuestion(question));
  StateSpec spec = StateSpecOf(model, question.codecs);
  Sizing sizing;
  sizing.parameters = weights ? weights->parameters : ParameterCount(model);
  sizing.weights = weights;
  sizing.groups = GroupLayers(spec);
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
