// Zaya's attention: queries and keys pass two convolutions, and half of the values are made by the
// token before.
//
// The first convolution is channel by channel, the second mixes the channels of a head. What they
// make is added to a mean of query and key heads; both are brought to one length, keys with a
// factor for each head. State is the convolutions' raw inputs and the last token's delayed values.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "cairn/kernels/causal_conv.h"
#include "cairn/kernels/norms.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/mixer_attention.h"
#include "cairn/models/parts.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kDelayed = 5, kInputs, kByChannel, kByHead, kRaw, kGathered };

class ZayaMixer final : public AttentionMixer {
 public:
  ZayaMixer(const LayerBuild& build, const AttentionSpec& spec)
      : AttentionMixer(build, spec, false),
        heads_(spec.heads + spec.kv_heads),
        head_kernel_(spec.conv_head_kernel),
        channel_kernel_(spec.conv_history + 2 - spec.conv_head_kernel),
        delayed_place_(FixedPlaceOf(build.layout, build.layer, "delayed_values")) {
    if (spec.conv_history > 0) tail_ = FixedPlaceOf(build.layout, build.layer, "conv");
  }

  Status Load(const PartLoader& loader) override;

 protected:
  void Project(const Pass& pass, const float* normed, const Made& made) override;

 private:
  int64_t channels() const { return heads_ * spec().key_width; }
  // Rows of a span in the buffers: those of its tokens and of the history before them.
  int64_t FirstRow(size_t span, int64_t token) const {
    return token + static_cast<int64_t>(span) * spec().conv_history;
  }
  Status LoadHeadKernels(const PartLoader& loader);
  void DelayValues(const Pass& pass, float* delayed, const Made& made) const;
  void FillInputs(const Pass& pass, const float* raw, float* inputs) const;
  void ConvolveChannels(const Pass& pass, float* inputs, int64_t rows, float* out) const;
  void ConvolveHeads(const Pass& pass, const float* by_channel, int64_t rows, float* out) const;
  void FinishToken(const float* raw, const float* convolved, float* query, float* key) const;

  const int64_t heads_;  // of queries and of keys
  const int64_t head_kernel_;
  const int64_t channel_kernel_;
  FixedPlace tail_;
  const FixedPlace delayed_place_;
  Linear value_now_;
  Linear value_delayed_;
  std::vector<float> channel_weights_;  // [channel_kernel][channels]
  std::vector<float> channel_bias_;
  std::vector<Linear> head_kernels_;  // of each head: [key_width, head_kernel * key_width]
  std::vector<float> key_factors_;
};

// Files hold [channels, key_width, kernel]; a product needs the channels of one token together.
Status ZayaMixer::LoadHeadKernels(const PartLoader& loader) {
  const int64_t width = spec().key_width;
  const std::array<int64_t, 3> shape = {channels(), width, head_kernel_};
  CAIRN_ASSIGN(const std::vector<float> weights,
               loader.Raw("self_attn.qkv_proj.conv_qk_grouped.weight", shape));
  CAIRN_ASSIGN(const std::vector<float> bias,
               loader.Raw("self_attn.qkv_proj.conv_qk_grouped.bias", channels()));
  const int64_t columns = head_kernel_ * width;
  std::vector<float> matrix(static_cast<size_t>(width * columns));
  for (int64_t h = 0; h < heads_; ++h) {
    for (int64_t i = 0; i < width * columns; ++i) {
      const int64_t row = i / columns;
      const int64_t k = i % columns / width;
      const int64_t from = ((h * width + row) * width + i % width) * head_kernel_ + k;
      matrix[static_cast<size_t>(i)] = weights[static_cast<size_t>(from)];
    }
    Linear linear = loader.Computed(matrix, width, columns);
    linear.bias.assign(bias.begin() + h * width, bias.begin() + (h + 1) * width);
    head_kernels_.push_back(std::move(linear));
  }
  return {};
}

Status ZayaMixer::Load(const PartLoader& loader) {
  CAIRN_TRY(AttentionMixer::Load(loader));
  const int64_t delayed = spec().delayed_values;
  const int64_t now = spec().kv_heads * spec().value_width - delayed;
  CAIRN_ASSIGN(value_now_,
               loader.Matrix("self_attn.qkv_proj.v_proj_current", now, hidden(), spec().qkv_bias));
  CAIRN_ASSIGN(value_delayed_, loader.Matrix("self_attn.qkv_proj.v_proj_delayed", delayed, hidden(),
                                             spec().qkv_bias));
  const std::array<int64_t, 3> shape = {channels(), 1, channel_kernel_};
  CAIRN_ASSIGN(const std::vector<float> weights,
               loader.Raw("self_attn.qkv_proj.conv_qk_depthwise.weight", shape));
  channel_weights_.resize(weights.size());
  for (int64_t i = 0; i < channels() * channel_kernel_; ++i) {
    const int64_t to = i % channel_kernel_ * channels() + i / channel_kernel_;
    channel_weights_[static_cast<size_t>(to)] = weights[static_cast<size_t>(i)];
  }
  CAIRN_ASSIGN(channel_bias_, loader.Raw("self_attn.qkv_proj.conv_qk_depthwise.bias", channels()));
  CAIRN_TRY(LoadHeadKernels(loader));
  CAIRN_ASSIGN(key_factors_, loader.Raw("self_attn.qk_norm.temp", spec().kv_heads));
  return {};
}

// The second part of a token's values is what the token before it made.
void ZayaMixer::DelayValues(const Pass& pass, float* delayed, const Made& made) const {
  const int64_t count = spec().delayed_values;
  const int64_t width = spec().kv_heads * spec().value_width;
  RoundTo(delayed_place_.dtype, delayed, pass.tokens * count);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const auto tokens = static_cast<int64_t>(span.tokens.size());
    if (tokens == 0) return;
    float* to = made.value + first * width + width - count;
    if (span.state.tokens_before == TokenCount(0)) {
      std::fill_n(to, count, 0.0f);
      std::ranges::copy(value_delayed_.bias, to);
    } else {
      delayed_place_.Load(span.state, to);
    }
    for (int64_t t = 1; t < tokens; ++t) {
      std::copy_n(delayed + (first + t - 1) * count, count, to + t * width);
    }
    delayed_place_.Store(span.state, delayed + (first + tokens - 1) * count);
  });
}

// Of each span the inputs before it, then its own; the last of them stay in the state.
void ZayaMixer::FillInputs(const Pass& pass, const float* raw, float* inputs) const {
  const int64_t history = spec().conv_history;
  size_t index = 0;
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const auto tokens = static_cast<int64_t>(span.tokens.size());
    float* to = inputs + FirstRow(index++, first) * channels();
    if (history > 0) tail_.Load(span.state, to);
    float* own = to + history * channels();
    std::copy_n(raw + first * channels(), tokens * channels(), own);
    if (history == 0) return;
    RoundTo(tail_.dtype, own, tokens * channels());
    tail_.Store(span.state, to + tokens * channels());
  });
}

// out[head][row][key_width]; the first channel_kernel - 1 rows of a span are used up.
void ZayaMixer::ConvolveChannels(const Pass& pass, float* inputs, int64_t rows, float* out) const {
  const int64_t width = spec().key_width;
  const int64_t gone = channel_kernel_ - 1;
  auto head = [&](int64_t h, int) {
    size_t index = 0;
    ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
      const int64_t row = FirstRow(index++, first);
      float* from = inputs + row * channels() + h * width;
      const CausalConvTask task = {.channels = width,
                                   .kernel = channel_kernel_,
                                   .channel_stride = channels(),
                                   .weights = channel_weights_.data() + h * width,
                                   .bias = channel_bias_.data() + h * width,
                                   .tail = from,
                                   .inputs = {from + gone * channels(), channels()},
                                   .out = {out + (h * rows + row) * width, width}};
      CausalConv(task, static_cast<int64_t>(span.tokens.size()) + head_kernel_ - 1);
    });
  };
  pass.pool->ParallelFor(heads_, head);
}

// Of each head the rows that a token's output depends on, as one vector; out[token][channels].
void ZayaMixer::ConvolveHeads(const Pass& pass, const float* by_channel, int64_t rows,
                              float* out) const {
  const int64_t width = spec().key_width;
  const int64_t columns = head_kernel_ * width;
  float* gathered = pass.work->Floats(kGathered, pass.tokens * columns);
  Activations& activations = pass.work->activations(0);
  for (int64_t h = 0; h < heads_; ++h) {
    size_t index = 0;
    ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
      const float* from = by_channel + (h * rows + FirstRow(index++, first)) * width;
      ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
        std::copy_n(from + i * width, columns, gathered + (first + i) * columns);
      });
    });
    activations.Set(gathered, pass.tokens, columns, columns);
    MatMulTask task = head_kernels_[static_cast<size_t>(h)].Into(out + h * width);
    task.stride = channels();
    MatMul(activations, {&task, 1}, *pass.pool);
  }
}

// Adds to each head of what the convolutions made the mean of its query and key, and norms it.
void ZayaMixer::FinishToken(const float* raw, const float* convolved, float* query,
                            float* key) const {
  const int64_t width = spec().key_width;
  const int64_t group = spec().heads / spec().kv_heads;
  const float* raw_keys = raw + spec().heads * width;
  std::copy_n(convolved, spec().heads * width, query);
  std::copy_n(convolved + spec().heads * width, spec().kv_heads * width, key);
  for (int64_t kv = 0; kv < spec().kv_heads; ++kv) {
    for (int64_t c = 0; c < width; ++c) {
      float sum = 0;
      for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        const float mean = (raw[h * width + c] + raw_keys[kv * width + c]) * 0.5f;
        query[h * width + c] += mean;
        sum += mean;
      }
      key[kv * width + c] += sum / static_cast<float>(group);
    }
  }
  constexpr double kSmallest = std::numeric_limits<float>::epsilon();
  L2NormShape shape = {.heads = spec().heads,
                       .width = width,
                       .epsilon = kSmallest * kSmallest,
                       .scale = std::sqrt(static_cast<float>(width))};
  L2NormHeads(shape, query);
  shape.heads = spec().kv_heads;
  L2NormHeads(shape, key);
  for (int64_t kv = 0; kv < spec().kv_heads; ++kv) {
    Scale(key + kv * width, key_factors_[static_cast<size_t>(kv)], width);
  }
}

void ZayaMixer::Project(const Pass& pass, const float* normed, const Made& made) {
  const int64_t width = spec().key_width;
  const int64_t value_width = spec().kv_heads * spec().value_width;
  const int64_t rows = FirstRow(pass.batch.size(), pass.tokens);
  float* raw = pass.work->Floats(kRaw, pass.tokens * channels());
  float* delayed = pass.work->Floats(kDelayed, pass.tokens * spec().delayed_values);
  float* inputs = pass.work->Floats(kInputs, rows * channels());
  float* by_channel = pass.work->Floats(kByChannel, rows * channels());
  float* by_head = pass.work->Floats(kByHead, pass.tokens * channels());
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden(), hidden());
  std::array<MatMulTask, 4> tasks = {weights().query.Into(raw, kFinePrecision),
                                     weights().key.Into(raw + spec().heads * width, kFinePrecision),
                                     value_now_.Into(made.value, kFinePrecision),
                                     value_delayed_.Into(delayed, kFinePrecision)};
  tasks[0].stride = tasks[1].stride = channels();
  tasks[2].stride = value_width;
  MatMul(activations, tasks, *pass.pool);
  DelayValues(pass, delayed, made);
  FillInputs(pass, raw, inputs);
  ConvolveChannels(pass, inputs, rows, by_channel);
  ConvolveHeads(pass, by_channel, rows, by_head);
  ForTokens(*pass.pool, pass.tokens, [&](int64_t t) {
    FinishToken(raw + t * channels(), by_head + t * channels(),
                made.query + t * spec().heads * width, made.key + t * spec().kv_heads * width);
  });
}

}  // namespace

MixerOr MakeZayaAttention(const LayerBuild& build, const AttentionSpec& spec) {
  auto mixer = std::make_unique<ZayaMixer>(build, spec);
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

}  // namespace cairn
