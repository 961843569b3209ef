// AltUp, Gemma 3n's residual: several streams, of which each layer works on one.
//
// A layer predicts all streams from all streams by weights that it makes from the active one, runs
// its branches on the active prediction, and corrects all predictions by what came out. Beside
// attention runs a low-rank branch; at its end a layer adds what its own inputs say of a token to
// all streams but the first. Streams of a token lie one behind the other.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "cairn/kernels/ops.h"
#include "cairn/models/layer_inputs.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot {
  kNormed = Workspace::kResidual,
  kBranch,
  kActive,  // what the layer makes of the active stream
  kLowRank,
  kWeights,
};
constexpr int64_t kMaxStreams = 64;

struct Layer {
  Norm router_norm;
  Linear router;                    // [streams, hidden]
  std::vector<float> predictions;   // [streams][streams][streams]
  std::vector<float> corrections;   // [streams][streams]
  std::vector<float> active_scale;  // [hidden], empty: none
  Linear left;                      // [rank, hidden]
  Linear right;                     // [hidden, rank]
  Norm low_rank_norm;
  Norm mixer;
  Norm mixer_output;
  Norm feed_forward;
  Norm feed_forward_output;
};

double MeanSquare(const float* x, int64_t width) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum / static_cast<double>(width);
}

// Gives x the root mean square of `like`.
void Rescale(float* x, const float* like, int64_t width) {
  constexpr double kFloor = 1e-5;
  const double factor =
      std::sqrt(MeanSquare(like, width)) / std::sqrt(std::max(MeanSquare(x, width), kFloor));
  Scale(x, static_cast<float>(factor), width);
}

class AltUpResidual final : public Residual {
 public:
  AltUpResidual(const ModelSpec& model, const AltUpSpec& spec)
      : hidden_(model.hidden), streams_(spec.streams), spec_(spec) {}

  Status Load(const ModelBuild& build);
  int64_t width() const override { return streams_ * hidden_; }
  void Begin(const Pass& pass) override;
  void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                std::span<const int64_t> rows) override;
  void Finish(const Pass& pass, int64_t first, int64_t count, float* out) override;

 private:
  Result<Linear> LoadProjection(const PartLoader& loader, const std::string& role,
                                int64_t index) const;
  Status LoadLayer(const ModelBuild& build, size_t layer);
  float* Active(const Pass& pass, int64_t token) const {
    return pass.residual + token * width() + spec_.active * hidden_;
  }
  void RouterWeights(const Pass& pass, const Layer& layer, int64_t count, const float* active,
                     int64_t stride);
  void Predict(const Pass& pass, const Layer& layer);
  void AddLowRank(const Pass& pass, const Layer& layer, int64_t count);
  void RunFeedForward(const Pass& pass, const Layer& layer, LayerParts& parts,
                      std::span<const int64_t> rows);
  void Correct(const Pass& pass, const Layer& layer, int64_t count);
  void AddInputs(const Pass& pass, size_t layer, std::span<const int64_t> rows);

  const int64_t hidden_;
  const int64_t streams_;
  const AltUpSpec spec_;
  LayerInputs inputs_;
  std::vector<Linear> into_;  // [streams - 1] of [hidden, hidden]
  std::vector<Linear> from_;
  std::vector<Layer> layers_;
  Norm final_norm_;
};

Status AltUpResidual::LoadLayer(const ModelBuild& build, size_t index) {
  const PartLoader loader = build.Layer(index);
  Layer layer;
  CAIRN_ASSIGN(layer.router_norm, loader.NormOf("altup.router_norm", hidden_));
  CAIRN_ASSIGN(layer.router, loader.Matrix("altup.modality_router", streams_, hidden_));
  const std::array<int64_t, 2> predictions = {streams_ * streams_, streams_};
  CAIRN_ASSIGN(layer.predictions, loader.Raw("altup.prediction_coefs.weight", predictions));
  const std::array<int64_t, 2> corrections = {streams_, streams_};
  CAIRN_ASSIGN(layer.corrections, loader.Raw("altup.correction_coefs.weight", corrections));
  if (spec_.scales_active) {
    CAIRN_ASSIGN(layer.active_scale, loader.Raw("altup.correct_output_scale", hidden_));
  }
  CAIRN_ASSIGN(layer.left, loader.Matrix("laurel.linear_left", spec_.low_rank, hidden_));
  CAIRN_ASSIGN(layer.right, loader.Matrix("laurel.linear_right", hidden_, spec_.low_rank));
  CAIRN_ASSIGN(layer.low_rank_norm, loader.NormOf("laurel.post_laurel_norm", hidden_));
  CAIRN_ASSIGN(layer.mixer, loader.NormOf("mixer_norm", hidden_));
  CAIRN_ASSIGN(layer.mixer_output, loader.NormOf("mixer_output_norm", hidden_));
  CAIRN_ASSIGN(layer.feed_forward, loader.NormOf("feed_forward_norm", hidden_));
  CAIRN_ASSIGN(layer.feed_forward_output, loader.NormOf("feed_forward_output_norm", hidden_));
  layers_.push_back(std::move(layer));
  return {};
}

// Between the active stream and another; GGUF files hold one stack of them.
Result<Linear> AltUpResidual::LoadProjection(const PartLoader& loader, const std::string& role,
                                             int64_t index) const {
  if (!loader.Has(role)) return loader.Matrix(fmt::format("{}.{}", role, index), hidden_, hidden_);
  const RowChoice rows = {
      .total = hidden_, .count = hidden_, .stack = streams_ - 1, .index = index};
  return loader.RawRows(role + ".weight", rows, hidden_);
}

Status AltUpResidual::Load(const ModelBuild& build) {
  CAIRN_TRY(inputs_.Load(build, spec_.inputs));
  for (int64_t i = 0; i + 1 < streams_; ++i) {
    CAIRN_ASSIGN(Linear into, LoadProjection(build.loader, "altup_projections", i));
    CAIRN_ASSIGN(Linear from, LoadProjection(build.loader, "altup_unembed_projections", i));
    into_.push_back(std::move(into));
    from_.push_back(std::move(from));
  }
  for (size_t i = 0; i < build.model.layers.size(); ++i) CAIRN_TRY(LoadLayer(build, i));
  CAIRN_ASSIGN(final_norm_, build.loader.NormOf("norm", hidden_));
  return {};
}

void AltUpResidual::Begin(const Pass& pass) {
  inputs_.Begin(pass, width());
  Activations& activations = pass.work->activations(0);
  activations.Set(pass.residual, pass.tokens, hidden_, width());
  for (size_t i = 0; i < into_.size(); ++i) {
    MatMulTask task = into_[i].Into(pass.residual + static_cast<int64_t>(i + 1) * hidden_);
    task.stride = width();
    MatMul(activations, {&task, 1}, *pass.pool);
  }
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* first = pass.residual + t * width();
    for (int64_t s = 1; s < streams_; ++s) Rescale(first + s * hidden_, first, hidden_);
  });
}

// Into slot kWeights, [count][streams]: what a stream's weights are made from.
void AltUpResidual::RouterWeights(const Pass& pass, const Layer& layer, int64_t count,
                                  const float* active, int64_t stride) {
  float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  float* weights = pass.work->Floats(kWeights, pass.tokens * streams_);
  const auto mean = static_cast<float>(1.0 / static_cast<double>(hidden_));
  ForTokens(*pass.pool, count, [&](int64_t t) {
    layer.router_norm.Apply(active + t * stride, normed + t * hidden_);
    Scale(normed + t * hidden_, mean, hidden_);
  });
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, count, hidden_, hidden_);
  const MatMulTask task = layer.router.Into(weights, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
  for (int64_t i = 0; i < count * streams_; ++i) weights[i] = std::tanh(weights[i]);
}

// streams[j] += sum over i of c[j][i] * streams[i], where c is made from the router's weights.
void AltUpResidual::Predict(const Pass& pass, const Layer& layer) {
  constexpr int64_t kPiece = 32;
  RouterWeights(pass, layer, pass.tokens, Active(pass, 0), width());
  const float* weights = pass.work->Floats(kWeights, pass.tokens * streams_);
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    std::array<float, kMaxStreams * kMaxStreams> mixing;
    for (int64_t i = 0; i < streams_ * streams_; ++i) {
      mixing[static_cast<size_t>(i)] = 0;
      for (int64_t k = 0; k < streams_; ++k) {
        mixing[static_cast<size_t>(i)] +=
            layer.predictions[static_cast<size_t>(i * streams_ + k)] * weights[t * streams_ + k];
      }
    }
    float* streams = pass.residual + t * width();
    std::array<float, kMaxStreams * kPiece> before;
    for (int64_t from = 0; from < hidden_; from += kPiece) {
      const int64_t size = std::min(kPiece, hidden_ - from);
      for (int64_t i = 0; i < streams_; ++i) {
        std::copy_n(streams + i * hidden_ + from, size, before.data() + i * kPiece);
      }
      for (int64_t j = 0; j < streams_; ++j) {
        float* to = streams + j * hidden_ + from;
        for (int64_t i = 0; i < streams_; ++i) {
          const float c = mixing[static_cast<size_t>(j * streams_ + i)];
          const float* x = before.data() + i * kPiece;
          for (int64_t k = 0; k < size; ++k) to[k] += c * x[k];
        }
      }
    }
  });
}

// To what attention added comes the normed input and its low-rank branch: active = (active + branch
// + normed + low rank) / sqrt(2).
void AltUpResidual::AddLowRank(const Pass& pass, const Layer& layer, int64_t count) {
  const float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  float* branch = pass.work->Floats(kBranch, pass.tokens * hidden_);
  float* active = pass.work->Floats(kActive, pass.tokens * hidden_);
  float* low_rank = pass.work->Floats(kLowRank, count * (spec_.low_rank + hidden_));
  float* made = low_rank + count * spec_.low_rank;
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, count, hidden_, hidden_);
  const MatMulTask left = layer.left.Into(low_rank);
  MatMul(activations, {&left, 1}, *pass.pool);
  Activations& inner = pass.work->activations(1);
  inner.Set(low_rank, count, spec_.low_rank, spec_.low_rank);
  const MatMulTask right = layer.right.Into(made);
  MatMul(inner, {&right, 1}, *pass.pool);
  constexpr auto kHalf = static_cast<float>(1 / std::numbers::sqrt2);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    const int64_t at = t * hidden_;
    layer.mixer_output.Apply(branch + at, branch + at);
    layer.low_rank_norm.Apply(made + at, made + at);
    std::copy_n(Active(pass, t), hidden_, active + at);
    AddTo(active + at, branch + at, hidden_);
    AddTo(made + at, normed + at, hidden_);
    AddTo(active + at, made + at, hidden_);
    Scale(active + at, kHalf, hidden_);
  });
}

void AltUpResidual::RunFeedForward(const Pass& pass, const Layer& layer, LayerParts& parts,
                                   std::span<const int64_t> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  float* branch = pass.work->Floats(kBranch, pass.tokens * hidden_);
  float* active = pass.work->Floats(kActive, pass.tokens * hidden_);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    layer.feed_forward.Apply(active + t * hidden_, normed + t * hidden_);
  });
  parts.feed_forward->Run(pass, normed, rows, branch);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    layer.feed_forward_output.Apply(branch + t * hidden_, branch + t * hidden_);
    AddTo(active + t * hidden_, branch + t * hidden_, hidden_);
  });
}

// streams[i] += (active - its prediction) * (1 + c[i])
void AltUpResidual::Correct(const Pass& pass, const Layer& layer, int64_t count) {
  float* active = pass.work->Floats(kActive, pass.tokens * hidden_);
  RouterWeights(pass, layer, count, active, hidden_);
  const float* weights = pass.work->Floats(kWeights, pass.tokens * streams_);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* news = active + t * hidden_;
    const float* predicted = Active(pass, t);
    for (int64_t k = 0; k < hidden_; ++k) news[k] -= predicted[k];
    for (int64_t i = 0; i < streams_; ++i) {
      float c = 0;
      for (int64_t k = 0; k < streams_; ++k) {
        c += layer.corrections[static_cast<size_t>(i * streams_ + k)] * weights[t * streams_ + k];
      }
      c += 1;
      float* to = pass.residual + t * width() + i * hidden_;
      for (int64_t k = 0; k < hidden_; ++k) to[k] += news[k] * c;
    }
  });
}

void AltUpResidual::AddInputs(const Pass& pass, size_t layer, std::span<const int64_t> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  const std::vector<float>& scale = layers_[layer].active_scale;
  float* active = pass.work->Floats(kActive, pass.tokens * hidden_);
  float* added = pass.work->Floats(kBranch, pass.tokens * hidden_);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* to = active + t * hidden_;
    std::copy_n(Active(pass, t), hidden_, to);
    for (size_t k = 0; k < scale.size(); ++k) to[k] *= scale[k];
  });
  inputs_.Run(pass, layer, active, rows, added);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    for (int64_t s = 1; s < streams_; ++s) {
      AddTo(pass.residual + t * width() + s * hidden_, added + t * hidden_, hidden_);
    }
  });
}

void AltUpResidual::RunLayer(const Pass& pass, size_t index, LayerParts& parts,
                             std::span<const int64_t> rows) {
  const Layer& layer = layers_[index];
  const auto count = static_cast<int64_t>(rows.size());
  Predict(pass, layer);
  float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  ForTokens(*pass.pool, pass.tokens,
            [&](int64_t t) { layer.mixer.Apply(Active(pass, t), normed + t * hidden_); });
  parts.mixer->Run(pass, normed, rows, pass.work->Floats(kBranch, pass.tokens * hidden_));
  if (rows.empty()) return;
  if (count < pass.tokens) {
    KeepRows(pass.residual, width(), rows);
    KeepRows(normed, hidden_, rows);
  }
  AddLowRank(pass, layer, count);
  RunFeedForward(pass, layer, parts, rows);
  Correct(pass, layer, count);
  AddInputs(pass, index, rows);
}

// The mean of the first stream and of the others' projections, as large as the first.
void AltUpResidual::Finish(const Pass& pass, int64_t first, int64_t count, float* out) {
  float* others = pass.work->Floats(kNormed, count * width());
  const float* streams = pass.residual + first * width();
  Activations& activations = pass.work->activations(0);
  for (size_t i = 0; i < from_.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i + 1) * hidden_;
    activations.Set(streams + at, count, hidden_, width());
    MatMulTask task = from_[i].Into(others + at);
    task.stride = width();
    MatMul(activations, {&task, 1}, *pass.pool);
  }
  const auto mean = static_cast<float>(1.0 / static_cast<double>(streams_));
  ForTokens(*pass.pool, count, [&](int64_t t) {
    const float* like = streams + t * width();
    float* to = out + t * hidden_;
    std::copy_n(like, hidden_, to);
    for (int64_t s = 1; s < streams_; ++s) {
      float* other = others + t * width() + s * hidden_;
      Rescale(other, like, hidden_);
      AddTo(to, other, hidden_);
    }
    Scale(to, mean, hidden_);
    final_norm_.Apply(to, to);
  });
}

}  // namespace

ResidualOr MakeAltUpResidual(const ModelBuild& build, const AltUpSpec& spec) {
  auto residual = std::make_unique<AltUpResidual>(build.model, spec);
  CAIRN_TRY(residual->Load(build));
  return residual;
}

}  // namespace cairn
