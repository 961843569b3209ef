#include "cairn/spec/gguf_architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "cairn/spec/edit_distance.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Recurrent = GgufRecurrent;
using Layers = GgufRecurrentLayers;

constexpr GgufArchitecture Plain(std::string_view name, std::string_view family) {
  return {.name = name, .family = family};
}
constexpr GgufArchitecture Ungated(std::string_view name, std::string_view family) {
  return {.name = name, .family = family, .gated = false};
}
constexpr GgufArchitecture Periodic(std::string_view name, std::string_view family,
                                    int64_t period) {
  return {.name = name, .family = family, .period = period};
}
constexpr GgufArchitecture Hybrid(std::string_view name, std::string_view family,
                                  Recurrent recurrent, Layers layers = Layers::kWithoutHeads) {
  return {.name = name, .family = family, .recurrent = recurrent, .recurrent_layers = layers};
}

// clang-format off
constexpr auto kArchitectures = std::to_array<GgufArchitecture>({
    Plain("llama", "llama"), Plain("deci", "nemotron-nas"), Plain("grok", "grok"),
    Plain("baichuan", "baichuan"), Plain("refact", "refact"), Plain("stablelm", "stablelm"),
    Plain("qwen", "qwen"), Plain("qwen2", "qwen2"), Plain("qwen2moe", "qwen2_moe"),
    Plain("qwen2vl", "qwen2_vl"), Plain("qwen3", "qwen3"), Plain("qwen3moe", "qwen3_moe"),
    Plain("qwen3vl", "qwen3_vl"), Plain("qwen3vlmoe", "qwen3_vl_moe"), Plain("phi3", "phi3"),
    Plain("phimoe", "phimoe"), Plain("plamo", "plamo"), Plain("orion", "orion"),
    Plain("internlm2", "internlm2"), Plain("minicpm", "minicpm"), Plain("minicpm3", "minicpm3"),
    Plain("gemma", "gemma"), Plain("maincoder", "maincoder"), Plain("xverse", "xverse"),
    Plain("command-r", "cohere"), Plain("dbrx", "dbrx"), Plain("olmo", "olmo"),
    Plain("olmoe", "olmoe"), Plain("openelm", "openelm"), Plain("arctic", "arctic"),
    Plain("deepseek", "deepseek"), Plain("deepseek2", "deepseek_v3"),
    Plain("deepseek2-ocr", "deepseek_ocr"), Plain("deepseek32", "deepseek_v32"),
    Plain("chatglm", "chatglm"), Plain("glm4", "glm4"), Plain("glm4moe", "glm4_moe"),
    Plain("bitnet", "bitnet"), Plain("exaone", "exaone"), Plain("granite", "granite"),
    Plain("granitemoe", "granitemoe"), Plain("graniteswitch", "granite"),
    Plain("granite_swa", "granite"), Plain("chameleon", "chameleon"), Plain("plm", "plm"),
    Plain("bailingmoe", "bailing_moe"), Plain("bailingmoe2", "bailing_moe"),
    Plain("dots1", "dots1"), Plain("ernie4_5", "ernie4_5"), Plain("ernie4_5-moe", "ernie4_5_moe"),
    Plain("hunyuan-moe", "hunyuan_v1_moe"), Plain("hunyuan-dense", "hunyuan_v1_dense"),
    Plain("hunyuan_vl", "hunyuan_vl"), Plain("hy_v3", "hy_v3"), Plain("hy_v4", "hy_v4"),
    Plain("smollm3", "smollm3"), Plain("seed_oss", "seed_oss"), Plain("grovemoe", "grovemoe"),
    Plain("hrm_text", "hrm_text"), Plain("minimax-m2", "minimax_m2"), Plain("cogvlm", "cogvlm"),
    Plain("pangu-embedded", "pangu_embedded"), Plain("mistral3", "mistral"),
    Plain("mistral4", "mistral4"), Plain("paddleocr", "paddleocr"), Plain("mimo2", "mimo_v2"),
    Plain("step35", "step3p5"), Plain("spark2_5", "spark2_5"), Plain("llama-embed", "llama"),
    Plain("maple", "maple"), Plain("talkie", "talkie"), Plain("nanbeige", "nanbeige"),
    Plain("qwen3tts", "qwen3_tts"), Plain("codeshell", "codeshell"),
    Ungated("falcon", "falcon"), Ungated("gpt2", "gpt2"), Ungated("gptj", "gptj"),
    Ungated("gptneox", "gpt_neox"), Ungated("mpt", "mpt"), Ungated("starcoder", "gpt_bigcode"),
    Ungated("bloom", "bloom"), Ungated("phi2", "phi"), Ungated("starcoder2", "starcoder2"),
    Ungated("nemotron", "nemotron"), Ungated("arcee", "arcee"), Ungated("apertus", "apertus"),
    Ungated("jais2", "jais2"), Plain("jais", "jais"),
    Periodic("gemma3", "gemma3", 6), Periodic("cohere2", "cohere2", 4),
    Periodic("exaone4", "exaone4", 4), Periodic("olmo2", "olmo2", 4), Periodic("afmoe", "afmoe", 4),
    Periodic("mellum", "mellum", 4), Periodic("muse-glimmer", "muse_glimmer", 4),
    Periodic("gpt-oss", "gpt_oss", 2), Periodic("plamo3", "plamo3", 8),
    Periodic("gemma4", "gemma4", 6),
    {.name = "gemma2", .family = "gemma2", .period = 2, .window = 4096},
    {.name = "gemma3n", .family = "gemma3n", .period = 5, .owners = 20},
    {.name = "exaone-moe", .family = "exaone_moe", .period = 4, .window = 128},
    {.name = "cohere2moe", .family = "cohere2_moe", .period = 4, .full_first = true},
    {.name = "laguna", .family = "laguna", .period = 4, .full_first = true},
    {.name = "smallthinker", .family = "smallthinker", .period = 4, .full_first = true},
    {.name = "llama4", .family = "llama4", .period = 4, .chunk = 8192},
    {.name = "glm-dsa", .family = "glm_moe_dsa", .index_layers = GgufIndexLayers::kByContextSize},
    {.name = "minimax-m3", .family = "minimax_m3", .index_layers = GgufIndexLayers::kBehindDense},
    {.name = "minimax-01", .family = "minimax", .recurrent = Recurrent::kLightning,
     .recurrent_layers = Layers::kByInterval, .interval = 8},
    {.name = "deepseek4", .family = "deepseek_v4", .model_type = "deepseek_v4"},
    {.name = "glm5-next", .family = "glm5_next", .model_type = "glm5_next_text"},
    Hybrid("mamba", "mamba", Recurrent::kMamba1, Layers::kAll),
    Hybrid("mamba2", "mamba2", Recurrent::kMamba2, Layers::kAll),
    Hybrid("rwkv6", "rwkv6", Recurrent::kRwkv, Layers::kAll),
    Hybrid("rwkv7", "rwkv7", Recurrent::kRwkv, Layers::kAll),
    Hybrid("rwkv6qwen2", "rwkv6", Recurrent::kRwkv, Layers::kAll),
    Hybrid("arwkv7", "rwkv7", Recurrent::kRwkv, Layers::kAll),
    Hybrid("falcon-h1", "falcon_h1", Recurrent::kMamba2, Layers::kBesideAttention),
    Hybrid("jamba", "jamba", Recurrent::kMamba1),
    Hybrid("granitehybrid", "granitemoehybrid", Recurrent::kMamba2),
    Hybrid("plamo2", "plamo2", Recurrent::kMamba2),
    Hybrid("nemotron_h", "nemotron_h", Recurrent::kMamba2, Layers::kWithoutNetwork),
    Hybrid("nemotron_h_moe", "nemotron_h", Recurrent::kMamba2, Layers::kWithoutNetwork),
    Hybrid("lfm2", "lfm2", Recurrent::kShortConv), Hybrid("lfm2moe", "lfm2", Recurrent::kShortConv),
    Hybrid("qwen3next", "qwen3_next", Recurrent::kGatedDelta, Layers::kByInterval),
    Hybrid("qwen35", "qwen3_5", Recurrent::kGatedDelta, Layers::kByInterval),
    Hybrid("qwen35moe", "qwen3_5", Recurrent::kGatedDelta, Layers::kByInterval),
    Hybrid("kimi-linear", "kimi_linear", Recurrent::kChannelDelta),
    Hybrid("kimi-k3", "kimi_linear", Recurrent::kChannelDelta),
    Hybrid("bailingmoe3", "bailing_moe", Recurrent::kChannelDelta),
});

struct Refusal {
  std::string_view why;
  std::span<const std::string_view> names;
};
constexpr auto kEncoders = std::to_array<std::string_view>({
    "bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2",
    "jina-bert-v3", "eurobert", "gemma-embedding", "t5encoder", "clip", "wavtokenizer-dec"});
constexpr auto kEncoderDecoders = std::to_array<std::string_view>({"t5"});
constexpr auto kDiffusion =
    std::to_array<std::string_view>({"dream", "llada", "llada-moe", "rnd1"});
constexpr auto kDrafters =
    std::to_array<std::string_view>({"eagle3", "dflash", "gemma4-assistant"});
constexpr auto kNotYet = std::to_array<std::string_view>(
    {"dots3note", "qwen4exp", "pockettts"});
// clang-format on

constexpr std::array kRefusals = {
    Refusal{"is an encoder, which keeps no state from token to token; decoders do", kEncoders},
    Refusal{"is an encoder-decoder, whose state of two lengths isn't sized; decoders are",
            kEncoderDecoders},
    Refusal{"is a diffusion model, which keeps no state from token to token; decoders do",
            kDiffusion},
    Refusal{"drafts for another model and reads its state; size that model's file", kDrafters},
    Refusal{"keeps kinds of state that can't be described from its file yet", kNotYet},
};

std::string_view NearestName(std::string_view name) {
  constexpr size_t kLongest = 64;  // of what is compared, whatever a file claims
  name = name.substr(0, kLongest);
  std::string_view nearest;
  size_t least = 0;
  for (const GgufArchitecture& known : kArchitectures) {
    const size_t distance = EditDistance(name, known.name);
    if (nearest.empty() || distance < least) {
      nearest = known.name;
      least = distance;
    }
  }
  return nearest;
}

}  // namespace

Result<const GgufArchitecture*> FindGgufArchitecture(std::string_view name,
                                                     const std::string& where) {
  for (const GgufArchitecture& known : kArchitectures) {
    if (known.name == name) return &known;
  }
  for (const Refusal& refusal : kRefusals) {
    if (std::ranges::find(refusal.names, name) == refusal.names.end()) continue;
    return Fail(ErrorCode::kUnsupported, "{}: key general.architecture {} {}", where, Quoted(name),
                refusal.why);
  }
  return Fail(ErrorCode::kUnsupported,
              "{}: key general.architecture {} is not supported; the nearest of {} known names is "
              "{}, others are llama, qwen3moe, deepseek2, gemma3 and mamba2",
              where, Quoted(name), kArchitectures.size(), NearestName(name));
}

}  // namespace cairn
