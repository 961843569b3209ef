// Bytes of one token's row and of one request's state, as vLLM stores them
// (v1/kv_cache_interface.py and model_executor/layers/mamba/mamba_utils.py, read in 0.33).
#include <array>
#include <charconv>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;
using StateKind = LayerCache::StateKind;

int64_t Elements(const LayerCache& cache) {
  return cache.heads * (cache.key_width + cache.value_width);
}

// 4-bit values with an FP8 scale for every 16.
int64_t Nvfp4Bytes(int64_t width) { return width / 2 + width / 16; }

// 512 in FP8, a float scale for every 128, and the rotated part in BF16.
int64_t DsMlaBytes(const LayerCache& cache) {
  return cache.key_width + 4 * CeilDiv(cache.key_width, 128) + 2 * cache.value_width;
}

struct TurboQuantBits {
  std::string_view name;
  int64_t key_bits;  // 8: FP8 without a scale
  int64_t value_bits;
};
constexpr auto kTurboQuant = std::to_array<TurboQuantBits>({{"turboquant_k8v4", 8, 4},
                                                            {"turboquant_4bit_nc", 4, 4},
                                                            {"turboquant_k3v4_nc", 3, 4},
                                                            {"turboquant_3bit_nc", 3, 3}});

// model_executor/layers/quantization/turboquant/config.py: slots are rounded up to even.
std::optional<int64_t> TurboQuantBytes(const LayerCache& cache, std::string_view dtype) {
  for (const TurboQuantBits& bits : kTurboQuant) {
    if (bits.name != dtype) continue;
    const int64_t key =
        bits.key_bits == 8 ? cache.key_width : CeilDiv(cache.key_width * bits.key_bits, 8) + 2;
    const int64_t value = CeilDiv(cache.value_width * bits.value_bits, 8) + 4;
    return cache.heads * RoundUp(key + value, 2);
  }
  return std::nullopt;
}

Result<int64_t> LatentRow(const LayerCache& cache, const ProfileQuestion& question) {
  const std::string_view dtype = question.kv_dtype;
  if (dtype == "fp8_ds_mla") return DsMlaBytes(cache);
  if (dtype == "nvfp4_ds_mla") return Nvfp4Bytes(cache.key_width) + cache.value_width;
  if (dtype == "nvfp4") return Nvfp4Bytes(Elements(cache));
  if (dtype == "fp8_raw") return Elements(cache);
  CAIRN_ASSIGN(const int64_t bytes,
               FloatBytes("kv_dtype", dtype == "auto" ? question.model_dtype : dtype));
  return Elements(cache) * bytes;
}

Result<int64_t> HeadRows(const LayerCache& cache, const ProfileQuestion& question) {
  const std::string_view dtype = question.kv_dtype;
  constexpr int64_t kScales = 8;  // two floats a head
  if (dtype == "nvfp4") {
    return cache.heads * (Nvfp4Bytes(cache.key_width) + Nvfp4Bytes(cache.value_width));
  }
  if (dtype == "int4_per_token_head") return Elements(cache) / 2 + cache.heads * kScales;
  if (dtype == "int8_per_token_head" || dtype == "fp8_per_token_head") {
    return Elements(cache) + cache.heads * kScales;
  }
  if (const auto packed = TurboQuantBytes(cache, dtype)) return *packed;
  if (dtype == "fp8_raw" || dtype == "fp8_inc" || dtype == "int8") return Elements(cache);
  CAIRN_ASSIGN(const int64_t bytes,
               FloatBytes("kv_dtype", dtype == "auto" ? question.model_dtype : dtype));
  return Elements(cache) * bytes;
}

// The states' types: the setting, the model's own where its builds read it, the convolution's.
Result<int64_t> RecurrentBytes(const LayerCache& cache, const ProfileQuestion& question,
                               int64_t conv_bytes) {
  if (!question.ssm_dtype.empty() && question.ssm_dtype != "auto") {
    return FloatBytes("ssm_dtype", question.ssm_dtype);
  }
  if (cache.state == StateKind::kKda) return int64_t{4};
  // 2025 builds kept states in the model's type; later ones read it from the config.
  constexpr int64_t kReadsConfig = 15;
  if (question.version.AtLeast(0, kReadsConfig) && cache.recurrent_dtype) {
    return int64_t{InfoOf(*cache.recurrent_dtype).block_bytes};
  }
  return conv_bytes;
}

}  // namespace

Result<int64_t> VllmRowBytes(const LayerCache& cache, const ProfileQuestion& question) {
  switch (cache.kind) {
    case Kind::kLatent:
      return LatentRow(cache, question);
    case Kind::kIndex:  // FP8 and a float scale for every 128
      return cache.key_width + 4 * CeilDiv(cache.key_width, 128);
    case Kind::kFull:
    case Kind::kSliding:
    case Kind::kChunked:
      return HeadRows(cache, question);
    case Kind::kState:
    case Kind::kCompressed:
      break;
  }
  return Fail(ErrorCode::kUnsupported, "a layer of this kind has no rows of its own");
}

Result<int64_t> VllmStateBytes(const LayerCache& cache, const ProfileQuestion& question) {
  const std::string& own = question.conv_dtype;
  const bool by_model = own.empty() || own == "auto";
  CAIRN_ASSIGN(const int64_t conv_bytes,
               FloatBytes("conv_dtype", by_model ? question.model_dtype : own));
  CAIRN_ASSIGN(const int64_t recurrent_bytes, RecurrentBytes(cache, question, conv_bytes));
  // A drafted token needs its own column, to go back to.
  const bool drafts = cache.state == StateKind::kMamba2 || cache.state == StateKind::kDelta ||
                      cache.state == StateKind::kKda;
  const int64_t columns =
      cache.conv_columns + (drafts ? question.num_speculative_tokens : int64_t{0});
  const int64_t convolution = Saturated(columns * cache.conv_channels, conv_bytes);
  return SaturatedSum(convolution, Saturated(cache.recurrent_elements, recurrent_bytes));
}

std::string VllmMambaMode(const ProfileQuestion& question) {
  if (!question.mamba_cache_mode.empty()) return question.mamba_cache_mode;
  // Prefix caching became the default for hybrids with 0.20.
  return question.version.AtLeast(0, 20) ? "align" : "none";
}

}  // namespace cairn
