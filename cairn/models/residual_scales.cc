// One residual stream where each way back has a scale and an offset for each channel:
// residual = (branch + b1) * s1 + (residual + b2) * s2.
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/models/parts.h"
#include "cairn/models/residual_plain.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

struct ChannelScale {
  std::vector<float> offset;
  std::vector<float> scale;

  float At(int64_t channel, float x) const {
    const auto c = static_cast<size_t>(channel);
    return (x + offset[c]) * scale[c];
  }
};

struct WayBack {
  ChannelScale branch;
  ChannelScale residual;
};

struct LayerScales {
  WayBack mixer;
  WayBack feed_forward;
};

Result<ChannelScale> LoadScale(const PartLoader& loader, const std::string& role) {
  ChannelScale scale;
  CAIRN_ASSIGN(scale.offset, loader.Raw(role + "_bias", loader.spec().hidden));
  CAIRN_ASSIGN(scale.scale, loader.Raw(role + "_scale", loader.spec().hidden));
  return scale;
}

Result<WayBack> LoadWayBack(const PartLoader& loader, const std::string& role) {
  WayBack way;
  CAIRN_ASSIGN(way.branch, LoadScale(loader, role + ".hidden_states"));
  CAIRN_ASSIGN(way.residual, LoadScale(loader, role + ".residual"));
  return way;
}

class ScaledResidual final : public PlainResidual {
 public:
  explicit ScaledResidual(const ModelSpec& model) : PlainResidual(model) {}

  Status Load(const ModelBuild& build) {
    CAIRN_TRY(PlainResidual::Load(build));
    CAIRN_ASSIGN(input_, LoadScale(build.loader, "input_hidden_states"));
    for (size_t i = 0; i < model().layers.size(); ++i) {
      const PartLoader loader = build.Layer(i);
      LayerScales scales;
      CAIRN_ASSIGN(scales.mixer, LoadWayBack(loader, "post_attention_residual_scale"));
      CAIRN_ASSIGN(scales.feed_forward, LoadWayBack(loader, "post_mlp_residual_scale"));
      scales_.push_back(std::move(scales));
    }
    return {};
  }

  void Begin(const Pass& pass) override {
    const int64_t hidden = model().hidden;
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
      float* x = pass.residual + t * hidden;
      for (int64_t c = 0; c < hidden; ++c) x[c] = input_.At(c, x[c]);
    });
  }

  void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                std::span<const int64_t> rows) override {
    const auto count = static_cast<int64_t>(rows.size());
    ApplyNorm(pass, norms(layer).mixer, pass.tokens);
    parts.mixer->Run(pass, normed(pass), rows, branch(pass));
    if (rows.empty()) return;
    KeepRows(pass.residual, model().hidden, rows);
    Return(pass, scales_[layer].mixer, count);
    ApplyNorm(pass, norms(layer).feed_forward, count);
    parts.feed_forward->Run(pass, normed(pass), rows, branch(pass));
    Return(pass, scales_[layer].feed_forward, count);
  }

 private:
  void Return(const Pass& pass, const WayBack& way, int64_t count) {
    const int64_t hidden = model().hidden;
    const float* made = branch(pass);
    ForTokens(*pass.pool, count, [&](int64_t t) {
      const float* from = made + t * hidden;
      float* to = pass.residual + t * hidden;
      for (int64_t c = 0; c < hidden; ++c) {
        to[c] = way.branch.At(c, from[c]) + way.residual.At(c, to[c]);
      }
    });
  }

  ChannelScale input_;
  std::vector<LayerScales> scales_;
};

}  // namespace

ResidualOr MakeScaledResidual(const ModelBuild& build) {
  auto residual = std::make_unique<ScaledResidual>(build.model);
  CAIRN_TRY(residual->Load(build));
  return residual;
}

}  // namespace cairn
