#include "cairn/models/causal_conv.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/models/token_loop.h"

namespace cairn {

CausalConv::CausalConv(std::vector<float> weight, std::vector<float> bias, int64_t channels,
                       int64_t kernel)
    : channels_(channels), kernel_(kernel), weight_(weight.size()), bias_(std::move(bias)) {
  CAIRN_CHECK(static_cast<int64_t>(weight.size()) == channels * kernel);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t k = 0; k < kernel; ++k) {
      weight_[static_cast<size_t>(k * channels + c)] = weight[static_cast<size_t>(c * kernel + k)];
    }
  }
}

void CausalConv::Run(const Pass& pass, const BatchSpan& span, const FixedPlace& tail,
                     const float* x, float* scratch, float* out) const {
  const auto tokens = static_cast<int64_t>(span.tokens.size());
  const int64_t history = (kernel_ - 1) * channels_;
  if (history > 0) tail.Load(span.state, scratch);
  std::copy_n(x, tokens * channels_, scratch + history);
  RoundTo(tail.dtype, scratch + history, tokens * channels_);
  ForTokens(*pass.pool, tokens, [&](int64_t t) {
    float* to = out + t * channels_;
    if (bias_.empty()) {
      std::fill_n(to, channels_, 0.0f);
    } else {
      std::copy_n(bias_.data(), channels_, to);
    }
    for (int64_t k = 0; k < kernel_; ++k) {
      const float* weight = weight_.data() + k * channels_;
      const float* input = scratch + (t + k) * channels_;
      for (int64_t c = 0; c < channels_; ++c) to[c] = std::fma(weight[c], input[c], to[c]);
    }
  });
  if (history > 0) tail.Store(span.state, scratch + tokens * channels_);
}

}  // namespace cairn
