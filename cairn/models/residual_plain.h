// One residual stream: each branch reads the normed stream, and what it makes is added.
//
// Kinds that differ in a step only derive from it.
#ifndef CAIRN_MODELS_RESIDUAL_PLAIN_H_
#define CAIRN_MODELS_RESIDUAL_PLAIN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/models/residual.h"

namespace cairn {

class PlainResidual : public Residual {
 public:
  // Norms of one layer; those without weights aren't applied.
  struct Norms {
    Norm mixer;
    Norm mixer_output;
    Norm feed_forward;
    Norm feed_forward_output;
  };

  explicit PlainResidual(const ModelSpec& model) : model_(model) {}
  Status Load(const ModelBuild& build);

  int64_t width() const override { return model_.hidden; }
  void Begin(const Pass& pass) override;
  void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                std::span<const int64_t> rows) override;
  void Finish(const Pass& pass, int64_t first, int64_t count, float* out) override;

 protected:
  const ModelSpec& model() const { return model_; }
  const Norms& norms(size_t layer) const { return norms_[layer]; }
  // Room for [tokens][hidden] that parts don't touch.
  float* normed(const Pass& pass);
  float* branch(const Pass& pass);
  // normed[t] = norm(residual[t]) for the first `count` rows.
  void ApplyNorm(const Pass& pass, const Norm& norm, int64_t count);
  // Adds branch rows to the residual, normed first where the norm has weights.
  void AddBranch(const Pass& pass, const Norm& norm, const BranchScale& scale, int64_t count);

 private:
  void RunParallel(const Pass& pass, size_t layer, LayerParts& parts,
                   std::span<const int64_t> rows);

  const ModelSpec& model_;
  Norm embedding_norm_;  // empty: none
  std::vector<Norms> norms_;
  Norm final_norm_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_RESIDUAL_PLAIN_H_
