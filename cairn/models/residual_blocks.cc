// Kimi K3's residual: layers make blocks, and what a block adds up to is kept. Each branch, and the
// head, reads a mean of all earlier blocks' sums and of the current one's; its weights are a
// softmax of what a norm and a score make of each. A block's first branch begins its sum anew.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr int kInput = Workspace::kResidual;
constexpr int kBranch = Workspace::kResidual + 1;

// Scores a sum: weights . its norm, whose own weights are taken in. Empty: nothing is scored.
using Score = std::vector<float>;

Result<Score> LoadScore(const PartLoader& loader, const std::string& role, int64_t hidden) {
  CAIRN_ASSIGN(Score score, loader.Vector(role + "_proj", hidden));
  CAIRN_ASSIGN(const Norm norm, loader.NormOf(role + "_norm", hidden));
  for (size_t i = 0; i < score.size(); ++i) score[i] *= norm.weight[i];
  return score;
}

struct Branch {
  Score score;
  Norm norm;
};

class AttendedBlocksResidual final : public Residual {
 public:
  AttendedBlocksResidual(const ModelSpec& model, const AttendedBlocksSpec& spec)
      : hidden_(model.hidden),
        block_(spec.block),
        blocks_(BlocksBefore(static_cast<int64_t>(model.layers.size()))),
        epsilon_(model.norm_epsilon) {}

  Status Load(const ModelBuild& build) {
    for (size_t i = 0; i < build.model.layers.size(); ++i) {
      const PartLoader loader = build.Layer(i);
      Layer layer;
      if (i > 0) {
        CAIRN_ASSIGN(layer.mixer.score, LoadScore(loader, "self_attention_res", hidden_));
      }
      CAIRN_ASSIGN(layer.mixer.norm, loader.NormOf("mixer_norm", hidden_));
      CAIRN_ASSIGN(layer.feed_forward.score, LoadScore(loader, "mlp_res", hidden_));
      CAIRN_ASSIGN(layer.feed_forward.norm, loader.NormOf("feed_forward_norm", hidden_));
      layers_.push_back(std::move(layer));
    }
    CAIRN_ASSIGN(head_.score, LoadScore(build.loader, "output_attn_res", hidden_));
    CAIRN_ASSIGN(head_.norm, build.loader.NormOf("norm", hidden_));
    return {};
  }

  // Of a token: the current block's sum, then those of the blocks before.
  int64_t width() const override { return (1 + blocks_) * hidden_; }

  void RunLayer(const Pass& pass, size_t index, LayerParts& parts,
                std::span<const int64_t> rows) override {
    const Layer& layer = layers_[index];
    const auto at = static_cast<int64_t>(index);
    const int64_t before = BlocksBefore(at);
    const bool opens = at % block_ == 0;
    const auto count = static_cast<int64_t>(rows.size());
    float* input = pass.work->Floats(kInput, pass.tokens * hidden_);
    float* made = pass.work->Floats(kBranch, pass.tokens * hidden_);
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
      float* sums = pass.residual + t * width();
      Read(layer.mixer, sums, before, input + t * hidden_);
      if (opens) std::copy_n(sums, hidden_, sums + (1 + before) * hidden_);
    });
    parts.mixer->Run(pass, input, rows, made);
    if (rows.empty()) return;
    KeepRows(pass.residual, width(), rows);
    ForTokens(*pass.pool, count, [&](int64_t t) {
      float* sums = pass.residual + t * width();
      if (opens) std::fill_n(sums, hidden_, 0.0f);
      AddTo(sums, made + t * hidden_, hidden_);
      Read(layer.feed_forward, sums, BlocksBefore(at + 1), input + t * hidden_);
    });
    parts.feed_forward->Run(pass, input, rows, made);
    ForTokens(*pass.pool, count,
              [&](int64_t t) { AddTo(pass.residual + t * width(), made + t * hidden_, hidden_); });
  }

  void Finish(const Pass& pass, int64_t first, int64_t count, float* out) override {
    ForTokens(*pass.pool, count, [&](int64_t t) {
      Read(head_, pass.residual + (first + t) * width(), blocks_, out + t * hidden_);
    });
  }

 private:
  struct Layer {
    Branch mixer;
    Branch feed_forward;
  };

  // That have begun before the layer.
  int64_t BlocksBefore(int64_t layer) const { return (layer + block_ - 1) / block_; }

  // out = norm(mean of the first `blocks` blocks and of the current one)
  void Read(const Branch& branch, const float* sums, int64_t blocks, float* out) const {
    if (blocks == 0) return branch.norm.Apply(sums, out);
    std::array<float, kMaxLayers + 1> weights;
    for (int64_t i = 0; i <= blocks; ++i) {
      weights[static_cast<size_t>(i)] =
          NormedDot(sums + i * hidden_, branch.score.data(), epsilon_, hidden_);
    }
    const auto scores = std::span(weights).first(static_cast<size_t>(blocks) + 1);
    const float largest = *std::ranges::max_element(scores);
    float sum = 0;
    for (float& weight : scores) sum += weight = std::exp(weight - largest);
    std::fill_n(out, hidden_, 0.0f);
    for (int64_t i = 0; i <= blocks; ++i) {
      AddScaled(out, sums + i * hidden_, scores[static_cast<size_t>(i)] / sum, hidden_);
    }
    branch.norm.Apply(out, out);
  }

  const int64_t hidden_;
  const int64_t block_;   // layers of one
  const int64_t blocks_;  // of all layers
  const double epsilon_;
  std::vector<Layer> layers_;
  Branch head_;
};

}  // namespace

ResidualOr MakeAttendedBlocksResidual(const ModelBuild& build, const AttendedBlocksSpec& spec) {
  auto residual = std::make_unique<AttendedBlocksResidual>(build.model, spec);
  CAIRN_TRY(residual->Load(build));
  return residual;
}

}  // namespace cairn
