// Gemma 4's residual: the plain one, to which each layer adds what its own inputs say of a token,
// and which it multiplies by a factor at its end.
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/ops.h"
#include "cairn/models/layer_inputs.h"
#include "cairn/models/parts.h"
#include "cairn/models/residual_plain.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

class LayerInputsResidual final : public PlainResidual {
 public:
  LayerInputsResidual(const ModelSpec& model, const PerLayerInputsSpec& spec)
      : PlainResidual(model), has_inputs_(spec.inputs.width > 0) {}

  Status LoadAll(const ModelBuild& build, const PerLayerInputsSpec& spec) {
    CAIRN_TRY(Load(build));
    if (has_inputs_) CAIRN_TRY(inputs_.Load(build, spec.inputs));
    for (size_t i = 0; i < build.model.layers.size(); ++i) {
      CAIRN_ASSIGN(const std::vector<float> factor, build.Layer(i).Raw("layer_scalar", 1));
      factors_.push_back(factor.front());
    }
    return {};
  }

  void Begin(const Pass& pass) override {
    if (has_inputs_) inputs_.Begin(pass, width());
  }

  void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                std::span<const int64_t> rows) override {
    PlainResidual::RunLayer(pass, layer, parts, rows);
    if (rows.empty()) return;
    const auto count = static_cast<int64_t>(rows.size());
    float* added = branch(pass);
    if (has_inputs_) inputs_.Run(pass, layer, pass.residual, rows, added);
    ForTokens(*pass.pool, count, [&](int64_t i) {
      float* to = pass.residual + i * width();
      if (has_inputs_) AddTo(to, added + i * width(), width());
      Scale(to, factors_[layer], width());
    });
  }

 private:
  bool has_inputs_;
  LayerInputs inputs_;
  std::vector<float> factors_;  // [layers]
};

}  // namespace

ResidualOr MakeLayerInputsResidual(const ModelBuild& build, const PerLayerInputsSpec& spec) {
  auto residual = std::make_unique<LayerInputsResidual>(build.model, spec);
  CAIRN_TRY(residual->LoadAll(build, spec));
  return residual;
}

}  // namespace cairn
