#include "cairn/models/layer_inputs.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "cairn/kernels/dequantize.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/feed_forward.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kGate, kTableRows };

}  // namespace

Status LayerInputs::Load(const ModelBuild& build, const LayerInputsSpec& spec) {
  spec_ = spec;
  hidden_ = build.model.hidden;
  const size_t layers = build.model.layers.size();
  const int64_t all = static_cast<int64_t>(layers) * spec.width;
  CAIRN_ASSIGN(table_, build.loader.Table("embed_tokens_per_layer", spec.vocabulary, all));
  CAIRN_ASSIGN(projection_, build.loader.Matrix("per_layer_model_projection", all, hidden_));
  CAIRN_ASSIGN(projection_norm_, build.loader.NormOf("per_layer_projection_norm", spec.width));
  for (size_t i = 0; i < layers; ++i) {
    const PartLoader loader = build.Layer(i);
    Layer layer;
    CAIRN_ASSIGN(layer.gate, loader.Matrix("per_layer_input_gate", spec.width, hidden_));
    CAIRN_ASSIGN(layer.projection, loader.Matrix("per_layer_projection", hidden_, spec.width));
    CAIRN_ASSIGN(layer.norm, loader.NormOf("post_per_layer_input_norm", hidden_));
    layers_.push_back(std::move(layer));
  }
  return {};
}

void LayerInputs::Begin(const Pass& pass, int64_t stride) {
  const auto layers = static_cast<int64_t>(layers_.size());
  const int64_t all = layers * spec_.width;
  float* inputs = pass.At(Handover::kPerLayerInputs).Floats(pass.tokens, all);
  Activations& activations = pass.work->activations(0);
  activations.Set(pass.residual, pass.tokens, hidden_, stride);
  const MatMulTask task = projection_.Into(inputs);
  MatMul(activations, {&task, 1}, *pass.pool);

  float* rows = pass.work->Floats(kTableRows, pass.tokens * all);
  const auto row_bytes = static_cast<size_t>(BytesOf(*table_->dtype, ElementCount(all)).value());
  const auto projected = static_cast<float>(1 / std::sqrt(static_cast<double>(hidden_)));
  const auto looked_up = static_cast<float>(std::sqrt(static_cast<double>(spec_.width)));
  constexpr auto kBoth = static_cast<float>(1 / std::numbers::sqrt2);
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    const int64_t id = pass.ids[static_cast<size_t>(t)].value();
    const auto row = static_cast<size_t>(id < spec_.vocabulary ? id : 0);
    float* from = rows + t * all;
    DequantizeRow(*table_->dtype, table_->bytes.subspan(row * row_bytes, row_bytes), from, all);
    float* to = inputs + t * all;
    Scale(to, projected, all);
    projection_norm_.ApplyToHeads(to, layers);
    Scale(from, looked_up, all);
    AddTo(to, from, all);
    Scale(to, kBoth, all);
  });
}

void LayerInputs::Run(const Pass& pass, size_t layer, const float* x, std::span<const int64_t> rows,
                      float* out) const {
  const Layer& weights = layers_[layer];
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t all = static_cast<int64_t>(layers_.size()) * spec_.width;
  const float* inputs = pass.At(Handover::kPerLayerInputs).Floats(pass.tokens, all) +
                        static_cast<int64_t>(layer) * spec_.width;
  float* gate = pass.work->Floats(kGate, count * spec_.width);
  Activations& activations = pass.work->activations(0);
  activations.Set(x, count, hidden_, hidden_);
  const MatMulTask open = weights.gate.Into(gate);
  MatMul(activations, {&open, 1}, *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t i) {
    ActivateTimes(spec_.activation, {}, gate + i * spec_.width,
                  inputs + rows[static_cast<size_t>(i)] * all, spec_.width);
  });
  Activations& inner = pass.work->activations(1);
  inner.Set(gate, count, spec_.width, spec_.width);
  const MatMulTask project = weights.projection.Into(out);
  MatMul(inner, {&project, 1}, *pass.pool);
  ForTokens(*pass.pool, count,
            [&](int64_t i) { weights.norm.Apply(out + i * hidden_, out + i * hidden_); });
}

}  // namespace cairn
