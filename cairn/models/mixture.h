// A mixture of experts: router, experts, and the experts that all tokens pass.
//
// Thread safety: one call at a time.
#ifndef CAIRN_MODELS_MIXTURE_H_
#define CAIRN_MODELS_MIXTURE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "cairn/models/experts.h"
#include "cairn/models/part.h"
#include "cairn/models/router.h"

namespace cairn {

class Mixture final : public FeedForward {
 public:
  // A router of its own kind may be given; else it is the linear one.
  static Result<std::unique_ptr<Mixture>> Load(const LayerBuild& build, const MixtureSpec& spec,
                                               std::unique_ptr<Router> router = nullptr);

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    RunOn(pass, normed, normed, rows, out);
  }
  // The router may read another vector than the experts.
  void RunOn(const Pass& pass, const float* x, const float* router_x, std::span<const int64_t> rows,
             float* out);

 private:
  Status LoadShared(const PartLoader& loader);
  void AddShared(const Pass& pass, const float* x, std::span<const int64_t> rows, float* out);

  MixtureSpec spec_;
  int64_t hidden_ = 0;
  std::unique_ptr<Router> router_;
  Experts experts_;
  Linear into_latent_;  // [latent, hidden]; empty: experts work on all channels
  Norm latent_norm_;    // of what experts made; empty: none
  Linear from_latent_;  // [hidden, latent]
  std::unique_ptr<FeedForward> shared_;
  Linear shared_gate_;  // [1, hidden]; empty: none
  Picks picks_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_MIXTURE_H_
