// A causal convolution over the tokens of a sequence, channel by channel, with its tail of earlier
// inputs in a Fixed component.
//
// The tail holds the last kernel - 1 inputs, oldest first, [kernel - 1][channels]; before the first
// token they are zero. Inputs pass through the tail's type before they are used, so that it makes
// no difference where a chunk ends. Each output is one chain of multiply-adds from the oldest input
// to the newest, then the activation. Immutable after loading; thread-safe on different sequences.
#ifndef CAIRN_MODELS_CAUSAL_CONV_H_
#define CAIRN_MODELS_CAUSAL_CONV_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "cairn/models/pass.h"
#include "cairn/models/state_access.h"
#include "cairn/models/tensor_loader.h"

namespace cairn {

class CausalConv {
 public:
  CausalConv() = default;
  // `weight` is [channels][kernel], as files hold it; `bias` [channels] or empty. `silu`: outputs
  // pass it.
  CausalConv(std::vector<float> weight, std::vector<float> bias, int64_t channels, int64_t kernel,
             bool silu = false);

  // From role.weight, and role.bias where there is one.
  struct Shape {
    int64_t channels = 0;
    int64_t kernel = 0;
    bool bias = false;
    bool silu = false;
  };
  static Result<CausalConv> Load(const PartLoader& loader, std::string_view role,
                                 const Shape& shape);

  int64_t channels() const { return channels_; }
  // Floats that Run needs besides: the tail of one sequence and all inputs of the span.
  int64_t ScratchFloats(int64_t tokens) const { return (kernel_ - 1 + tokens) * channels_; }
  // out[t] = convolution at token t of the span, of x [tokens][channels]; `out` may be `x`. Reads
  // the tail and leaves the one of the span's end.
  void Run(const Pass& pass, const BatchSpan& span, const FixedPlace& tail, const float* x,
           float* scratch, float* out) const;

 private:
  int64_t channels_ = 0;
  int64_t kernel_ = 0;
  bool silu_ = false;
  std::vector<float> weight_;  // [kernel][channels]
  std::vector<float> bias_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_CAUSAL_CONV_H_
