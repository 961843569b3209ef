#include "cairn/kernels/causal_conv.h"

#include <algorithm>

#include "cairn/kernels/targets.h"

#include "cairn/kernels/flush_subnormals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cairn/kernels/causal_conv.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "cairn/kernels/columns-inl.h"
#include "cairn/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::HWY_NAMESPACE {
namespace {

constexpr FloatTag d;

void CausalConvT(const CausalConvTask& task, int64_t tokens) {
  const int64_t history = (task.kernel - 1) * task.dilation;
  for (int64_t token = 0; token < tokens; ++token) {
    float* out = task.out.Row(token);
    ForLanes(task.channels, [&](int64_t c, int count) HWY_ATTR {
      FloatVector sum = task.bias != nullptr ? LoadPart(task.bias + c, count) : hn::Zero(d);
      for (int64_t k = 0; k < task.kernel; ++k) {
        const int64_t source = token - history + k * task.dilation;
        const float* row = source >= 0 ? task.inputs.Row(source)
                                       : task.tail + (history + source) * task.channel_stride;
        sum = hn::MulAdd(LoadPart(task.weights + k * task.channel_stride + c, count),
                         LoadPart(row + c, count), sum);
      }
      if (task.activation == ConvActivation::kSilu) sum = SiluOf(sum);
      StorePart(sum, out + c, count);
    });
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace cairn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn {

HWY_EXPORT(CausalConvT);

namespace {

// The last rows of tail and inputs together; a row moves only towards the front.
void MoveTail(const CausalConvTask& task, int64_t tokens) {
  const int64_t history = (task.kernel - 1) * task.dilation;
  for (int64_t i = 0; i < history; ++i) {
    const int64_t source = tokens - history + i;
    const float* row = source >= 0 ? task.inputs.Row(source)
                                   : task.tail + (history + source) * task.channel_stride;
    std::copy_n(row, task.channels, task.tail + i * task.channel_stride);
  }
}

}  // namespace

void CausalConv(const CausalConvTask& task, int64_t tokens) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(CausalConvT)(task, tokens);
  MoveTail(task, tokens);
}

}  // namespace cairn
#endif  // HWY_ONCE
