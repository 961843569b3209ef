#include "cairn/models/mixture.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "cairn/kernels/ops.h"
#include "cairn/models/feed_forward.h"
#include "cairn/models/parts.h"
#include "cairn/models/router_zaya.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

constexpr int kLatent = Workspace::kOuter;
constexpr int kLatentOut = Workspace::kOuter + 1;
constexpr int kSharedOut = Workspace::kOuter + 2;
constexpr int kSharedGate = 2;

void Multiply(const Pass& pass, const Linear& linear, const float* x, int64_t count, float* out) {
  Activations& activations = pass.work->activations(0);
  const int64_t columns = linear.matrix.columns();
  activations.Set(x, count, columns, columns);
  const MatMulTask task = linear.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

}  // namespace

// One network as wide as all shared experts together.
Status Mixture::LoadShared(const PartLoader& loader) {
  if (spec_.shared_intermediate == 0) return {};
  const bool plural = loader.Has("mlp.shared_experts.down_proj");
  const std::string_view role = plural ? "mlp.shared_experts" : "mlp.shared_expert";
  if (spec_.gated) {
    const GatedMlpSpec shared = {.intermediate = spec_.shared_intermediate,
                                 .activation = spec_.shared_activation,
                                 .clip = spec_.clip};
    CAIRN_ASSIGN(GatedMlp mlp, GatedMlp::Load(loader, role, shared, hidden_));
    shared_ = std::make_unique<GatedMlp>(std::move(mlp));
  } else {
    const MlpSpec shared = {.intermediate = spec_.shared_intermediate,
                            .activation = spec_.shared_activation};
    CAIRN_ASSIGN(Mlp mlp, Mlp::Load(loader, role, shared, hidden_));
    shared_ = std::make_unique<Mlp>(std::move(mlp));
  }
  if (spec_.shared_gate) {
    CAIRN_ASSIGN(shared_gate_, loader.Matrix("mlp.shared_expert_gate", 1, hidden_));
  }
  return {};
}

Result<std::unique_ptr<Mixture>> Mixture::Load(const LayerBuild& build, const MixtureSpec& spec,
                                               std::unique_ptr<Router> router) {
  auto mixture = std::make_unique<Mixture>();
  mixture->spec_ = spec;
  mixture->hidden_ = build.model.hidden;
  mixture->router_ = std::move(router);
  const PartLoader& loader = build.loader;
  if (mixture->router_ == nullptr) {
    CAIRN_ASSIGN(mixture->router_, LinearRouter::Load(loader, spec, mixture->hidden_));
  }
  const int64_t input = spec.latent > 0 ? spec.latent : mixture->hidden_;
  if (spec.latent > 0) {
    CAIRN_ASSIGN(mixture->into_latent_,
                 loader.Matrix("mlp.fc1_latent_proj", spec.latent, mixture->hidden_));
    CAIRN_ASSIGN(mixture->from_latent_,
                 loader.Matrix("mlp.fc2_latent_proj", mixture->hidden_, spec.latent));
    if (spec.latent_norm) {
      CAIRN_ASSIGN(mixture->latent_norm_, loader.NormOf("mlp.latent_norm", spec.latent));
    }
  }
  CAIRN_ASSIGN(mixture->experts_, Experts::Load(loader, spec, input));
  CAIRN_TRY(mixture->LoadShared(loader));
  return mixture;
}

void Mixture::AddShared(const Pass& pass, const float* x, std::span<const int64_t> rows,
                        float* out) {
  const auto count = static_cast<int64_t>(rows.size());
  float* made = pass.work->Floats(kSharedOut, count * hidden_);
  shared_->Run(pass, x, rows, made);
  float* gates = nullptr;
  if (!shared_gate_.empty()) {
    gates = pass.work->Floats(kSharedGate, count);
    Multiply(pass, shared_gate_, x, count, gates);
  }
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* from = made + t * hidden_;
    if (gates != nullptr) Scale(from, 1.0f / (1.0f + std::exp(-gates[t])), hidden_);
    AddTo(out + t * hidden_, from, hidden_);
  });
}

void Mixture::RunOn(const Pass& pass, const float* x, const float* router_x,
                    std::span<const int64_t> rows, float* out) {
  const auto count = static_cast<int64_t>(rows.size());
  const auto picks = static_cast<size_t>(count * spec_.experts_per_token);
  if (picks_.experts.size() < picks) {
    picks_.experts.resize(picks);
    picks_.weights.resize(picks);
  }
  router_->Route(pass, router_x, rows, picks_);
  if (spec_.latent > 0) {
    float* latent = pass.work->Floats(kLatent, count * spec_.latent);
    float* made = pass.work->Floats(kLatentOut, count * spec_.latent);
    Multiply(pass, into_latent_, x, count, latent);
    experts_.Run(pass, latent, count, picks_, made);
    if (!latent_norm_.empty()) {
      ForTokens(*pass.pool, count, [&](int64_t t) {
        latent_norm_.Apply(made + t * spec_.latent, made + t * spec_.latent);
      });
    }
    Multiply(pass, from_latent_, made, count, out);
  } else {
    experts_.Run(pass, x, count, picks_, out);
  }
  if (shared_ != nullptr) AddShared(pass, x, rows, out);
  if (spec_.output_factor == 1) return;
  ForTokens(*pass.pool, count, [&](int64_t t) {
    Scale(out + t * hidden_, static_cast<float>(spec_.output_factor), hidden_);
  });
}

FeedForwardOr MakeMixture(const LayerBuild& build, const MixtureSpec& spec) {
  std::unique_ptr<Router> router;
  if (spec.router.network_width > 0) {
    CAIRN_ASSIGN(router, NetworkRouter::Load(build, spec));
  }
  CAIRN_ASSIGN(std::unique_ptr<Mixture> mixture, Mixture::Load(build, spec, std::move(router)));
  return mixture;
}

}  // namespace cairn
