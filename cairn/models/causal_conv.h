// A causal convolution over the tokens of a sequence, channel by channel, with its tail of earlier
// inputs in a Fixed component.
//
// The tail holds the last (kernel - 1) * dilation inputs, oldest first, [inputs][channels]; before
// the first token they are zero. Inputs pass through the tail's type before they are used, so that
// it makes no difference where a chunk ends. Each output is one chain of multiply-adds from the
// oldest input to the newest, then the activation. Immutable after loading; thread-safe on
// different sequences.
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
  struct Shape {
    int64_t channels = 0;
    int64_t kernel = 0;
    bool bias = false;
    bool silu = false;     // outputs pass it
    int64_t dilation = 1;  // tokens from one input to the next
  };
  // `weight` is [channels][kernel], as files hold it; `bias` [channels] or empty.
  CausalConv(std::vector<float> weight, std::vector<float> bias, const Shape& shape);

  // From role.weight, and role.bias where there is one.
  static Result<CausalConv> Load(const PartLoader& loader, std::string_view role,
                                 const Shape& shape);

  int64_t channels() const { return shape_.channels; }
  // Floats that Run needs besides: the tail of one sequence and all inputs of the span.
  int64_t ScratchFloats(int64_t tokens) const { return HistoryFloats() + tokens * channels(); }
  // out[t] = convolution at token t of the span, of x [tokens][channels]; `out` may be `x`. Reads
  // the tail and leaves the one of the span's end.
  void Run(const Pass& pass, const BatchSpan& span, const FixedPlace& tail, const float* x,
           float* scratch, float* out) const;

 private:
  int64_t HistoryFloats() const { return (shape_.kernel - 1) * shape_.dilation * channels(); }

  Shape shape_;
  std::vector<float> weight_;  // [kernel][channels]
  std::vector<float> bias_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_CAUSAL_CONV_H_
