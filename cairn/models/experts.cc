#include "cairn/models/experts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cairn/kernels/ops.h"
#include "cairn/models/feed_forward.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kGate, kUp, kGathered = 4, kMade };

// Biases of one expert, from a tensor [experts, total].
Status TakeBias(const PartLoader& loader, std::string_view role, const RowChoice& rows,
                Linear& linear) {
  const std::array<int64_t, 2> shape = {rows.stack, rows.total};
  CAIRN_ASSIGN(const std::vector<float> all, loader.Raw(role, shape));
  for (int64_t i = 0; i < rows.count; ++i) {
    linear.bias.push_back(all[static_cast<size_t>(rows.index * rows.total + rows.Source(i))]);
  }
  return {};
}

}  // namespace

// Gate, up and down are called so, or w1, w3 and w2.
Status Experts::LoadSeparate(const PartLoader& loader) {
  const bool numbered = loader.Has("mlp.experts.0.w2");
  const std::string gate = numbered ? "w1" : "gate_proj";
  const std::string up = numbered ? "w3" : "up_proj";
  const std::string down = numbered ? "w2" : "down_proj";
  for (int64_t e = 0; e < spec_.experts; ++e) {
    const std::string role = fmt::format("mlp.experts.{}.", e);
    Expert expert;
    if (spec_.gated) {
      CAIRN_ASSIGN(expert.gate,
                   loader.Matrix(role + gate, spec_.intermediate, input_, spec_.expert_bias));
    }
    CAIRN_ASSIGN(expert.up,
                 loader.Matrix(role + up, spec_.intermediate, input_, spec_.expert_bias));
    CAIRN_ASSIGN(expert.down,
                 loader.Matrix(role + down, input_, spec_.intermediate, spec_.expert_bias));
    experts_.push_back(std::move(expert));
  }
  return {};
}

// One stack for each of the matrices, as GGUF has them, or one of gate and up.
Status Experts::LoadStacks(const PartLoader& loader) {
  for (int64_t e = 0; e < spec_.experts; ++e) {
    RowChoice rows = {.total = spec_.intermediate,
                      .count = spec_.intermediate,
                      .stack = spec_.experts,
                      .index = e};
    Expert expert;
    const auto load = [&](const std::string& role, int64_t columns, Linear& linear) -> Status {
      CAIRN_ASSIGN(linear, loader.RawRows(role + ".weight", rows, columns));
      if (spec_.expert_bias) CAIRN_TRY(TakeBias(loader, role + ".bias", rows, linear));
      return {};
    };
    if (spec_.gated && loader.Has("mlp.experts.gate_up_proj")) {
      rows.total = 2 * spec_.intermediate;
      CAIRN_TRY(load("mlp.experts.gate_up_proj", input_, expert.gate));
      rows.first = spec_.intermediate;
      CAIRN_TRY(load("mlp.experts.gate_up_proj", input_, expert.up));
      rows.first = 0;
    } else {
      if (spec_.gated) CAIRN_TRY(load("mlp.experts.gate_proj", input_, expert.gate));
      CAIRN_TRY(load("mlp.experts.up_proj", input_, expert.up));
    }
    rows.total = rows.count = input_;
    CAIRN_TRY(load("mlp.experts.down_proj", spec_.intermediate, expert.down));
    experts_.push_back(std::move(expert));
  }
  return {};
}

// Gate and up in one stack, gate first or in turn.
Status Experts::LoadFusedStack(const PartLoader& loader) {
  const FamilyTensors* family = loader.names().family();
  const bool in_turn = family != nullptr && family->interleaved_experts;
  const int64_t width = spec_.intermediate;
  const int64_t parts = spec_.gated ? 2 : 1;
  const std::string fused = spec_.gated ? "mlp.experts.gate_up_proj" : "mlp.experts.up_proj";
  for (int64_t e = 0; e < spec_.experts; ++e) {
    RowChoice rows = {.total = parts * width,
                      .count = width,
                      .step = in_turn ? parts : 1,
                      .stack = spec_.experts,
                      .index = e,
                      .transposed = family != nullptr && family->transposed_experts};
    Expert expert;
    const auto load = [&](const std::string& role, int64_t columns, Linear& linear) -> Status {
      CAIRN_ASSIGN(linear, loader.RawRows(role, rows, columns));
      if (spec_.expert_bias) CAIRN_TRY(TakeBias(loader, role + "_bias", rows, linear));
      return {};
    };
    if (spec_.gated) {
      CAIRN_TRY(load(fused, input_, expert.gate));
      rows.first = in_turn ? 1 : width;
    }
    CAIRN_TRY(load(fused, input_, expert.up));
    rows.first = 0;
    rows.step = 1;
    rows.total = rows.count = input_;
    CAIRN_TRY(load("mlp.experts.down_proj", width, expert.down));
    experts_.push_back(std::move(expert));
  }
  return {};
}

Result<Experts> Experts::Load(const PartLoader& loader, const MixtureSpec& spec, int64_t input) {
  Experts experts;
  experts.spec_ = spec;
  experts.input_ = input;
  experts.first_.resize(static_cast<size_t>(spec.experts) + 1);
  if (loader.HasRaw("mlp.experts.down_proj")) {
    CAIRN_TRY(experts.LoadFusedStack(loader));
  } else if (loader.Has("mlp.experts.down_proj")) {
    CAIRN_TRY(experts.LoadStacks(loader));
  } else {
    CAIRN_TRY(experts.LoadSeparate(loader));
  }
  return experts;
}

void Experts::GroupByExpert(int64_t count, const Picks& picks) {
  const int64_t all = count * spec_.experts_per_token;
  std::ranges::fill(first_, 0);
  for (int64_t i = 0; i < all; ++i) {
    const int32_t expert = picks.experts[static_cast<size_t>(i)];
    if (expert != kNoExpert) ++first_[static_cast<size_t>(expert) + 1];
  }
  for (size_t e = 1; e < first_.size(); ++e) first_[e] += first_[e - 1];
  grouped_.resize(static_cast<size_t>(all));
  // Each expert's end is its first place until its picks are in.
  for (int64_t i = 0; i < all; ++i) {
    const int32_t expert = picks.experts[static_cast<size_t>(i)];
    if (expert != kNoExpert)
      grouped_[static_cast<size_t>(first_[static_cast<size_t>(expert)]++)] = i;
  }
  for (size_t e = first_.size() - 1; e > 0; --e) first_[e] = first_[e - 1];
  first_[0] = 0;
}

void Experts::RunExpert(const Pass& pass, const Expert& expert, const float* x, int64_t count,
                        float* out) {
  const int64_t width = spec_.intermediate;
  float* up = pass.work->Floats(kUp, count * width);
  float* gate = spec_.gated ? pass.work->Floats(kGate, count * width) : up;
  Activations& activations = pass.work->activations(0);
  activations.Set(x, count, input_, input_);
  const std::array<MatMulTask, 2> tasks = {expert.up.Into(up), expert.gate.Into(gate)};
  MatMul(activations, std::span(tasks).first(spec_.gated ? 2 : 1), *pass.pool);
  ForTokens(*pass.pool, count, [&](int64_t t) {
    if (spec_.gated) {
      ActivateTimes(spec_.activation, spec_.clip, gate + t * width, up + t * width, width);
    } else {
      Activate(spec_.activation, up + t * width, width);
    }
  });
  Activations& inner = pass.work->activations(1);
  inner.Set(gate, count, width, width);
  const MatMulTask down = expert.down.Into(out);
  MatMul(inner, {&down, 1}, *pass.pool);
}

void Experts::Run(const Pass& pass, const float* x, int64_t count, const Picks& picks, float* out) {
  GroupByExpert(count, picks);
  std::fill_n(out, count * input_, 0.0f);
  float* gathered = pass.work->Floats(kGathered, count * input_);
  float* made = pass.work->Floats(kMade, count * input_);
  for (size_t e = 0; e < experts_.size(); ++e) {
    const std::span<const int64_t> mine = std::span(grouped_).subspan(
        static_cast<size_t>(first_[e]), static_cast<size_t>(first_[e + 1] - first_[e]));
    if (mine.empty()) continue;
    const auto size = static_cast<int64_t>(mine.size());
    const auto weight = [&](int64_t i) {
      return picks.weights[static_cast<size_t>(mine[static_cast<size_t>(i)])];
    };
    const auto token = [&](int64_t i) {
      return mine[static_cast<size_t>(i)] / spec_.experts_per_token;
    };
    ForTokens(*pass.pool, size, [&](int64_t i) {
      float* to = gathered + i * input_;
      std::copy_n(x + token(i) * input_, input_, to);
      if (spec_.router.scales_input) Scale(to, weight(i), input_);
    });
    RunExpert(pass, experts_[e], gathered, size, made);
    ForTokens(*pass.pool, size, [&](int64_t i) {
      float* from = made + i * input_;
      if (!spec_.router.scales_input) Scale(from, weight(i), input_);
      AddTo(out + token(i) * input_, from, input_);
    });
  }
}

}  // namespace cairn
