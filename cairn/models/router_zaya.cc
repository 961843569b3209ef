#include "cairn/models/router_zaya.h"

#include <algorithm>
#include <utility>

#include "cairn/models/feed_forward.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kStates = 2, kFirst, kSecond, kLogits, kScores };

void Multiply(const Pass& pass, const Linear& linear, const float* x, int64_t count, float* out) {
  Activations& activations = pass.work->activations(0);
  const int64_t columns = linear.matrix.columns();
  activations.Set(x, count, columns, columns);
  const MatMulTask task = linear.Into(out, kFinePrecision);
  MatMul(activations, {&task, 1}, *pass.pool);
}

}  // namespace

Result<std::unique_ptr<Router>> NetworkRouter::Load(const LayerBuild& build,
                                                    const MixtureSpec& spec) {
  const PartLoader& loader = build.loader;
  auto router = std::make_unique<NetworkRouter>();
  const int64_t width = spec.router.network_width;
  router->width_ = width;
  router->choices_ = spec.experts + 1;
  CAIRN_ASSIGN(router->down_, loader.Matrix("mlp.gate.down_proj", width, build.model.hidden, true));
  if (build.layer != LayerIndex(0)) {
    CAIRN_ASSIGN(router->state_scale_, loader.Raw("mlp.gate.router_states_scale", width));
  }
  CAIRN_ASSIGN(router->norm_, loader.NormOf("mlp.gate.router_mlp.norm", width));
  CAIRN_ASSIGN(router->first_, loader.Matrix("mlp.gate.router_mlp.fc1", width, width, true));
  CAIRN_ASSIGN(router->second_, loader.Matrix("mlp.gate.router_mlp.fc2", width, width, true));
  CAIRN_ASSIGN(router->out_,
               loader.Matrix("mlp.gate.router_mlp.out_proj", router->choices_, width));
  CAIRN_ASSIGN(router->choice_bias_, loader.Raw("mlp.gate.balancing_biases", router->choices_));
  return router;
}

// Adds what the layer before left for these tokens, and leaves the sum to the next one.
void NetworkRouter::HandOn(const Pass& pass, std::span<const int64_t> rows, float* states) const {
  float* const handed = pass.At(Handover::kRouterState).Floats(pass.tokens, width_);
  ForTokens(*pass.pool, static_cast<int64_t>(rows.size()), [&](int64_t t) {
    float* const state = states + t * width_;
    float* const before = handed + rows[static_cast<size_t>(t)] * width_;
    for (int64_t c = 0; c < width_ && !state_scale_.empty(); ++c) {
      state[c] += before[c] * state_scale_[static_cast<size_t>(c)];
    }
    std::copy_n(state, width_, before);
  });
}

void NetworkRouter::Route(const Pass& pass, const float* x, std::span<const int64_t> rows,
                          Picks& picks) {
  const auto count = static_cast<int64_t>(rows.size());
  float* states = pass.work->Floats(kStates, count * width_);
  float* first = pass.work->Floats(kFirst, count * width_);
  float* second = pass.work->Floats(kSecond, count * width_);
  float* logits = pass.work->Floats(kLogits, count * choices_);
  float* scores = pass.work->Floats(kScores, 2 * count * choices_);
  Multiply(pass, down_, x, count, states);
  HandOn(pass, rows, states);
  ForTokens(*pass.pool, count,
            [&](int64_t t) { norm_.Apply(states + t * width_, states + t * width_); });
  Multiply(pass, first_, states, count, first);
  Activate(Activation::kGeluErf, first, count * width_);
  Multiply(pass, second_, first, count, second);
  Activate(Activation::kGeluErf, second, count * width_);
  Multiply(pass, out_, second, count, logits);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* const score = scores + 2 * t * choices_;
    float* const choice = score + choices_;
    RouterScores(RouterSpec::Score::kSoftmax, logits + t * choices_, choices_, score);
    for (int64_t i = 0; i < choices_; ++i) {
      choice[i] = score[i] + choice_bias_[static_cast<size_t>(i)];
    }
    int32_t pick = 0;
    PickLargest(choice, choices_, 1, &pick);
    picks.weights[static_cast<size_t>(t)] = score[pick];
    picks.experts[static_cast<size_t>(t)] = pick == choices_ - 1 ? kNoExpert : pick;
  });
}

}  // namespace cairn
