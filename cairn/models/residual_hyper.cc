// Hyper-connections (DeepSeek V4): several residual streams, mixed by weights that they make
// themselves.
//
// Before each branch a token's streams, normed together, make three kinds of weights: of their sum
// that the branch reads, of what each stream gets of the branch's output, and of a matrix that
// mixes the streams, whose rows and columns are brought to sums of one. Streams of a token lie one
// behind the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/kernels/ops.h"
#include "cairn/models/parts.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot {
  kNormed = Workspace::kResidual,  // [tokens][hidden]
  kBranch,                         // [tokens][hidden]
  kStreams,                        // [tokens][streams * hidden], normed
  kWeights,                        // [tokens][weights]
};
constexpr int64_t kMaxStreams = 64;

// What makes the weights of one branch, or of the sum before the head.
struct Connection {
  Linear weights;           // [weights, streams * hidden]
  std::vector<float> base;  // [weights]
  std::vector<float> scale;
};

struct Layer {
  Connection mixer;
  Connection feed_forward;
  Norm mixer_norm;
  Norm feed_forward_norm;
};

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// Rows to a softmax, then columns and rows in turn divided by their sums.
void Normalise(const HyperConnectionsSpec& spec, float* matrix) {
  const int64_t n = spec.streams;
  const auto epsilon = static_cast<float>(spec.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    float* row = matrix + i * n;
    const float largest = *std::max_element(row, row + n);
    float sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - largest);
    for (int64_t j = 0; j < n; ++j) row[j] = row[j] / sum + epsilon;
  }
  const auto divide = [&](int64_t from, int64_t step) {
    float sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += matrix[from + k * step];
    for (int64_t k = 0; k < n; ++k) matrix[from + k * step] /= sum + epsilon;
  };
  for (int64_t j = 0; j < n; ++j) divide(j, n);
  for (int64_t round = 1; round < spec.iterations; ++round) {
    for (int64_t i = 0; i < n; ++i) divide(i * n, 1);
    for (int64_t j = 0; j < n; ++j) divide(j, n);
  }
}

class HyperResidual final : public Residual {
 public:
  HyperResidual(const ModelSpec& model, const HyperConnectionsSpec& spec)
      : model_(model), spec_(spec), hidden_(model.hidden) {}

  Status Load(const ModelBuild& build);
  int64_t width() const override { return spec_.streams * hidden_; }
  void Begin(const Pass& pass) override;
  void RunLayer(const Pass& pass, size_t layer, LayerParts& parts,
                std::span<const int64_t> rows) override;
  void Finish(const Pass& pass, int64_t first, int64_t count, float* out) override;

 private:
  int64_t WeightCount() const { return spec_.streams * (spec_.streams + 2); }
  Result<Connection> LoadConnection(const PartLoader& loader, std::string_view role,
                                    std::string_view prefix, int64_t weights, int64_t scales) const;
  // Into slot kWeights: the matrix's products for tokens [first, first + count).
  float* Products(const Pass& pass, const Connection& connection, int64_t first,
                  int64_t count) const;
  // Weights of a branch, and what it reads, normed, into kNormed.
  void Read(const Pass& pass, const Connection& connection, const Norm& norm, int64_t count) const;
  // The branch's output, in kBranch, and the mixed streams.
  void Write(const Pass& pass, int64_t count) const;
  void Collapse(const float* weights, const float* streams, float* out) const;

  const ModelSpec& model_;
  const HyperConnectionsSpec spec_;
  const int64_t hidden_;
  Norm unit_;  // over all streams
  std::vector<Layer> layers_;
  Connection head_;  // empty: the mean
  Norm final_norm_;
};

Result<Connection> HyperResidual::LoadConnection(const PartLoader& loader, std::string_view role,
                                                 std::string_view prefix, int64_t weights,
                                                 int64_t scales) const {
  const std::string name = std::string(role) + std::string(prefix);
  Connection connection;
  CAIRN_ASSIGN(connection.weights,
               loader.RawRows(name + "fn", {.total = weights, .count = weights}, width()));
  CAIRN_ASSIGN(connection.base, loader.Raw(name + "base", weights));
  CAIRN_ASSIGN(connection.scale, loader.Raw(name + "scale", scales));
  return connection;
}

Status HyperResidual::Load(const ModelBuild& build) {
  unit_ = UnitNorm(width(), model_.norm_epsilon);
  for (size_t i = 0; i < model_.layers.size(); ++i) {
    const PartLoader loader = build.Layer(i);
    Layer layer;
    CAIRN_ASSIGN(layer.mixer, LoadConnection(loader, "hc_attn", "_", WeightCount(), 3));
    CAIRN_ASSIGN(layer.feed_forward, LoadConnection(loader, "hc_ffn", "_", WeightCount(), 3));
    CAIRN_ASSIGN(layer.mixer_norm, loader.NormOf("mixer_norm", hidden_));
    CAIRN_ASSIGN(layer.feed_forward_norm, loader.NormOf("feed_forward_norm", hidden_));
    layers_.push_back(std::move(layer));
  }
  if (!spec_.ends_in_mean) {
    CAIRN_ASSIGN(head_, LoadConnection(build.loader, "hc_head", ".hc_", spec_.streams, 1));
  }
  CAIRN_ASSIGN(final_norm_, build.loader.NormOf("norm", hidden_));
  return {};
}

void HyperResidual::Begin(const Pass& pass) {
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    float* streams = pass.residual + t * width();
    for (int64_t s = 1; s < spec_.streams; ++s)
      std::copy_n(streams, hidden_, streams + s * hidden_);
  });
}

float* HyperResidual::Products(const Pass& pass, const Connection& connection, int64_t first,
                               int64_t count) const {
  float* normed = pass.work->Floats(kStreams, count * width());
  float* weights = pass.work->Floats(kWeights, count * WeightCount());
  ForTokens(*pass.pool, count, [&](int64_t t) {
    unit_.Apply(pass.residual + (first + t) * width(), normed + t * width());
  });
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, count, width(), width());
  MatMulTask task = connection.weights.Into(weights, kFinePrecision);
  task.stride = WeightCount();
  MatMul(activations, {&task, 1}, *pass.pool);
  return weights;
}

// out = sum over streams of weights[s] * streams[s]
void HyperResidual::Collapse(const float* weights, const float* streams, float* out) const {
  std::fill_n(out, hidden_, 0.0f);
  for (int64_t s = 0; s < spec_.streams; ++s) {
    const float weight = weights[s];
    const float* from = streams + s * hidden_;
    for (int64_t k = 0; k < hidden_; ++k) out[k] += weight * from[k];
  }
}

void HyperResidual::Read(const Pass& pass, const Connection& connection, const Norm& norm,
                         int64_t count) const {
  const int64_t n = spec_.streams;
  const auto epsilon = static_cast<float>(spec_.epsilon);
  float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  float* all = Products(pass, connection, 0, count);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    float* weights = all + t * WeightCount();
    for (int64_t i = 0; i < WeightCount(); ++i) {
      const size_t kind = i < n ? 0 : i < 2 * n ? 1 : 2;
      weights[i] = weights[i] * connection.scale[kind] + connection.base[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < n; ++i) weights[i] = Sigmoid(weights[i]) + epsilon;
    for (int64_t i = n; i < 2 * n; ++i) weights[i] = 2 * Sigmoid(weights[i]);
    Normalise(spec_, weights + 2 * n);
    Collapse(weights, pass.residual + t * width(), normed + t * hidden_);
    norm.Apply(normed + t * hidden_, normed + t * hidden_);
  });
}

// streams[k] = to[k] * branch + sum over j of matrix[j][k] * streams[j]
void HyperResidual::Write(const Pass& pass, int64_t count) const {
  constexpr int64_t kPiece = 32;
  const int64_t n = spec_.streams;
  const float* branches = pass.work->Floats(kBranch, pass.tokens * hidden_);
  const float* all = pass.work->Floats(kWeights, count * WeightCount());
  ForTokens(*pass.pool, count, [&](int64_t t) {
    const float* into = all + t * WeightCount() + n;
    const float* matrix = into + n;
    const float* branch = branches + t * hidden_;
    float* streams = pass.residual + t * width();
    std::array<float, kMaxStreams * kPiece> before;
    for (int64_t from = 0; from < hidden_; from += kPiece) {
      const int64_t size = std::min(kPiece, hidden_ - from);
      for (int64_t j = 0; j < n; ++j) {
        std::copy_n(streams + j * hidden_ + from, size, before.data() + j * kPiece);
      }
      for (int64_t k = 0; k < n; ++k) {
        float* to = streams + k * hidden_ + from;
        for (int64_t c = 0; c < size; ++c) to[c] = into[k] * branch[from + c];
        for (int64_t j = 0; j < n; ++j) {
          const float weight = matrix[j * n + k];
          const float* x = before.data() + j * kPiece;
          for (int64_t c = 0; c < size; ++c) to[c] += weight * x[c];
        }
      }
    }
  });
}

void HyperResidual::RunLayer(const Pass& pass, size_t index, LayerParts& parts,
                             std::span<const int64_t> rows) {
  const Layer& layer = layers_[index];
  const auto count = static_cast<int64_t>(rows.size());
  float* branch = pass.work->Floats(kBranch, pass.tokens * hidden_);
  const float* normed = pass.work->Floats(kNormed, pass.tokens * hidden_);
  Read(pass, layer.mixer, layer.mixer_norm, pass.tokens);
  parts.mixer->Run(pass, normed, rows, branch);
  if (rows.empty()) return;
  if (count < pass.tokens) {
    KeepRows(pass.residual, width(), rows);
    KeepRows(pass.work->Floats(kWeights, pass.tokens * WeightCount()), WeightCount(), rows);
  }
  Write(pass, count);
  Read(pass, layer.feed_forward, layer.feed_forward_norm, count);
  parts.feed_forward->Run(pass, normed, rows, branch);
  Write(pass, count);
}

void HyperResidual::Finish(const Pass& pass, int64_t first, int64_t count, float* out) {
  const int64_t n = spec_.streams;
  const bool weighs = !head_.weights.empty();
  float* all = weighs ? Products(pass, head_, first, count) : nullptr;
  ForTokens(*pass.pool, count, [&](int64_t t) {
    std::array<float, kMaxStreams> weights;
    weights.fill(1.0f / static_cast<float>(n));
    for (int64_t s = 0; weighs && s < n; ++s) {
      const float product = all[t * WeightCount() + s];
      const auto at = static_cast<size_t>(s);
      weights[at] = Sigmoid(product * head_.scale.front() + head_.base[at]) +
                    static_cast<float>(spec_.epsilon);
    }
    float* to = out + t * hidden_;
    Collapse(weights.data(), pass.residual + (first + t) * width(), to);
    final_norm_.Apply(to, to);
  });
}

}  // namespace

ResidualOr MakeHyperResidual(const ModelBuild& build, const HyperConnectionsSpec& spec) {
  auto residual = std::make_unique<HyperResidual>(build.model, spec);
  CAIRN_TRY(residual->Load(build));
  return residual;
}

}  // namespace cairn
