#include "cairn/models/policy_watcher.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/kernels/attention_weights.h"
#include "cairn/models/key_standards.h"
#include "cairn/spec/rope.h"

namespace cairn {
namespace {

// The attention of a layer whose rows a policy can judge; null: none.
const AttentionSpec* PlainAttention(const MixerSpec& mixer) {
  const AttentionSpec* spec = std::get_if<AttentionSpec>(&mixer);
  if (const auto* beside = std::get_if<AttentionBesideMambaSpec>(&mixer)) {
    spec = &beside->attention;
  }
  const bool plain = spec != nullptr && !spec->index && spec->picks == 0 &&
                     spec->conv_kernel == 0 && spec->conv_history == 0 && spec->delayed_values == 0;
  return plain ? spec : nullptr;
}

std::vector<TurningChannels> TurningOf(const AttentionSpec& spec, TokenCount context) {
  std::vector<TurningChannels> channels;
  if (!spec.rope) return channels;
  const TurningPairs pairs = PairsOf(spec.rope);
  const std::vector<float> frequencies = RopeFrequencies(*spec.rope, context.value());
  for (int64_t i = 0; i < pairs.count; ++i) {
    channels.push_back({pairs.First(i), pairs.Second(i), frequencies[static_cast<size_t>(i)]});
  }
  return channels;
}

double AmplitudeOf(const AttentionSpec& spec) {
  return spec.rope ? double{RopeAmplitude(*spec.rope)} : 1.0;
}

int64_t FirstRow(const SequenceView& state, LayerIndex layer, int64_t head) {
  if (state.dropped == nullptr) return 0;
  return state.dropped->first_rows[static_cast<size_t>(layer.value())][static_cast<size_t>(head)];
}

}  // namespace

Status CheckWatchable(const ModelSpec& model, const StateLayout& layout) {
  const std::optional<ClassIndex> droppable = layout.DroppableClass();
  if (!droppable) {
    return Fail(ErrorCode::kUnsupported,
                "a token policy has nothing to drop: no layer of this model keeps rows of all "
                "tokens");
  }
  for (const LayerState& layer : layout.spec().layers) {
    for (const Component& component : layer.components) {
      const Rows* rows = std::get_if<Rows>(&component);
      if (rows == nullptr || !rows->exact_copy) continue;
      return Fail(ErrorCode::kUnsupported,
                  "a token policy can't move rows that are kept in two forms; a form without +ends "
                  "would be right");
    }
  }
  for (const RowsSlot& slot : layout.classes()[static_cast<size_t>(droppable->value())].slots) {
    const auto layer = static_cast<size_t>(slot.layer.value());
    const Rows& rows =
        std::get<Rows>(layout.spec().layers[layer].components[static_cast<size_t>(slot.component)]);
    if (rows.transform == RowTransform::kStandardized) {
      return Fail(ErrorCode::kUnsupported,
                  "a token policy can't move standardised keys (layer {}): they depend on where "
                  "they stand; a form without +std would be right",
                  layer);
    }
    if (PlainAttention(model.layers[layer].mixer) != nullptr &&
        (rows.name == "keys" || rows.name == "values")) {
      continue;
    }
    return Fail(ErrorCode::kUnsupported,
                "a token policy can't judge {} of layer {} ({}): only keys and values of plain "
                "attention",
                rows.name, layer, KindOf(model.layers[layer].mixer));
  }
  return {};
}

PolicyWatcher::PolicyWatcher(const TokenPolicy& policy, const StateLayout& layout,
                             TokenCount context, ThreadPool& pool)
    : policy_(&policy),
      needs_(policy.needs()),
      context_(context),
      pool_(&pool),
      layers_(layout.spec().layers.size()) {}

// ---- Noting ----

void PolicyWatcher::OnRows(const SeenRows& seen) {
  Layer& layer = layers_[static_cast<size_t>(seen.keys->slot->layer.value())];
  if (layer.spec == nullptr) Begin(seen, layer);
  const int64_t first = seen.state->tokens_before.value();
  CAIRN_CHECK(first == layer.seen_to);
  layer.seen_to = first + seen.tokens;
  for (std::vector<int64_t>& positions : layer.positions) {
    for (int64_t t = 0; t < seen.tokens; ++t) positions.push_back(first + t);
  }
  if (needs_.window > 0) NoteWindow(seen, layer);
  if (needs_.sums) NoteSums(seen, layer);
  if (needs_.future > 0) NoteMoments(seen, layer);
}

void PolicyWatcher::Begin(const SeenRows& seen, Layer& layer) const {
  layer.spec = seen.spec;
  layer.shape = seen.shape;
  layer.keys = *seen.keys;
  layer.values = *seen.values;
  layer.seen_from = layer.seen_to = seen.state->tokens_before.value();
  // Rows from before were all there: a sequence that has lost some is watched from its beginning.
  CAIRN_CHECK(seen.state->dropped == nullptr);
  std::vector<int64_t> before(static_cast<size_t>(layer.seen_from));
  std::iota(before.begin(), before.end(), 0);
  layer.positions.assign(static_cast<size_t>(layer.shape.kv_heads), before);
  const auto heads = static_cast<size_t>(layer.shape.heads);
  const auto width = static_cast<size_t>(layer.shape.key_width);
  layer.window.resize(static_cast<size_t>(needs_.window) * heads * width);
  if (needs_.sums) layer.sums.assign(heads, std::vector<double>(before.size()));
  if (needs_.future > 0) {
    layer.moments.assign(heads, {std::vector<double>(width), std::vector<double>(width * width)});
  }
}

void PolicyWatcher::NoteWindow(const SeenRows& seen, Layer& layer) const {
  const int64_t width = layer.shape.heads * layer.shape.key_width;
  for (int64_t t = std::max<int64_t>(0, seen.tokens - needs_.window); t < seen.tokens; ++t) {
    const int64_t place = (seen.state->tokens_before.value() + t) % needs_.window;
    std::copy_n(seen.queries + t * width, width, layer.window.begin() + place * width);
  }
}

AttentionSpan PolicyWatcher::SpanOf(const Layer& layer, const SequenceView& state) const {
  const BlockTableView& table = state.tables[static_cast<size_t>(layer.keys.block_class.value())];
  AttentionSpan span;
  span.blocks = table.blocks;
  span.first_block = table.first_block;
  span.key_offset = layer.keys.slot->offset.value();
  span.value_offset = layer.values.slot->offset.value();
  return span;
}

// Each query's weights over the rows up to its own, added in the order of the tokens.
void PolicyWatcher::NoteSums(const SeenRows& seen, Layer& layer) const {
  const AttentionShape& shape = layer.shape;
  const int64_t first = seen.state->tokens_before.value();
  const int64_t rows = seen.state->RowOf(first + seen.tokens);
  const AttentionSpan span = SpanOf(layer, *seen.state);
  const int64_t head_floats = shape.key_width * rows;
  std::vector<float> keys(static_cast<size_t>(shape.kv_heads * head_floats));
  auto decode = [&](int64_t head, int /*thread*/) {
    DecodeKeysOf(shape, span, head, rows, rows, keys.data() + head * head_floats);
  };
  pool_->ParallelFor(shape.kv_heads, decode);
  auto add = [&](int64_t q, int /*thread*/) {
    const int64_t head = q / layer.group();
    const int64_t first_row = FirstRow(*seen.state, layer.keys.slot->layer, head);
    std::vector<double>& sums = layer.sums[static_cast<size_t>(q)];
    sums.resize(static_cast<size_t>(rows - first_row));
    std::vector<float> weights(static_cast<size_t>(rows));
    for (int64_t t = 0; t < seen.tokens; ++t) {
      const int64_t end = seen.state->RowOf(first + t) + 1;
      SoftmaxWeights(shape, q, seen.queries + (t * shape.heads + q) * shape.key_width,
                     {keys.data() + head * head_floats, rows, first_row, end}, weights.data());
      for (int64_t r = first_row; r < end; ++r) {
        sums[static_cast<size_t>(r - first_row)] += double{weights[static_cast<size_t>(r)]};
      }
    }
  };
  pool_->ParallelFor(shape.heads, add);
}

void PolicyWatcher::NoteMoments(const SeenRows& seen, Layer& layer) const {
  const AttentionShape& shape = layer.shape;
  const int64_t first = seen.state->tokens_before.value();
  const int64_t skipped = std::clamp<int64_t>(kSkippedTokens - first, 0, seen.tokens);
  const std::vector<TurningChannels> turning = TurningOf(*layer.spec, context_);
  const double amplitude = AmplitudeOf(*layer.spec);
  const auto width = static_cast<size_t>(shape.key_width);
  auto add = [&](int64_t q, int /*thread*/) {
    Moments& moments = layer.moments[static_cast<size_t>(q)];
    for (int64_t t = skipped; t < seen.tokens; ++t) {
      const float* query = seen.queries + (t * shape.heads + q) * shape.key_width;
      std::vector<double> turned(query, query + width);
      for (double& x : turned) x = std::isfinite(x) ? x : 0;
      const PositionsAhead back = {.from = -(first + t), .amplitude = 1 / amplitude};
      turned = TurnedAhead({std::move(turned), {}}, turning, back).mean;
      for (size_t i = 0; i < width; ++i) {
        moments.sums[i] += turned[i];
        double* products = moments.products.data() + i * width;
        for (size_t j = 0; j < width; ++j) products[j] += turned[i] * turned[j];
      }
    }
  };
  pool_->ParallelFor(shape.heads, add);
  layer.counted += seen.tokens - skipped;
}

// ---- Choosing ----

struct PolicyWatcher::Evidence {
  std::vector<std::vector<float>> weights, keys, values;  // by KV head
  std::vector<std::vector<double>> sums, means, covariances;
  LayerRows rows;
};

QueryMoments PolicyWatcher::Expected(const Layer& layer, int64_t query_head, int64_t next) const {
  const Moments& moments = layer.moments[static_cast<size_t>(query_head)];
  const auto count = static_cast<double>(std::max<int64_t>(1, layer.counted));
  QueryMoments expected{.mean = moments.sums, .covariance = moments.products};
  for (double& x : expected.mean) x /= count;
  const size_t width = expected.mean.size();
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < width; ++j) {
      double& x = expected.covariance[i * width + j];
      x = x / count - expected.mean[i] * expected.mean[j];
    }
  }
  return TurnedAhead(expected, TurningOf(*layer.spec, context_),
                     {.from = next, .count = needs_.future, .amplitude = AmplitudeOf(*layer.spec)});
}

void PolicyWatcher::GatherHead(const Layer& layer, const SequenceView& state, int64_t head,
                               Evidence& evidence) const {
  const AttentionShape& shape = layer.shape;
  const auto h = static_cast<size_t>(head);
  const int64_t next = state.tokens_before.value();
  const int64_t rows = state.RowOf(next);
  const int64_t first_row = FirstRow(state, layer.keys.slot->layer, head);
  const int64_t count = rows - first_row;
  const AttentionSpan span = SpanOf(layer, state);
  std::vector<float> channels;  // [key_width][rows]
  if (evidence.rows.window > 0 || needs_.keys) {
    channels.resize(static_cast<size_t>(shape.key_width * rows));
    DecodeKeysOf(shape, span, head, rows, rows, channels.data());
  }
  if (needs_.keys) {
    evidence.keys[h].resize(static_cast<size_t>(shape.key_width * count));
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t c = 0; c < shape.key_width; ++c) {
        evidence.keys[h][static_cast<size_t>(r * shape.key_width + c)] =
            channels[static_cast<size_t>(c * rows + first_row + r)];
      }
    }
  }
  if (needs_.values) {
    std::vector<float>& values = evidence.values[h];
    values.resize(static_cast<size_t>(shape.value_width * rows));
    DecodeValuesOf(shape, span, head, rows, values.data());
    values.erase(values.begin(), values.begin() + shape.value_width * first_row);
  }
  for (int64_t g = 0; g < layer.group(); ++g) {
    const int64_t q = head * layer.group() + g;
    std::vector<float> weights(static_cast<size_t>(rows));
    for (int64_t w = 0; w < evidence.rows.window; ++w) {
      const int64_t position = next - evidence.rows.window + w;
      const int64_t place = position % needs_.window * shape.heads + q;
      // A window's query may be older than the last drop: it sees of its time what is left.
      const auto& positions = layer.positions[h];
      const int64_t end =
          first_row + (std::ranges::upper_bound(positions, position) - positions.begin());
      std::ranges::fill(weights, 0.0f);
      if (end > first_row) {
        SoftmaxWeights(shape, q, layer.window.data() + place * shape.key_width,
                       {channels.data(), rows, first_row, end}, weights.data());
      }
      evidence.weights[h].insert(evidence.weights[h].end(), weights.begin() + first_row,
                                 weights.end());
    }
    const auto append = [h](std::vector<std::vector<double>>& to, const std::vector<double>& from) {
      to[h].insert(to[h].end(), from.begin(), from.end());
    };
    if (needs_.sums) append(evidence.sums, layer.sums[static_cast<size_t>(q)]);
    if (needs_.future > 0) {
      const QueryMoments expected = Expected(layer, q, next);
      append(evidence.means, expected.mean);
      append(evidence.covariances, expected.covariance);
    }
  }
}

std::vector<std::vector<int32_t>> PolicyWatcher::ChooseOf(const Layer& layer,
                                                          const SequenceView& state, int64_t index,
                                                          int64_t count) const {
  const AttentionShape& shape = layer.shape;
  const auto heads = static_cast<size_t>(shape.kv_heads);
  Evidence evidence;
  for (auto* of : {&evidence.weights, &evidence.keys, &evidence.values}) of->resize(heads);
  for (auto* of : {&evidence.sums, &evidence.means, &evidence.covariances}) of->resize(heads);
  LayerRows& rows = evidence.rows;
  rows.index = index;
  rows.count = count;
  rows.tokens = state.tokens_before.value();
  rows.query_heads = layer.group();
  rows.window = std::min(needs_.window, layer.seen_to - layer.seen_from);
  rows.key_width = shape.key_width;
  rows.value_width = shape.value_width;
  rows.scale = shape.scale;
  for (size_t h = 0; h < heads; ++h) {
    GatherHead(layer, state, static_cast<int64_t>(h), evidence);
    rows.heads.push_back({.positions = layer.positions[h],
                          .weights = evidence.weights[h],
                          .sums = evidence.sums[h],
                          .keys = evidence.keys[h],
                          .values = evidence.values[h],
                          .query_means = evidence.means[h],
                          .query_covariances = evidence.covariances[h]});
  }
  ChosenRows choice = policy_->Choose(rows, policy_->settings().BudgetAt(state.tokens_before));
  for (size_t h = 0; h < heads; ++h) {
    const auto first_row =
        static_cast<int32_t>(FirstRow(state, layer.keys.slot->layer, static_cast<int64_t>(h)));
    for (int32_t& row : choice[h]) row += first_row;
  }
  return choice;
}

RowsToKeep PolicyWatcher::Choose(const SequenceView& state) const {
  std::vector<size_t> watched;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].spec == nullptr) continue;
    CAIRN_CHECK(layers_[i].seen_to == state.tokens_before.value());
    watched.push_back(i);
  }
  CAIRN_CHECK(!watched.empty());
  RowsToKeep keep(layers_.size());
  auto choose = [&](int64_t i, int /*thread*/) {
    const size_t layer = watched[static_cast<size_t>(i)];
    keep[layer] = ChooseOf(layers_[layer], state, i, std::ssize(watched));
  };
  pool_->ParallelFor(std::ssize(watched), choose);
  return keep;
}

void PolicyWatcher::OnDropped(const RowsToKeep& kept) {
  // The head with the most rows has those of the whole table.
  int64_t rows_before = 0;
  for (const Layer& layer : layers_) {
    for (const auto& positions : layer.positions) {
      rows_before = std::max(rows_before, std::ssize(positions));
    }
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    if (layer.spec == nullptr) continue;
    for (int64_t head = 0; head < layer.shape.kv_heads; ++head) {
      const std::vector<int32_t>& rows = kept[i][static_cast<size_t>(head)];
      std::vector<int64_t>& positions = layer.positions[static_cast<size_t>(head)];
      // Rows count from the table's begin, of which the head has the last ones.
      const int64_t first_row = rows_before - std::ssize(positions);
      const auto pick = [&](auto& of) {
        auto to = of.begin();
        for (const int32_t row : rows) *to++ = of[static_cast<size_t>(row - first_row)];
        of.erase(to, of.end());
      };
      pick(positions);
      if (layer.sums.empty()) continue;
      for (int64_t g = 0; g < layer.group(); ++g) {
        pick(layer.sums[static_cast<size_t>(head * layer.group() + g)]);
      }
    }
  }
}

}  // namespace cairn
