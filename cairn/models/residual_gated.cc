// Gated streams, Qwen 4's residual: several streams, of which each branch reads a gated mean.
//
// Before a branch each stream of a token is normed for itself. From all of them together come, in
// few channels first, gates for every channel of every stream, whose mean the branch reads, and a
// factor for each stream, by which the branch's output is added to it. The same gated mean stands
// before the head. Streams of a token lie one behind the other.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/kernels/gates.h"
#include "cairn/kernels/norms.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot {
  kNormed = Workspace::kResidual,  // [tokens][hidden], what a branch reads
  kBranch,                         // [tokens][hidden]
  kStreams,                        // [tokens][streams * hidden], normed
  kGates,                          // the same
  kLow,                            // [tokens][rank]
  kFactors,                        // [tokens][streams]
};

// What one branch reads and writes with.
struct Connection {
  std::vector<float> norm;  // [streams * hidden]
  Linear down;              // [rank, streams * hidden]
  Linear up;                // [streams * hidden, rank]
  Linear factors;           // [streams, streams * hidden]; empty: nothing is written
};

struct Layer {
  Connection mixer;
  Connection feed_forward;
};

class GatedResidual final : public Residual {
 public:
  GatedResidual(const ModelSpec& model, const GatedStreamsSpec& spec)
      : hidden_(model.hidden), spec_(spec), norm_epsilon_(model.norm_epsilon) {}

  Status Load(const ModelBuild& build);
  int64_t width() const override { return spec_.streams * hidden_; }
  void Begin(const Pass& pass) override;
  void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                std::span<const int64_t> rows) override;
  void Finish(const Pass& pass, int64_t first, int64_t count, float* out) override;

 private:
  Result<Connection> LoadConnection(const PartLoader& loader, std::string_view role,
                                    bool writes) const;
  void NormStreams(const Pass& pass, const Connection& connection, const float* streams,
                   int64_t count) const;
  // The gated mean of `count` tokens' streams into `out`, and what the branch is written with.
  void Read(const Pass& pass, const Connection& connection, const float* streams, int64_t count,
            float* out) const;
  // Adds the first `count` rows of the branch.
  void Write(const Pass& pass, int64_t count) const;

  const int64_t hidden_;
  const GatedStreamsSpec spec_;
  const double norm_epsilon_;
  std::vector<Layer> layers_;
  Connection head_;
};

Result<Connection> GatedResidual::LoadConnection(const PartLoader& loader, std::string_view role,
                                                 bool writes) const {
  const std::string prefix(role);
  Connection connection;
  CAIRN_ASSIGN(Norm norm, loader.NormOf(prefix + ".hc_norm", width()));
  connection.norm = std::move(norm.weight);
  CAIRN_ASSIGN(connection.down,
               loader.Matrix(prefix + ".input_mix_weight_down", spec_.rank, width()));
  CAIRN_ASSIGN(connection.up, loader.Matrix(prefix + ".input_mix_weight_up", width(), spec_.rank));
  if (!writes) return connection;
  CAIRN_ASSIGN(connection.factors,
               loader.Matrix(prefix + ".block_inject_weight", spec_.streams, width()));
  return connection;
}

Status GatedResidual::Load(const ModelBuild& build) {
  for (size_t i = 0; i < build.model.layers.size(); ++i) {
    Layer layer;
    CAIRN_ASSIGN(layer.mixer, LoadConnection(build.Layer(i), "attn_hyper_connection", true));
    CAIRN_ASSIGN(layer.feed_forward, LoadConnection(build.Layer(i), "mlp_hyper_connection", true));
    layers_.push_back(std::move(layer));
  }
  CAIRN_ASSIGN(head_, LoadConnection(build.loader, "hyper_connection_mixer", false));
  return {};
}

void GatedResidual::Begin(const Pass& pass) {
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* streams = pass.residual + t * width();
    for (int64_t s = 1; s < spec_.streams; ++s) {
      std::copy_n(streams, hidden_, streams + s * hidden_);
    }
  });
}

void GatedResidual::NormStreams(const Pass& pass, const Connection& connection,
                                const float* streams, int64_t count) const {
  float* normed = pass.work->Floats(kStreams, count * width());
  const GatedNorm norm = {.groups = spec_.streams,
                          .width = hidden_,
                          .epsilon = norm_epsilon_,
                          .weight = connection.norm.data(),
                          .weight_stride = hidden_,
                          .activation = GateActivation::kNone};
  ForTokens(*pass.pool, count, [&](int64_t t) {
    std::copy_n(streams + t * width(), width(), normed + t * width());
    GatedRmsNorm(norm, nullptr, normed + t * width());
  });
}

void GatedResidual::Read(const Pass& pass, const Connection& connection, const float* streams,
                         int64_t count, float* out) const {
  const int64_t n = spec_.streams;
  const float each = 1.0f / static_cast<float>(n);
  NormStreams(pass, connection, streams, count);
  const float* normed = pass.work->Floats(kStreams, count * width());
  float* gates = pass.work->Floats(kGates, count * width());
  float* low = pass.work->Floats(kLow, count * spec_.rank);
  float* factors = pass.work->Floats(kFactors, count * n);
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, count, width(), width());
  const std::array<MatMulTask, 2> tasks = {connection.down.Into(low),
                                           connection.factors.Into(factors, kFinePrecision)};
  const bool writes = !connection.factors.empty();
  MatMul(activations, std::span(tasks).first(writes ? 2 : 1), *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    Scale(low + t * spec_.rank, each, spec_.rank);
    Silu(low + t * spec_.rank, spec_.rank, low + t * spec_.rank);
    if (!writes) return;
    Scale(factors + t * n, each, n);
    Sigmoid(factors + t * n, n, factors + t * n);
    Scale(factors + t * n, 2, n);
  });
  Activations& inner = pass.work->activations(1);
  inner.Set(low, count, spec_.rank, spec_.rank);
  const MatMulTask up = connection.up.Into(gates);
  MatMul(inner, {&up, 1}, *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* gated = gates + t * width();
    SigmoidTimes(gated, normed + t * width(), width());
    for (int64_t s = 1; s < n; ++s) AddTo(gated, gated + s * hidden_, hidden_);
    std::copy_n(gated, hidden_, out + t * hidden_);
    Scale(out + t * hidden_, each, hidden_);
  });
}

void GatedResidual::Write(const Pass& pass, int64_t count) const {
  const float* branches = pass.work->Floats(kBranch, pass.tokens * hidden_);
  const float* factors = pass.work->Floats(kFactors, count * spec_.streams);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    const float* branch = branches + t * hidden_;
    for (int64_t s = 0; s < spec_.streams; ++s) {
      const float factor = factors[t * spec_.streams + s];
      float* to = pass.residual + t * width() + s * hidden_;
      for (int64_t c = 0; c < hidden_; ++c) to[c] += factor * branch[c];
    }
  });
}

void GatedResidual::RunLayer(const Pass& pass, size_t index, LayerParts& parts,
                             std::span<const int64_t> rows) {
  const Layer& layer = layers_[index];
  const auto count = static_cast<int64_t>(rows.size());
  float* branch = pass.work->Floats(kBranch, pass.tokens * hidden_);
  float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  if (parts.ngrams != nullptr) parts.ngrams->Run(pass);
  Read(pass, layer.mixer, pass.residual, pass.tokens, normed);
  parts.mixer->Run(pass, normed, rows, branch);
  if (rows.empty()) return;
  if (count < pass.tokens) {
    KeepRows(pass.residual, width(), rows);
    KeepRows(pass.work->Floats(kFactors, pass.tokens * spec_.streams), spec_.streams, rows);
  }
  Write(pass, count);
  Read(pass, layer.feed_forward, pass.residual, count, normed);
  parts.feed_forward->Run(pass, normed, rows, branch);
  Write(pass, count);
}

void GatedResidual::Finish(const Pass& pass, int64_t first, int64_t count, float* out) {
  Read(pass, head_, pass.residual + first * width(), count, out);
}

}  // namespace

ResidualOr MakeGatedResidual(const ModelBuild& build, const GatedStreamsSpec& spec) {
  auto residual = std::make_unique<GatedResidual>(build.model, spec);
  CAIRN_TRY(residual->Load(build));
  return residual;
}

}  // namespace cairn
