// RWKV 4: a weighted average of all values so far, and a network that mixes channels; both read
// each token mixed with the one before.
//
// Kept: of the token before, what either half reads ("shift": the network's first), and the
// average's numerator, denominator and largest exponent ("wkv"). Thread safety: one call at a time.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/channel_recurrence.h"
#include "cairn/kernels/gates.h"
#include "cairn/kernels/matmul.h"
#include "cairn/models/parts.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kBefore, kMixed, kKey, kValue, kReceptance };
constexpr int64_t kGroup = 512;  // channels of one thread

// A projection of mix * x + (1 - mix) * (x of the token before).
struct Mixed {
  std::vector<float> mix;  // [hidden]
  Linear linear;           // [rows, hidden]

  Status Load(const PartLoader& loader, const char* mix_role, const char* role, int64_t rows,
              int64_t hidden) {
    CAIRN_ASSIGN(mix, loader.Raw(mix_role, hidden));
    CAIRN_ASSIGN(linear, loader.Matrix(role, rows, hidden));
    return {};
  }

  void Run(const Pass& pass, const float* x, const float* before, float* out,
           ActivationPrecision precision) const {
    const auto hidden = static_cast<int64_t>(mix.size());
    float* mixed = pass.work->Floats(kMixed, pass.tokens * hidden);
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
      const float* now = x + t * hidden;
      const float* then = before + t * hidden;
      float* to = mixed + t * hidden;
      for (int64_t i = 0; i < hidden; ++i) {
        const float m = mix[static_cast<size_t>(i)];
        to[i] = now[i] * m + then[i] * (1.0f - m);
      }
    });
    Activations& activations = pass.work->activations(0);
    activations.Set(mixed, pass.tokens, hidden, hidden);
    const MatMulTask task = linear.Into(out, precision);
    MatMul(activations, {&task, 1}, *pass.pool);
  }
};

// What each token's predecessor was, as it is stored; leaves the spans' last tokens in `place`.
const float* TokensBefore(const Pass& pass, const FixedPlace& place, const float* x) {
  const int64_t hidden = place.elements;
  float* before = pass.work->Floats(kBefore, pass.tokens * hidden);
  float* last = pass.work->Floats(kMixed, hidden);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const auto tokens = static_cast<int64_t>(span.tokens.size());
    if (tokens == 0) return;
    float* to = before + first * hidden;
    place.Load(span.state, to);
    std::copy_n(x + first * hidden, (tokens - 1) * hidden, to + hidden);
    RoundTo(place.dtype, to + hidden, (tokens - 1) * hidden);
    std::copy_n(x + (first + tokens - 1) * hidden, hidden, last);
    place.Store(span.state, last);
  });
  return before;
}

void Output(const Pass& pass, const Linear& linear, const float* x, int64_t count, float* out) {
  Activations& activations = pass.work->activations(0);
  const int64_t width = linear.matrix.columns();
  activations.Set(x, count, width, width);
  const MatMulTask task = linear.Into(out);
  MatMul(activations, {&task, 1}, *pass.pool);
}

class TimeMix final : public Mixer {
 public:
  TimeMix(const LayerBuild& build, const RwkvSpec& spec)
      : hidden_(build.model.hidden),
        channels_(spec.heads * spec.width),
        before_(FixedPlaceOf(build.layout, build.layer, "shift").Part(hidden_, hidden_)),
        average_(FixedPlaceOf(build.layout, build.layer, "wkv")) {}

  Status Load(const PartLoader& loader) {
    CAIRN_TRY(key_.Load(loader, "attention.time_mix_key", "attention.key", channels_, hidden_));
    CAIRN_TRY(
        value_.Load(loader, "attention.time_mix_value", "attention.value", channels_, hidden_));
    CAIRN_TRY(receptance_.Load(loader, "attention.time_mix_receptance", "attention.receptance",
                               channels_, hidden_));
    CAIRN_ASSIGN(decay_, loader.Raw("attention.time_decay", channels_));
    NegativeExp(decay_.data(), channels_, decay_.data());
    CAIRN_ASSIGN(bonus_, loader.Raw("attention.time_first", channels_));
    CAIRN_ASSIGN(output_, loader.Matrix("attention.output", hidden_, channels_));
    return {};
  }

  void Run(const Pass& pass, const float* normed, std::span<const int64_t> rows,
           float* out) override {
    Workspace& work = *pass.work;
    float* key = work.Floats(kKey, pass.tokens * channels_);
    float* value = work.Floats(kValue, pass.tokens * channels_);
    float* receptance = work.Floats(kReceptance, pass.tokens * channels_);
    const float* before = TokensBefore(pass, before_, normed);
    key_.Run(pass, normed, before, key, kFinePrecision);
    value_.Run(pass, normed, before, value, kFinePrecision);
    receptance_.Run(pass, normed, before, receptance, ActivationPrecision::k8);
    ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
      Average(pass, span, key + first * channels_, value + first * channels_);
    });
    if (rows.empty()) return;
    const auto count = static_cast<int64_t>(rows.size());
    KeepRows(value, channels_, rows);
    KeepRows(receptance, channels_, rows);
    ForTokens(*pass.pool, count, [&](int64_t t) {
      TimesSigmoid(value + t * channels_, receptance + t * channels_, channels_);
    });
    Output(pass, output_, value, count, out);
  }

 private:
  // value[t] = the average at token t.
  void Average(const Pass& pass, const BatchSpan& span, const float* key, float* value) const {
    float* state = average_.Floats(span.state);
    float* exponents = state + 2 * channels_;
    if (span.state.tokens_before == TokenCount(0)) {
      std::fill_n(exponents, channels_, kWkv4EmptyExponent);
    }
    auto move = [&](int64_t index, int) {
      const int64_t first = index * kGroup;
      Wkv4Task task;
      task.channels = std::min(kGroup, channels_ - first);
      task.numerator = state + first;
      task.denominator = state + channels_ + first;
      task.max_exponent = exponents + first;
      task.decay = decay_.data() + first;
      task.bonus = bonus_.data() + first;
      task.keys = {key + first, channels_};
      task.values = {value + first, channels_};
      task.out = {value + first, channels_};
      Wkv4(task, static_cast<int64_t>(span.tokens.size()));
    };
    pass.pool->ParallelFor((channels_ + kGroup - 1) / kGroup, move);
  }

  const int64_t hidden_;
  const int64_t channels_;
  FixedPlace before_;
  FixedPlace average_;
  Mixed key_;
  Mixed value_;
  Mixed receptance_;
  std::vector<float> decay_;  // [channels]
  std::vector<float> bonus_;  // [channels]
  Linear output_;             // [hidden, channels]
};

class ChannelMix final : public FeedForward {
 public:
  ChannelMix(const LayerBuild& build, const ChannelMixSpec& spec)
      : hidden_(build.model.hidden),
        width_(spec.intermediate),
        before_(FixedPlaceOf(build.layout, build.layer, "shift").Part(0, hidden_)) {}

  Status Load(const PartLoader& loader) {
    CAIRN_TRY(key_.Load(loader, "feed_forward.time_mix_key", "feed_forward.key", width_, hidden_));
    CAIRN_TRY(receptance_.Load(loader, "feed_forward.time_mix_receptance",
                               "feed_forward.receptance", hidden_, hidden_));
    CAIRN_ASSIGN(value_, loader.Matrix("feed_forward.value", hidden_, width_));
    return {};
  }

  bool KeepsState() const override { return true; }

  // `rows` are all tokens.
  void Run(const Pass& pass, const float* normed, std::span<const int64_t> /*rows*/,
           float* out) override {
    float* key = pass.work->Floats(kKey, pass.tokens * width_);
    float* receptance = pass.work->Floats(kReceptance, pass.tokens * hidden_);
    const float* before = TokensBefore(pass, before_, normed);
    key_.Run(pass, normed, before, key, ActivationPrecision::k8);
    receptance_.Run(pass, normed, before, receptance, ActivationPrecision::k8);
    ForTokens(*pass.pool, pass.tokens,
              [&](int64_t t) { ReluSquared(key + t * width_, width_, key + t * width_); });
    Output(pass, value_, key, pass.tokens, out);
    ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
      TimesSigmoid(out + t * hidden_, receptance + t * hidden_, hidden_);
    });
  }

 private:
  const int64_t hidden_;
  const int64_t width_;
  FixedPlace before_;
  Mixed key_;
  Mixed receptance_;
  Linear value_;  // [hidden, width]
};

}  // namespace

MixerOr MakeRwkv(const LayerBuild& build, const RwkvSpec& spec) {
  auto mixer = std::make_unique<TimeMix>(build, spec);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

FeedForwardOr MakeChannelMix(const LayerBuild& build, const ChannelMixSpec& spec) {
  auto mix = std::make_unique<ChannelMix>(build, spec);
  CAIRN_TRY(mix->Load(build.loader));
  return mix;
}

}  // namespace cairn
