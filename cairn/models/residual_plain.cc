#include "cairn/models/residual_plain.h"

#include <utility>

#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

constexpr int kNormed = Workspace::kResidual;
constexpr int kBranch = Workspace::kResidual + 1;

bool HasMixer(const LayerSpec& layer) { return !std::holds_alternative<NoMixer>(layer.mixer); }
bool HasFeedForward(const LayerSpec& layer) {
  return !std::holds_alternative<NoFeedForward>(layer.feed_forward);
}

Result<PlainResidual::Norms> LoadNorms(const PartLoader& loader, const LayerSpec& layer) {
  const int64_t hidden = loader.spec().hidden;
  PlainResidual::Norms norms;
  if (HasMixer(layer) && layer.branch_input_norms) {
    CAIRN_ASSIGN(norms.mixer, loader.NormOf("mixer_norm", hidden));
  }
  // Branches that start from one vector may share its norm.
  const bool shares_norm = layer.parallel && !loader.Has("feed_forward_norm");
  if (HasFeedForward(layer) && layer.branch_input_norms && !shares_norm) {
    CAIRN_ASSIGN(norms.feed_forward, loader.NormOf("feed_forward_norm", hidden));
  }
  if (!layer.branch_output_norms) return norms;
  if (HasMixer(layer)) {
    CAIRN_ASSIGN(norms.mixer_output, loader.NormOf("mixer_output_norm", hidden));
  }
  if (HasFeedForward(layer)) {
    CAIRN_ASSIGN(norms.feed_forward_output, loader.NormOf("feed_forward_output_norm", hidden));
  }
  return norms;
}

}  // namespace

Status PlainResidual::Load(const ModelBuild& build) {
  if (model_.embedding_norm) {
    CAIRN_ASSIGN(embedding_norm_, build.loader.NormOf("embedding_norm", model_.hidden));
  }
  for (size_t i = 0; i < model_.layers.size(); ++i) {
    CAIRN_ASSIGN(Norms norms, LoadNorms(build.Layer(i), model_.layers[i]));
    norms_.push_back(std::move(norms));
  }
  CAIRN_ASSIGN(final_norm_, build.loader.NormOf("norm", model_.hidden, model_.final_norm_epsilon));
  return {};
}

void PlainResidual::Begin(const Pass& pass) {
  if (embedding_norm_.empty()) return;
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* x = pass.residual + t * model_.hidden;
    embedding_norm_.Apply(x, x);
  });
}

float* PlainResidual::normed(const Pass& pass) {
  return pass.work->Floats(kNormed, pass.tokens * model_.hidden);
}

float* PlainResidual::branch(const Pass& pass) {
  return pass.work->Floats(kBranch, pass.tokens * model_.hidden);
}

void PlainResidual::ApplyNorm(const Pass& pass, const Norm& norm, int64_t count) {
  const int64_t hidden = model_.hidden;
  float* to = normed(pass);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    const float* from = pass.residual + t * hidden;
    if (norm.empty()) {
      std::copy_n(from, hidden, to + t * hidden);
    } else {
      norm.Apply(from, to + t * hidden);
    }
  });
}

void PlainResidual::AddBranch(const Pass& pass, const Norm& norm, const BranchScale& scale,
                              int64_t count) {
  const int64_t hidden = model_.hidden;
  float* added = branch(pass);
  const float* kept = normed(pass);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* from = added + t * hidden;
    float* to = pass.residual + t * hidden;
    if (!norm.empty()) norm.Apply(from, from);
    if (scale.add != 1) Scale(from, static_cast<float>(scale.add), hidden);
    if (scale.keeps_normed) std::copy_n(kept + t * hidden, hidden, to);
    if (scale.keep != 1) Scale(to, static_cast<float>(scale.keep), hidden);
    AddTo(to, from, hidden);
  });
}

void PlainResidual::RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                             std::span<const int64_t> rows) {
  const LayerSpec& spec = model_.layers[layer];
  const Norms& norms = norms_[layer];
  if (spec.parallel) return RunParallel(pass, layer, parts, rows);
  // A network with state of its own must see all tokens, too.
  const bool late = parts.feed_forward != nullptr && parts.feed_forward->KeepsState();
  const std::span<const int64_t> going_on = late ? pass.all : rows;
  const auto count = static_cast<int64_t>(going_on.size());
  const bool drops = count < pass.tokens;
  if (parts.mixer != nullptr) {
    ApplyNorm(pass, norms.mixer, pass.tokens);
    parts.mixer->Run(pass, normed(pass), going_on, branch(pass));
  }
  if (going_on.empty()) return;
  if (drops) KeepRows(pass.residual, model_.hidden, going_on);
  if (parts.mixer != nullptr) {
    if (drops && spec.mixer_scale.keeps_normed) KeepRows(normed(pass), model_.hidden, going_on);
    AddBranch(pass, norms.mixer_output, spec.mixer_scale, count);
  }
  if (parts.feed_forward != nullptr) {
    ApplyNorm(pass, norms.feed_forward, count);
    parts.feed_forward->Run(pass, normed(pass), going_on, branch(pass));
    AddBranch(pass, norms.feed_forward_output, spec.feed_forward_scale, count);
  }
  if (late) KeepRows(pass.residual, model_.hidden, rows);
}

// The network reads what the mixer read; both are added to that.
void PlainResidual::RunParallel(const Pass& pass, size_t layer, LayerParts& parts,
                                std::span<const int64_t> rows) {
  const LayerSpec& spec = model_.layers[layer];
  const Norms& norms = norms_[layer];
  const int64_t hidden = model_.hidden;
  float* mixed = pass.work->Floats(kBranch + 1, pass.tokens * hidden);
  ApplyNorm(pass, norms.mixer, pass.tokens);
  parts.mixer->Run(pass, normed(pass), pass.all, mixed);
  if (!norms.feed_forward.empty()) ApplyNorm(pass, norms.feed_forward, pass.tokens);
  parts.feed_forward->Run(pass, normed(pass), pass.all, branch(pass));
  AddBranch(pass, norms.feed_forward_output, spec.feed_forward_scale, pass.tokens);
  std::copy_n(mixed, pass.tokens * hidden, branch(pass));
  AddBranch(pass, norms.mixer_output, spec.mixer_scale, pass.tokens);
  KeepRows(pass.residual, hidden, rows);
}

void PlainResidual::Finish(const Pass& pass, int64_t first, int64_t count, float* out) {
  const int64_t hidden = model_.hidden;
  ForTokens(*pass.pool, count, [&](int64_t t) {
    final_norm_.Apply(pass.residual + (first + t) * hidden, out + t * hidden);
  });
}

ResidualOr MakePlainResidual(const ModelBuild& build) {
  auto residual = std::make_unique<PlainResidual>(build.model);
  CAIRN_TRY(residual->Load(build));
  return residual;
}

}  // namespace cairn
