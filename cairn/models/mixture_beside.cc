// A mixture of experts beside a dense network (Gemma 4). The network reads the normed residual as
// usual; router and experts read the residual itself, each through a norm of its own. Both outputs
// are normed and added.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/ops.h"
#include "cairn/models/feed_forward.h"
#include "cairn/models/mixture.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

// Mixture uses the slots before.
constexpr int kRows = Workspace::kOuter + 3;

// The linear router, whose weights are multiplied by a factor of the expert.
class ScaledRouter final : public Router {
 public:
  ScaledRouter(std::unique_ptr<Router> router, std::vector<float> factors, int64_t picks)
      : router_(std::move(router)), factors_(std::move(factors)), picks_(picks) {}

  void Route(const Pass& pass, const float* x, std::span<const int64_t> rows,
             Picks& picks) override {
    router_->Route(pass, x, rows, picks);
    const size_t count = rows.size() * static_cast<size_t>(picks_);
    for (size_t i = 0; i < count; ++i) {
      picks.weights[i] *= factors_[static_cast<size_t>(picks.experts[i])];
    }
  }

 private:
  std::unique_ptr<Router> router_;
  std::vector<float> factors_;  // [experts]
  int64_t picks_;
};

class MixtureBesideNetwork final : public FeedForward {
 public:
  explicit MixtureBesideNetwork(const LayerBuild& build) : hidden_(build.model.hidden) {}

  Status Load(const LayerBuild& build, const MixtureSpec& spec) {
    const PartLoader& loader = build.loader;
    const GatedMlpSpec network = {.intermediate = spec.shared_intermediate,
                                  .activation = spec.shared_activation};
    CAIRN_ASSIGN(network_, GatedMlp::Load(loader, "mlp", network, hidden_));
    CAIRN_ASSIGN(std::unique_ptr<Router> router, LinearRouter::Load(loader, spec, hidden_));
    CAIRN_ASSIGN(std::vector<float> factors, loader.Raw("router.per_expert_scale", spec.experts));
    MixtureSpec experts = spec;
    experts.shared_intermediate = 0;
    CAIRN_ASSIGN(experts_,
                 Mixture::Load(build, experts,
                               std::make_unique<ScaledRouter>(std::move(router), std::move(factors),
                                                              spec.experts_per_token)));
    CAIRN_ASSIGN(network_output_, loader.NormOf("post_feedforward_layernorm_1", hidden_));
    CAIRN_ASSIGN(experts_input_, loader.NormOf("pre_feedforward_layernorm_2", hidden_));
    CAIRN_ASSIGN(experts_output_, loader.NormOf("post_feedforward_layernorm_2", hidden_));
    router_input_ = UnitNorm(hidden_, build.model.norm_epsilon);
    CAIRN_ASSIGN(router_input_.weight, loader.Raw("router.scale", hidden_));
    const auto root = static_cast<float>(1 / std::sqrt(static_cast<double>(hidden_)));
    Scale(router_input_.weight.data(), root, hidden_);
    return {};
  }

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    const auto count = static_cast<int64_t>(rows.size());
    float* x = pass.work->Floats(kRows, 3 * count * hidden_);
    float* router_x = x + count * hidden_;
    float* made = router_x + count * hidden_;
    ForTokens(*pass.pool, count, [&](int64_t t) {
      const int64_t at = t * hidden_;
      experts_input_.Apply(pass.residual + at, x + at);
      router_input_.Apply(pass.residual + at, router_x + at);
    });
    network_.RunOn(pass, normed, count, out);
    experts_->RunOn(pass, x, router_x, rows, made);
    ForTokens(*pass.pool, count, [&](int64_t t) {
      const int64_t at = t * hidden_;
      network_output_.Apply(out + at, out + at);
      experts_output_.Apply(made + at, made + at);
      AddTo(out + at, made + at, hidden_);
    });
  }

 private:
  int64_t hidden_;
  GatedMlp network_;
  std::unique_ptr<Mixture> experts_;
  Norm network_output_;
  Norm experts_input_;
  Norm experts_output_;
  Norm router_input_;
};

}  // namespace

FeedForwardOr MakeMixtureBesideNetwork(const LayerBuild& build, const MixtureSpec& spec) {
  auto mixture = std::make_unique<MixtureBesideNetwork>(build);
  CAIRN_TRY(mixture->Load(build, spec));
  return mixture;
}

}  // namespace cairn
