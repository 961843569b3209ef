#include "cairn/models/delta_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace cairn {
namespace {

class Reader {
 public:
  Reader(const PartLoader& loader, const DeltaRuleSpec& spec, DeltaWeights& weights)
      : loader_(loader), spec_(spec), weights_(weights) {}

  Status Read() {
    const FamilyTensors* family = loader_.names().family();
    weights_.key_heads_in_turn =
        loader_.names().is_gguf() && family != nullptr && family->key_heads_in_turn;
    if (spec_.decay == DeltaRuleSpec::Decay::kChannel) return ReadKda();
    CAIRN_TRY(loader_.Has("linear_attn.in_proj_qkvz") ? ReadPacked() : ReadSeparate());
    CAIRN_TRY(loader_.Has("linear_attn.in_proj_ba") ? ReadPackedSteps() : ReadSteps());
    CAIRN_TRY(ReadConv("linear_attn.conv1d", keys_ + keys_ + values_));
    CAIRN_TRY(ReadRates("linear_attn.", spec_.value_heads));
    CAIRN_ASSIGN(weights_.norm, loader_.Vector("linear_attn.norm", spec_.value_width));
    CAIRN_ASSIGN(weights_.output, loader_.Matrix("linear_attn.out_proj", hidden_, values_));
    return {};
  }

 private:
  // Of each key head in turn: query, key, the values and the gates of its value heads.
  Status ReadPacked() {
    const int64_t shared = spec_.value_heads / spec_.key_heads;
    const int64_t width = spec_.key_width;
    const int64_t group = shared * spec_.value_width;
    const int64_t step = 2 * (width + group);
    const auto rows = [&](int64_t first, int64_t size, Linear& to) -> Status {
      CAIRN_ASSIGN(to, loader_.Rows("linear_attn.in_proj_qkvz",
                                    {.total = step * spec_.key_heads,
                                     .first = first,
                                     .count = size * spec_.key_heads,
                                     .step = step,
                                     .group = size},
                                    hidden_));
      return {};
    };
    CAIRN_TRY(rows(0, width, weights_.query));
    CAIRN_TRY(rows(width, width, weights_.key));
    CAIRN_TRY(rows(2 * width, group, weights_.value));
    return rows(2 * width + group, group, weights_.gate.up);
  }

  // The same of steps and decays.
  Status ReadPackedSteps() {
    const int64_t shared = spec_.value_heads / spec_.key_heads;
    RowChoice half = {
        .total = 2 * spec_.value_heads, .count = spec_.value_heads, .step = 2 * shared};
    half.group = shared;
    CAIRN_ASSIGN(weights_.beta, loader_.Rows("linear_attn.in_proj_ba", half, hidden_));
    half.first = shared;
    CAIRN_ASSIGN(weights_.decay.up, loader_.Rows("linear_attn.in_proj_ba", half, hidden_));
    return {};
  }

  Status ReadSeparate() {
    const auto rows = [&](int64_t first, int64_t count, Linear& to) -> Status {
      CAIRN_ASSIGN(to, loader_.Rows("linear_attn.in_proj_qkv",
                                    {.total = 2 * keys_ + values_, .first = first, .count = count},
                                    hidden_));
      return {};
    };
    CAIRN_TRY(rows(0, keys_, weights_.query));
    CAIRN_TRY(rows(keys_, keys_, weights_.key));
    CAIRN_TRY(rows(2 * keys_, values_, weights_.value));
    return ReadMatrix("linear_attn.in_proj_z", values_, weights_.gate.up);
  }

  Status ReadSteps() {
    CAIRN_TRY(ReadMatrix("linear_attn.in_proj_b", spec_.value_heads, weights_.beta));
    return ReadMatrix("linear_attn.in_proj_a", spec_.value_heads, weights_.decay.up);
  }

  Status ReadKda() {
    CAIRN_TRY(ReadMatrix("self_attn.q_proj", keys_, weights_.query));
    CAIRN_TRY(ReadMatrix("self_attn.k_proj", keys_, weights_.key));
    CAIRN_TRY(ReadMatrix("self_attn.v_proj", values_, weights_.value));
    CAIRN_TRY(ReadMatrix("self_attn.b_proj", spec_.value_heads, weights_.beta));
    CAIRN_TRY(ReadLowRank("self_attn.f", keys_, weights_.decay));
    CAIRN_TRY(ReadLowRank("self_attn.g", values_, weights_.gate));
    CAIRN_TRY(ReadConv("self_attn.q_conv1d", keys_));
    CAIRN_TRY(ReadConv("self_attn.k_conv1d", keys_));
    CAIRN_TRY(ReadConv("self_attn.v_conv1d", values_));
    CAIRN_TRY(ReadRates("self_attn.", keys_));
    CAIRN_ASSIGN(weights_.norm, loader_.Vector("self_attn.o_norm", spec_.value_width));
    CAIRN_ASSIGN(weights_.output, loader_.Matrix("self_attn.o_proj", hidden_, values_));
    return {};
  }

  Status ReadMatrix(std::string_view role, int64_t rows, Linear& to) {
    CAIRN_ASSIGN(to, loader_.Matrix(role, rows, hidden_));
    return {};
  }

  // NAME_a_proj and NAME_b_proj with a head's width between them, or NAME_proj.
  Status ReadLowRank(std::string_view role, int64_t rows, LowRankLinear& to) {
    if (loader_.Has(fmt::format("{}_proj", role))) {
      return ReadMatrix(fmt::format("{}_proj", role), rows, to.up);
    }
    CAIRN_TRY(ReadMatrix(fmt::format("{}_a_proj", role), spec_.key_width, to.down));
    CAIRN_ASSIGN(to.up, loader_.Matrix(fmt::format("{}_b_proj", role), rows, spec_.key_width));
    return {};
  }

  // Files hold [channels][kernel], of all channels or of one part after the other.
  Status ReadConv(std::string_view role, int64_t channels) {
    const int64_t all = 2 * keys_ + values_;
    const std::array<int64_t, 2> shape = {channels, spec_.conv_kernel};
    CAIRN_ASSIGN(const std::vector<float> part, loader_.Raw(std::string(role) + ".weight", shape));
    weights_.conv.resize(static_cast<size_t>(spec_.conv_kernel * all));
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = 0; k < spec_.conv_kernel; ++k) {
        weights_.conv[static_cast<size_t>(k * all + conv_channels_ + c)] =
            part[static_cast<size_t>(c * spec_.conv_kernel + k)];
      }
    }
    conv_channels_ += channels;
    return {};
  }

  Status ReadRates(const std::string& place, int64_t steps) {
    CAIRN_ASSIGN(weights_.step_bias, loader_.Raw(place + "dt_bias", steps));
    // Files may pad the rates to a head's width.
    const bool padded = loader_.ElementsOf(place + "A_log") == spec_.key_width;
    const int64_t stored = std::max(spec_.value_heads, padded ? spec_.key_width : 0);
    CAIRN_ASSIGN(weights_.rates, loader_.Raw(place + "A_log", stored));
    weights_.rates.resize(static_cast<size_t>(spec_.value_heads));
    if (loader_.names().is_gguf()) return {};  // such files hold the rates themselves
    const float sign = spec_.decay_bound < 0 ? 1.0f : -1.0f;
    for (float& rate : weights_.rates) rate = sign * std::exp(rate);
    return {};
  }

  const PartLoader& loader_;
  const DeltaRuleSpec& spec_;
  DeltaWeights& weights_;
  const int64_t hidden_ = loader_.spec().hidden;
  const int64_t keys_ = spec_.key_heads * spec_.key_width;
  const int64_t values_ = spec_.value_heads * spec_.value_width;
  int64_t conv_channels_ = 0;  // read so far
};

}  // namespace

Result<DeltaWeights> DeltaWeights::Load(const PartLoader& loader, const DeltaRuleSpec& spec) {
  DeltaWeights weights;
  CAIRN_TRY(Reader(loader, spec, weights).Read());
  return weights;
}

}  // namespace cairn
