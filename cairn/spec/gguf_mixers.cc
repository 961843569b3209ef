#include "cairn/spec/gguf_mixers.h"

#include <algorithm>
#include <string>

#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr IntRange kWidth = {1, kMaxHeadWidth};
constexpr IntRange kKernel = {1, 1024};
constexpr IntRange kChannels = {1, kMaxProjection};
constexpr IntRange kState = {1, 1 << 14};
// All heads' matrices of one layer.
constexpr int64_t kMaxMatrix = int64_t{1} << 34;

Status CheckMatrix(const GgufKeys& keys, std::string_view name, int64_t heads, int64_t width) {
  if (heads * width <= kMaxProjection && heads * width * width <= kMaxMatrix) return {};
  return keys.Wrong(name, width, fmt::format("at most {} channels in all heads", kMaxProjection));
}

Result<MixerSpec> Mamba(const GgufKeys& keys, int version) {
  MambaSpec mamba;
  mamba.version = version;
  CAIRN_ASSIGN(mamba.inner, keys.Int("ssm.inner_size", kChannels));
  CAIRN_ASSIGN(mamba.state, keys.Int("ssm.state_size", kState));
  CAIRN_ASSIGN(mamba.conv_kernel, keys.Int("ssm.conv_kernel", kKernel));
  // One key for two things: of version 1 the rank of the step's projection, of version 2 the heads.
  CAIRN_ASSIGN(const int64_t steps, keys.IntOr("ssm.time_step_rank", {0, kMaxProjection}, 0));
  if (version == 1) {
    mamba.step_rank = steps;
    return mamba;
  }
  mamba.heads = steps;
  CAIRN_ASSIGN(mamba.groups, keys.IntOr("ssm.group_count", {0, 1024}, 0));
  return mamba;
}

Result<MixerSpec> GatedDelta(const GgufKeys& keys) {
  DeltaRuleSpec delta;
  CAIRN_ASSIGN(const int64_t inner, keys.Int("ssm.inner_size", kChannels));
  CAIRN_ASSIGN(delta.key_heads, keys.Int("ssm.group_count", {1, kMaxHeads}));
  CAIRN_ASSIGN(delta.value_heads, keys.Int("ssm.time_step_rank", {1, kMaxHeads}));
  CAIRN_ASSIGN(delta.key_width, keys.Int("ssm.state_size", kWidth));
  CAIRN_ASSIGN(delta.conv_kernel, keys.Int("ssm.conv_kernel", kKernel));
  if (inner % delta.value_heads != 0) {
    return keys.Wrong("ssm.time_step_rank", delta.value_heads,
                      fmt::format("a divisor of ssm.inner_size ({})", inner));
  }
  delta.value_width = inner / delta.value_heads;
  CAIRN_TRY(CheckMatrix(keys, "ssm.state_size", delta.key_heads, delta.key_width));
  if (inner * delta.key_width > kMaxMatrix) {
    return keys.Wrong("ssm.state_size", delta.key_width, "a matrix of at most 2^34 elements");
  }
  return delta;
}

Result<MixerSpec> ChannelDelta(const GgufKeys& keys, int64_t heads) {
  DeltaRuleSpec delta;
  delta.decay = DeltaRuleSpec::Decay::kChannel;
  CAIRN_ASSIGN(delta.key_width, keys.Int("kda.head_dim", kWidth));
  CAIRN_ASSIGN(delta.conv_kernel, keys.IntOr("ssm.conv_kernel", kKernel, 4));
  if (heads < 1) return keys.Missing("attention.head_count");
  CAIRN_TRY(CheckMatrix(keys, "kda.head_dim", heads, delta.key_width));
  delta.value_width = delta.key_width;
  delta.key_heads = delta.value_heads = heads;
  return delta;
}

Result<MixerSpec> Lightning(const GgufKeys& keys, const GgufFrame& frame, int64_t heads) {
  if (heads < 1) return keys.Missing("attention.head_count");
  LinearAttentionSpec lightning;
  lightning.heads = heads;
  lightning.key_width = lightning.value_width = frame.key_width;
  CAIRN_TRY(CheckMatrix(keys, "attention.key_length", heads, frame.key_width));
  return lightning;
}

Result<MixerSpec> Rwkv(const GgufKeys& keys, const GgufFrame& frame) {
  const bool sixth = keys.architecture().starts_with("rwkv6");
  RwkvSpec rwkv = {.version = sixth ? 6 : 7};
  CAIRN_ASSIGN(rwkv.width, keys.Int("wkv.head_size", kWidth));
  CAIRN_ASSIGN(rwkv.token_shifts, keys.IntOr("token_shift_count", {1, 2}, 2));
  if (frame.hidden % rwkv.width != 0) {
    return keys.Wrong("wkv.head_size", rwkv.width,
                      fmt::format("a divisor of embedding_length ({})", frame.hidden));
  }
  rwkv.heads = frame.hidden / rwkv.width;
  return rwkv;
}

Result<MixerSpec> ShortConv(const GgufKeys& keys, const GgufFrame& frame) {
  ShortConvSpec conv;
  conv.channels = frame.hidden;
  CAIRN_ASSIGN(conv.kernel, keys.Int("shortconv.l_cache", kKernel));
  return conv;
}

Status ReadWidths(const GgufKeys& keys, GgufFrame& frame) {
  const int64_t heads = *std::ranges::max_element(frame.heads);
  if (heads == 0) return {};
  constexpr std::string_view kKeyLength = "attention.key_length";
  if (frame.hidden % heads != 0 && !keys.Has(kKeyLength)) {
    return keys.Wrong(
        "attention.head_count", heads,
        fmt::format("a divisor of embedding_length ({}), or attention.key_length", frame.hidden));
  }
  const int64_t even = frame.hidden / heads;
  CAIRN_ASSIGN(frame.key_width, keys.IntOr(kKeyLength, kWidth, even));
  CAIRN_ASSIGN(frame.value_width, keys.IntOr("attention.value_length", kWidth, even));
  CAIRN_ASSIGN(frame.sliding_key_width,
               keys.IntOr("attention.key_length_swa", kWidth, frame.key_width));
  CAIRN_ASSIGN(frame.sliding_value_width,
               keys.IntOr("attention.value_length_swa", kWidth, frame.value_width));
  const int64_t widest = std::max(
      {frame.key_width, frame.value_width, frame.sliding_key_width, frame.sliding_value_width});
  if (heads * widest <= kMaxProjection) return {};
  return keys.Wrong("attention.head_count", heads,
                    fmt::format("at most {} channels in all heads", kMaxProjection));
}

}  // namespace

Result<GgufFrame> ReadGgufFrame(const GgufKeys& keys) {
  constexpr IntRange kHeads = {0, kMaxHeads};
  GgufFrame frame;
  CAIRN_ASSIGN(frame.blocks, keys.Blocks());
  CAIRN_ASSIGN(frame.hidden, keys.Int("embedding_length", {1, kMaxHidden}));
  CAIRN_ASSIGN(const int64_t context, keys.IntOr("context_length", {0, kMaxContext}, 0));
  frame.context_length = TokenCount(context);
  CAIRN_ASSIGN(frame.heads, keys.PerLayerOr("attention.head_count", frame.blocks, kHeads, 0));
  frame.kv_heads = frame.heads;
  if (keys.Has("attention.head_count_kv")) {
    CAIRN_ASSIGN(frame.kv_heads, keys.PerLayer("attention.head_count_kv", frame.blocks, kHeads));
  }
  CAIRN_ASSIGN(frame.intermediate,
               keys.PerLayerOr("feed_forward_length", frame.blocks, {0, kMaxIntermediate}, 0));
  CAIRN_TRY(ReadWidths(keys, frame));
  return frame;
}

Result<std::optional<LatentAttentionSpec>> LatentFromGguf(const GgufKeys& keys,
                                                          const GgufFrame& frame) {
  LatentAttentionSpec latent;
  CAIRN_ASSIGN(latent.latent_width, keys.IntOr("attention.kv_lora_rank", {0, kMaxProjection}, 0));
  if (latent.latent_width == 0) return std::nullopt;
  CAIRN_ASSIGN(latent.rope_width, keys.Int("rope.dimension_count", {0, kMaxHeadWidth}));
  CAIRN_ASSIGN(latent.query_rank, keys.IntOr("attention.q_lora_rank", {0, kMaxProjection}, 0));
  // Newer files say with key_length what is kept, and with key_length_mla how wide a head is.
  CAIRN_ASSIGN(const int64_t key,
               keys.IntOr("attention.key_length_mla", {1, kMaxHeadWidth}, frame.key_width));
  CAIRN_ASSIGN(latent.value_width,
               keys.IntOr("attention.value_length_mla", {1, kMaxHeadWidth}, frame.value_width));
  if (key < latent.rope_width) {
    return keys.Wrong("rope.dimension_count", latent.rope_width,
                      fmt::format("at most the {} channels of a head's key", key));
  }
  latent.key_width = key - latent.rope_width;
  return latent;
}

Result<std::optional<SparseIndexSpec>> IndexFromGguf(const GgufKeys& keys) {
  if (!keys.Has("attention.indexer.key_length")) return std::nullopt;
  SparseIndexSpec index;
  CAIRN_ASSIGN(index.width, keys.Int("attention.indexer.key_length", kWidth));
  CAIRN_ASSIGN(index.query_heads, keys.IntOr("attention.indexer.head_count", {0, kMaxHeads}, 0));
  if (index.query_heads * index.width > kMaxProjection) {
    return keys.Wrong("attention.indexer.head_count", index.query_heads,
                      fmt::format("at most {} channels in all heads", kMaxProjection));
  }
  return index;
}

Result<MixerSpec> RecurrentFromGguf(const GgufKeys& keys, const GgufFrame& frame,
                                    GgufRecurrent kind, int64_t heads) {
  switch (kind) {
    case GgufRecurrent::kNothing:
      return NoMixer{};
    case GgufRecurrent::kMamba1:
      return Mamba(keys, 1);
    case GgufRecurrent::kMamba2:
      return Mamba(keys, 2);
    case GgufRecurrent::kGatedDelta:
      return GatedDelta(keys);
    case GgufRecurrent::kChannelDelta:
      return ChannelDelta(keys, heads);
    case GgufRecurrent::kLightning:
      return Lightning(keys, frame, heads);
    case GgufRecurrent::kRwkv:
      return Rwkv(keys, frame);
    case GgufRecurrent::kShortConv:
      return ShortConv(keys, frame);
  }
  return NoMixer{};
}

}  // namespace cairn
