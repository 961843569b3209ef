// Router of Zaya: a small network makes the logits, of all experts and of passing none.
//
// What it computed before the network goes on to the next layer's router, which adds it, scaled, to
// its own. Thread safety: one call at a time.
#ifndef CAIRN_MODELS_ROUTER_ZAYA_H_
#define CAIRN_MODELS_ROUTER_ZAYA_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cairn/models/router.h"

namespace cairn {

class NetworkRouter final : public Router {
 public:
  static Result<std::unique_ptr<Router>> Load(const LayerBuild& build, const MixtureSpec& spec);

  void Route(const Pass& pass, const float* x, std::span<const int64_t> rows,
             Picks& picks) override;

 private:
  void HandOn(const Pass& pass, std::span<const int64_t> rows, float* states) const;

  int64_t width_ = 0;
  int64_t choices_ = 0;             // the experts and none of them
  std::vector<float> state_scale_;  // empty: the first layer
  std::vector<float> choice_bias_;
  Linear down_;
  Norm norm_;
  Linear first_;
  Linear second_;
  Linear out_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_ROUTER_ZAYA_H_
