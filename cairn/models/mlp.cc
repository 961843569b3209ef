#include "cairn/models/mlp.h"

#include <array>

#include "cairn/kernels/ops.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

using ActivationTimes = void (*)(float* gate, const float* up, int64_t width);

ActivationTimes FunctionOf(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return SiluTimes;
    case Activation::kGeluTanh:
      return GeluTanhTimes;
    case Activation::kGeluErf:
      return GeluErfTimes;
  }
  CAIRN_CHECK(false);
}

}  // namespace

void GatedMlp::Run(const GatedMlpSpec& spec, const MlpWeights& weights, const float* normed,
                   int64_t tokens, int64_t hidden, float* out) {
  const int64_t width = spec.intermediate;
  gate_.Reserve(static_cast<size_t>(tokens * width) * sizeof(float));
  up_.Reserve(static_cast<size_t>(tokens * width) * sizeof(float));
  activations_.Set(normed, tokens, hidden, hidden);
  const std::array<MatMulTask, 2> tasks = {
      MatMulTask{.matrix = &weights.gate.matrix,
                 .bias = weights.gate.bias_or_null(),
                 .out = gate_.As<float>(),
                 .stride = width},
      MatMulTask{.matrix = &weights.up.matrix,
                 .bias = weights.up.bias_or_null(),
                 .out = up_.As<float>(),
                 .stride = width},
  };
  MatMul(activations_, tasks, pool_);
  const ActivationTimes activation_times = FunctionOf(spec.activation);
  ForTokens(pool_, tokens, [&](int64_t t) {
    activation_times(gate_.As<float>() + t * width, up_.As<float>() + t * width, width);
  });
  inner_.Set(gate_.As<float>(), tokens, width, width);
  const MatMulTask down = {.matrix = &weights.down.matrix,
                           .bias = weights.down.bias_or_null(),
                           .out = out,
                           .stride = hidden};
  MatMul(inner_, {&down, 1}, pool_);
}

}  // namespace cairn
