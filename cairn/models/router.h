// Router: which experts a token passes, and how much each counts.
//
// What a token gets depends on its own vector alone. Immutable after loading but for the working
// memory of a pass; thread safety: one call at a time.
#ifndef CAIRN_MODELS_ROUTER_H_
#define CAIRN_MODELS_ROUTER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cairn/models/part.h"

namespace cairn {

// Stands for an expert where a token passes none.
inline constexpr int32_t kNoExpert = -1;

// The picks of a batch: [tokens][picks].
struct Picks {
  std::vector<int32_t> experts;
  std::vector<float> weights;
};

class Router {
 public:
  virtual ~Router() = default;
  // For each of `rows` (x[i] is the input of token rows[i]) its experts, best first, and their
  // weights. `picks` has room.
  virtual void Route(const Pass& pass, const float* x, std::span<const int64_t> rows,
                     Picks& picks) = 0;
};

// By the scores of one matrix, "mlp.gate".
class LinearRouter : public Router {
 public:
  static Result<std::unique_ptr<Router>> Load(const PartLoader& loader, const MixtureSpec& spec,
                                              int64_t input);

  void Route(const Pass& pass, const float* x, std::span<const int64_t> rows,
             Picks& picks) override;

 private:
  void PickOne(const float* logits, int64_t token_id, float* scratch, int32_t* experts,
               float* weights) const;

  MixtureSpec spec_;
  Linear gate_;                     // [experts, input]
  std::vector<float> choice_bias_;  // [experts], empty: none
  std::vector<int64_t> table_;      // [ids][picks], empty: none
};

// Scores of all experts from their logits; kPickedLogits leaves them as they are.
void RouterScores(RouterSpec::Score score, const float* logits, int64_t experts, float* scores);
// The `count` largest, best first, the lower index among equals.
void PickLargest(const float* scores, int64_t size, int64_t count, int32_t* picks);

}  // namespace cairn

#endif  // CAIRN_MODELS_ROUTER_H_
