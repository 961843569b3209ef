#include "cairn/models/decoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/token_loop.h"

namespace cairn {

Decoder::Decoder(ModelSpec spec, StateLayout layout, DecoderWeights weights, ThreadPool& pool)
    : spec_(std::move(spec)),
      layout_(std::move(layout)),
      weights_(std::move(weights)),
      pool_(pool),
      attention_(spec_, pool),
      mlp_(pool) {
  PlanLayers();
}

void Decoder::PlanLayers() {
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    const LayerIndex layer(static_cast<int32_t>(i));
    const auto& attention = std::get<AttentionSpec>(spec_.layers[i].mixer);
    LayerPlan plan;
    plan.places = {layout_.PlaceOf(layer, "keys"), layout_.PlaceOf(layer, "values")};
    if (attention.rope) {
      const auto same = std::ranges::find_if(
          ropes_, [&](const RopeTable& table) { return table.rope() == *attention.rope; });
      plan.rope = static_cast<int>(same - ropes_.begin());
      if (same == ropes_.end()) ropes_.emplace_back(*attention.rope);
    }
    plans_.push_back(plan);
  }
}

void Decoder::Embed(std::span<const BatchSpan> batch) {
  const int64_t row_bytes = BytesOf(*weights_.embedding->dtype, ElementCount(spec_.hidden)).value();
  int64_t first = 0;
  for (const BatchSpan& span : batch) {
    const auto count = static_cast<int64_t>(span.tokens.size());
    ForTokens(pool_, count, [&](int64_t i) {
      const int64_t id = span.tokens[static_cast<size_t>(i)].value();
      float* to = residual_.As<float>() + (first + i) * spec_.hidden;
      DequantizeRow(*weights_.embedding->dtype,
                    weights_.embedding->bytes.subspan(static_cast<size_t>(id * row_bytes),
                                                      static_cast<size_t>(row_bytes)),
                    to, spec_.hidden);
      if (spec_.embedding_scale != 1) {
        Scale(to, static_cast<float>(spec_.embedding_scale), spec_.hidden);
      }
    });
    first += count;
  }
}

// residual += branch, normed first where the layer has branch norms.
void Decoder::AddBranch(const std::vector<float>& norm, int64_t rows) {
  const int64_t hidden = spec_.hidden;
  ForTokens(pool_, rows, [&](int64_t t) {
    float* branch = branch_.As<float>() + t * hidden;
    if (!norm.empty()) RmsNorm(branch, norm.data(), spec_.norm_epsilon, hidden, branch);
    AddTo(residual_.As<float>() + t * hidden, branch, hidden);
  });
}

void Decoder::KeepRows(std::span<const int64_t> rows) {
  float* residual = residual_.As<float>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto to = static_cast<int64_t>(i);
    if (rows[i] != to) {
      std::copy_n(residual + rows[i] * spec_.hidden, spec_.hidden, residual + to * spec_.hidden);
    }
  }
}

void Decoder::RunLayer(size_t layer, std::span<const BatchSpan> batch) {
  const LayerSpec& spec = spec_.layers[layer];
  const LayerWeights& weights = weights_.layers[layer];
  const LayerPlan& plan = plans_[layer];
  const int64_t hidden = spec_.hidden;
  const auto norm = [&](const std::vector<float>& weight, int64_t rows) {
    ForTokens(pool_, rows, [&](int64_t t) {
      RmsNorm(residual_.As<float>() + t * hidden, weight.data(), spec_.norm_epsilon, hidden,
              normed_.As<float>() + t * hidden);
    });
  };

  // After the last layer only the wanted tokens go on; all of them leave their state.
  const bool last = layer + 1 == spec_.layers.size();
  const std::vector<int64_t>& rows = last ? wanted_ : all_;
  const auto count = static_cast<int64_t>(rows.size());
  norm(weights.mixer_norm, tokens_);
  attention_.Run(std::get<AttentionSpec>(spec.mixer), weights.attention, plan.places, batch,
                 plan.rope < 0 ? nullptr : &ropes_[static_cast<size_t>(plan.rope)],
                 normed_.As<float>(), tokens_, rows, branch_.As<float>());
  if (rows.empty()) return;
  if (last) KeepRows(rows);
  AddBranch(weights.mixer_output_norm, count);

  norm(weights.feed_forward_norm, count);
  mlp_.Run(std::get<GatedMlpSpec>(spec.feed_forward), weights.mlp, normed_.As<float>(), count,
           hidden, branch_.As<float>());
  AddBranch(weights.feed_forward_output_norm, count);
}

void Decoder::Forward(std::span<const BatchSpan> batch) {
  positions_.clear();
  wanted_.clear();
  for (const BatchSpan& span : batch) {
    const auto count = static_cast<int64_t>(span.tokens.size());
    const auto first = static_cast<int64_t>(positions_.size());
    CAIRN_CHECK(span.logits <= count);
    for (int64_t i = 0; i < count; ++i) positions_.push_back(span.state.tokens_before.value() + i);
    for (int64_t i = count - span.logits; i < count; ++i) wanted_.push_back(first + i);
  }
  tokens_ = static_cast<int64_t>(positions_.size());
  all_.resize(positions_.size());
  std::iota(all_.begin(), all_.end(), 0);
  const size_t bytes = static_cast<size_t>(tokens_ * spec_.hidden) * sizeof(float);
  residual_.Reserve(bytes);
  normed_.Reserve(bytes);
  branch_.Reserve(bytes);

  for (RopeTable& rope : ropes_) rope.Fill(positions_, pool_);
  Embed(batch);
  for (size_t layer = 0; layer < spec_.layers.size(); ++layer) RunLayer(layer, batch);
}

void Decoder::Logits(int64_t first, int64_t count, float* out) {
  CAIRN_CHECK(first >= 0 && count >= 0 && first + count <= logit_rows());
  const int64_t hidden = spec_.hidden;
  ForTokens(pool_, count, [&](int64_t t) {
    RmsNorm(residual_.As<float>() + (first + t) * hidden, weights_.final_norm.data(),
            spec_.norm_epsilon, hidden, normed_.As<float>() + t * hidden);
  });
  head_activations_.Set(normed_.As<float>(), count, hidden, hidden);
  const MatMulTask task = {.matrix = &weights_.head.matrix,
                           .out = out,
                           .stride = spec_.vocabulary,
                           .precision = ActivationPrecision::k16};
  MatMul(head_activations_, {&task, 1}, pool_);
  if (spec_.logit_cap == 0) return;
  ForTokens(pool_, count, [&](int64_t t) {
    SoftCap(out + t * spec_.vocabulary, static_cast<float>(spec_.logit_cap), spec_.vocabulary);
  });
}

}  // namespace cairn
