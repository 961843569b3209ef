#include "cairn/models/causal_conv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/kernels/causal_conv.h"

namespace cairn {
namespace {

constexpr int64_t kGroup = 512;  // channels of one thread

}  // namespace

CausalConv::CausalConv(std::vector<float> weight, std::vector<float> bias, const Shape& shape)
    : shape_(shape), weight_(weight.size()), bias_(std::move(bias)) {
  CAIRN_CHECK(static_cast<int64_t>(weight.size()) == shape.channels * shape.kernel);
  for (int64_t c = 0; c < shape.channels; ++c) {
    for (int64_t k = 0; k < shape.kernel; ++k) {
      weight_[static_cast<size_t>(k * shape.channels + c)] =
          weight[static_cast<size_t>(c * shape.kernel + k)];
    }
  }
}

Result<class CausalConv> CausalConv::Load(const PartLoader& loader, std::string_view role,
                                          const Shape& shape) {
  const std::array<int64_t, 2> dimensions = {shape.channels, shape.kernel};
  CAIRN_ASSIGN(std::vector<float> weight, loader.Raw(fmt::format("{}.weight", role), dimensions));
  std::vector<float> bias;
  if (shape.bias) {
    CAIRN_ASSIGN(bias, loader.Raw(fmt::format("{}.bias", role), shape.channels));
  }
  return CausalConv(std::move(weight), std::move(bias), shape);
}

void CausalConv::Run(const Pass& pass, const BatchSpan& span, const FixedPlace& tail,
                     const float* x, float* scratch, float* out) const {
  const auto tokens = static_cast<int64_t>(span.tokens.size());
  const int64_t channels = shape_.channels;
  const int64_t history = HistoryFloats();
  float* inputs = scratch + history;
  if (history > 0) tail.Load(span.state, scratch);
  std::copy_n(x, tokens * channels, inputs);
  RoundTo(tail.dtype, inputs, tokens * channels);
  auto group = [&](int64_t index, int) {
    const int64_t first = index * kGroup;
    CausalConvTask task;
    task.channels = std::min(kGroup, channels - first);
    task.kernel = shape_.kernel;
    task.dilation = shape_.dilation;
    task.channel_stride = channels;
    task.weights = weight_.data() + first;
    task.bias = bias_.empty() ? nullptr : bias_.data() + first;
    task.activation = shape_.silu ? ConvActivation::kSilu : ConvActivation::kNone;
    task.tail = scratch + first;
    task.inputs = {inputs + first, channels};
    task.out = {out + first, channels};
    ::cairn::CausalConv(task, tokens);
  };
  pass.pool->ParallelFor((channels + kGroup - 1) / kGroup, group);
  if (history > 0) tail.Store(span.state, scratch);
}

}  // namespace cairn
