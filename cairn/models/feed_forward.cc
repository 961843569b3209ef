#include "cairn/models/feed_forward.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>

#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kGate, kUp };

// The bound below which `part` of a standard normal distribution lies.
double NormalQuantile(double part) {
  double low = -40;
  double high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < part ? low : high) = middle;
  }
  return (low + high) / 2;
}

// gate[i] = max(0, gate[i] - (mean + deviations * standard deviation)), both of this gate.
void CutGate(double deviations, float* gate, int64_t width) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += gate[i];
  const double mean = sum / static_cast<double>(width);
  double squares = 0;
  for (int64_t i = 0; i < width; ++i) squares += (gate[i] - mean) * (gate[i] - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(width));
  const auto bound = static_cast<float>(mean + deviations * deviation);
  for (int64_t i = 0; i < width; ++i) gate[i] = std::max(0.0f, gate[i] - bound);
}

}  // namespace

void ActivateTimes(Activation activation, const Clip& clip, float* gate, const float* up,
                   int64_t width) {
  switch (activation) {
    case Activation::kSilu:
      return SiluTimes(gate, up, width);
    case Activation::kGeluTanh:
      return GeluTanhTimes(gate, up, width);
    case Activation::kGeluErf:
      return GeluErfTimes(gate, up, width);
    case Activation::kClippedSilu:
      return ClippedSiluTimes(gate, up, static_cast<float>(clip.limit),
                              static_cast<float>(clip.alpha), static_cast<float>(clip.up_offset),
                              width);
    case Activation::kSitu:
      return SituTimes(gate, up, static_cast<float>(clip.limit), static_cast<float>(clip.up_limit),
                       width);
    case Activation::kRelu:
    case Activation::kReluSquared:
      Activate(activation, gate, width);
      for (int64_t i = 0; i < width; ++i) gate[i] *= up[i];
      return;
  }
}

void Activate(Activation activation, float* x, int64_t width) {
  if (activation == Activation::kRelu || activation == Activation::kReluSquared) {
    const bool squares = activation == Activation::kReluSquared;
    for (int64_t i = 0; i < width; ++i) {
      const float positive = x[i] > 0 ? x[i] : 0.0f;
      x[i] = squares ? positive * positive : positive;
    }
    return;
  }
  CAIRN_CHECK(activation != Activation::kClippedSilu && activation != Activation::kSitu);
  constexpr int64_t kPiece = 64;
  std::array<float, kPiece> ones;
  ones.fill(1.0f);
  for (int64_t i = 0; i < width; i += kPiece) {
    ActivateTimes(activation, {}, x + i, ones.data(), std::min(kPiece, width - i));
  }
}

Result<GatedMlp> GatedMlp::Load(const PartLoader& loader, std::string_view role,
                                const GatedMlpSpec& spec, int64_t input) {
  const int64_t width = spec.intermediate;
  const std::string fused = fmt::format("{}.gate_up_proj", role);
  GatedMlp mlp;
  mlp.spec_ = spec;
  if (spec.gate_sparsity > 0) mlp.gate_bound_ = NormalQuantile(spec.gate_sparsity);
  const std::string gate = fmt::format("{}.gate_proj", role);
  CAIRN_ASSIGN(mlp.gate_, loader.MatrixOrRows(gate, fused, {.total = 2 * width, .count = width},
                                              input, spec.bias));
  // GGUF files call the second part as they call both.
  if (loader.Has(gate) || !loader.Has(fused)) {
    CAIRN_ASSIGN(mlp.up_, loader.Matrix(fmt::format("{}.up_proj", role), width, input, spec.bias));
  } else {
    CAIRN_ASSIGN(mlp.up_, loader.Rows(fused, {.total = 2 * width, .first = width, .count = width},
                                      input, spec.bias));
  }
  CAIRN_ASSIGN(mlp.down_,
               loader.Matrix(fmt::format("{}.down_proj", role), input, width, spec.bias));
  return mlp;
}

void GatedMlp::RunOn(const Pass& pass, const float* x, int64_t count, float* out) {
  const int64_t width = spec_.intermediate;
  const int64_t input = down_.rows();
  float* gate = pass.work->Floats(kGate, count * width);
  float* up = pass.work->Floats(kUp, count * width);
  Activations& activations = pass.work->activations(0);
  activations.Set(x, count, input, input);
  const std::array<MatMulTask, 2> tasks = {gate_.Into(gate), up_.Into(up)};
  MatMul(activations, tasks, *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    if (spec_.gate_factor != 1) {
      Scale(gate + t * width, static_cast<float>(spec_.gate_factor), width);
    }
    if (gate_bound_) CutGate(*gate_bound_, gate + t * width, width);
    ActivateTimes(spec_.activation, spec_.clip, gate + t * width, up + t * width, width);
  });
  Activations& inner = pass.work->activations(1);
  inner.Set(gate, count, width, width);
  const MatMulTask down = down_.Into(out);
  MatMul(inner, {&down, 1}, *pass.pool);
  if (spec_.output_factor == 1) return;
  ForTokens(*pass.pool, count, [&](int64_t t) {
    Scale(out + t * input, static_cast<float>(spec_.output_factor), input);
  });
}

Result<Mlp> Mlp::Load(const PartLoader& loader, std::string_view role, const MlpSpec& spec,
                      int64_t input) {
  Mlp mlp;
  mlp.spec_ = spec;
  CAIRN_ASSIGN(mlp.up_,
               loader.Matrix(fmt::format("{}.up_proj", role), spec.intermediate, input, spec.bias));
  CAIRN_ASSIGN(mlp.down_, loader.Matrix(fmt::format("{}.down_proj", role), input, spec.intermediate,
                                        spec.bias));
  return mlp;
}

void Mlp::RunOn(const Pass& pass, const float* x, int64_t count, float* out) {
  const int64_t width = spec_.intermediate;
  const int64_t input = down_.rows();
  float* up = pass.work->Floats(kUp, count * width);
  Activations& activations = pass.work->activations(0);
  activations.Set(x, count, input, input);
  const MatMulTask task = up_.Into(up);
  MatMul(activations, {&task, 1}, *pass.pool);
  ForTokens(*pass.pool, count,
            [&](int64_t t) { Activate(spec_.activation, up + t * width, width); });
  Activations& inner = pass.work->activations(1);
  inner.Set(up, count, width, width);
  const MatMulTask down = down_.Into(out);
  MatMul(inner, {&down, 1}, *pass.pool);
}

FeedForwardOr MakeGatedMlp(const LayerBuild& build, const GatedMlpSpec& spec,
                           std::string_view role) {
  CAIRN_ASSIGN(GatedMlp mlp, GatedMlp::Load(build.loader, role, spec, build.model.hidden));
  return std::make_unique<GatedMlp>(std::move(mlp));
}

FeedForwardOr MakeMlp(const LayerBuild& build, const MlpSpec& spec, std::string_view role) {
  CAIRN_ASSIGN(Mlp mlp, Mlp::Load(build.loader, role, spec, build.model.hidden));
  return std::make_unique<Mlp>(std::move(mlp));
}

}  // namespace cairn
