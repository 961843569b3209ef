// Dense networks: down(activation(gate x) * up x), and without a gate.
//
// Thread safety: one call at a time.
#ifndef CAIRN_MODELS_FEED_FORWARD_H_
#define CAIRN_MODELS_FEED_FORWARD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cairn/models/part.h"

namespace cairn {

// gate[i] = activation(gate[i]) * up[i]
void ActivateTimes(Activation activation, const Clip& clip, float* gate, const float* up,
                   int64_t width);
// x[i] = activation(x[i]). REQUIRES: not kClippedSilu or kSitu, which need two factors.
void Activate(Activation activation, float* x, int64_t width);

class GatedMlp final : public FeedForward {
 public:
  // gate, up and down under `role`, or gate and up as one fused matrix. `input`: channels of x.
  static Result<GatedMlp> Load(const PartLoader& loader, std::string_view role,
                               const GatedMlpSpec& spec, int64_t input);

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    RunOn(pass, normed, static_cast<int64_t>(rows.size()), out);
  }
  void RunOn(const Pass& pass, const float* x, int64_t count, float* out);

 private:
  GatedMlpSpec spec_;
  // In standard deviations from the mean: below it, a gate's channels are 0.
  std::optional<double> gate_bound_;
  Linear gate_;  // [intermediate, input]
  Linear up_;    // [intermediate, input]
  Linear down_;  // [input, intermediate]
};

class Mlp final : public FeedForward {
 public:
  static Result<Mlp> Load(const PartLoader& loader, std::string_view role, const MlpSpec& spec,
                          int64_t input);

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    RunOn(pass, normed, static_cast<int64_t>(rows.size()), out);
  }
  void RunOn(const Pass& pass, const float* x, int64_t count, float* out);

 private:
  MlpSpec spec_;
  Linear up_;
  Linear down_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_FEED_FORWARD_H_
