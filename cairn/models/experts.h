// The experts of a mixture: their weights in every form that files hold, and the grouped products.
//
// Immutable after loading but for working memory; thread safety: one call at a time.
#ifndef CAIRN_MODELS_EXPERTS_H_
#define CAIRN_MODELS_EXPERTS_H_

#include <cstdint>
#include <vector>

#include "cairn/models/part.h"
#include "cairn/models/router.h"

namespace cairn {

class Experts {
 public:
  // Under "mlp.experts": a matrix each, or stacks. `input`: channels of x.
  static Result<Experts> Load(const PartLoader& loader, const MixtureSpec& spec, int64_t input);

  // out[t] = sum of what the token's experts make of x[t], by ascending expert; [count][input].
  void Run(const Pass& pass, const float* x, int64_t count, const Picks& picks, float* out);

 private:
  struct Expert {
    Linear gate;  // [intermediate, input]; empty: not gated
    Linear up;    // [intermediate, input]
    Linear down;  // [input, intermediate]
  };

  Status LoadSeparate(const PartLoader& loader);
  Status LoadStacks(const PartLoader& loader);
  Status LoadFusedStack(const PartLoader& loader);
  void GroupByExpert(int64_t count, const Picks& picks);
  void RunExpert(const Pass& pass, const Expert& expert, const float* x, int64_t count, float* out);

  MixtureSpec spec_;
  int64_t input_ = 0;
  std::vector<Expert> experts_;
  // Picks by expert, then token: those of expert e are first_[e] .. first_[e + 1].
  std::vector<int64_t> first_;
  std::vector<int64_t> grouped_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_EXPERTS_H_
