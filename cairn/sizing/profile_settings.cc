// The settings of a profile: their keys, what they mean and how they are read.
#include <array>
#include <charconv>
#include <optional>

#include "cairn/base/parse_number.h"
#include "cairn/sizing/profile.h"
#include "cairn/spec/limits.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Q = ProfileQuestion;

constexpr int64_t kMaxBytes = int64_t{1} << 50;
constexpr int64_t kMaxGib = int64_t{1} << 20;
constexpr int64_t kMaxBlocks = int64_t{1} << 40;
constexpr int64_t kMaxTokens = int64_t{1} << 40;
constexpr int64_t kMaxParts = 4096;
constexpr int64_t kMaxBlockTokens = int64_t{1} << 20;
constexpr size_t kMaxWord = 64;

constexpr auto kSettings = std::to_array<ProfileSetting>({
    {"tp", "tensor parallel size", &Q::tp, 1, kMaxParts},
    {"pp", "pipeline stages", &Q::pp, 1, kMaxLayers},
    {"dcp", "decode context parallel size", &Q::dcp, 1, kMaxParts},
    {"stage_layers", "layers of each stage: 16,32", &Q::stage_layers, 0, kMaxLayers},
    {"num_blocks", "blocks of the pool, instead of bytes", &Q::num_blocks, 0, kMaxBlocks},
    {"available_kv_bytes", "bytes for the cache on a rank", &Q::available_kv_bytes, 0, kMaxBytes},
    {"available_kv_gib", "the same in GiB", &Q::available_kv_gib, 0, kMaxGib},
    {"total_gib", "memory of the card; with the next four, the cache gets what is left",
     &Q::total_gib, 0, kMaxGib},
    {"gpu_memory_utilization", "share of the card to use", &Q::gpu_memory_utilization, 0, 1},
    {"weights_gib", "weights of the rank", &Q::weights_gib, 0, kMaxGib},
    {"activation_gib", "peak of the activations, as profiled", &Q::activation_gib, 0, kMaxGib},
    {"non_torch_gib", "memory beside the allocator's", &Q::non_torch_gib, 0, kMaxGib},
    {"cuda_graph_gib", "graphs; taken off the cache since vLLM 0.21", &Q::cuda_graph_gib, -kMaxGib,
     kMaxGib},
    {"max_model_len", "tokens of the longest request", &Q::max_model_len, 1, kMaxContext},
    {"block_size", "tokens of a block, before alignment", &Q::block_size, 1, kMaxBlockTokens},
    {"kernel_block", "tokens that a hybrid's block is a multiple of", &Q::kernel_block, 1,
     kMaxBlockTokens},
    {"max_num_batched_tokens", "tokens of a step", &Q::max_num_batched_tokens, 1, kMaxContext},
    {"max_num_seqs", "requests of a step", &Q::max_num_seqs, 1, kMaxBlockTokens},
    {"concurrent_batches", "steps in flight (default: 2 with async scheduling since 0.26)",
     &Q::concurrent_batches, 1, kMaxParts},
    {"async_scheduling", "on or off", &Q::async_scheduling},
    {"hybrid_manager", "off: windows are charged as full attention", &Q::hybrid_manager},
    {"kv_dtype", "auto, bf16, fp8, fp8_ds_mla, fp8_raw, nvfp4, int4_per_token_head, turboquant_..",
     &Q::kv_dtype},
    {"model_dtype", "what auto means: bf16, f16, f32", &Q::model_dtype},
    {"mamba_cache_mode", "none, align or all", &Q::mamba_cache_mode},
    {"conv_dtype", "of convolution states", &Q::conv_dtype},
    {"ssm_dtype", "of recurrent states", &Q::ssm_dtype},
    {"prefill_checkpoints", "state blocks a request holds besides, in mode align",
     &Q::prefill_checkpoints, 0, kMaxParts},
    {"num_speculative_tokens", "tokens that are drafted", &Q::num_speculative_tokens, 0, 1024},
    {"mtp_layers", "prediction layers beside the model's", &Q::mtp_layers, 0, kMaxLayers},
    {"draft_layers", "attention layers of a drafter", &Q::draft_layers, 0, kMaxLayers},
    {"draft_kv_heads", "its heads (default: the model's)", &Q::draft_kv_heads, 1, kMaxHeads},
    {"draft_head_dim", "their width", &Q::draft_head_dim, 1, kMaxHeadWidth},
    {"draft_window", "its window (default: none)", &Q::draft_window, 1, kMaxContext},
    {"tokens", "SGLang: max_total_num_tokens, as printed", &Q::tokens, 0, kMaxTokens},
    {"rest_gib", "SGLang: memory for both pools", &Q::rest_gib, 0, kMaxGib},
    {"page_size", "SGLang: tokens of a page", &Q::page_size, 1, kMaxBlockTokens},
    {"mamba_slots", "SGLang: max_mamba_cache_size", &Q::mamba_slots, 0, kMaxBlockTokens},
    {"mamba_ratio", "SGLang: mamba_full_memory_ratio (0.9)", &Q::mamba_ratio, 0, 1000},
    {"slots_per_request", "SGLang: state slots of a request (3)", &Q::slots_per_request, 1, 64},
    {"swa_ratio", "SGLang: swa_full_tokens_ratio (0.8)", &Q::swa_ratio, 0, 1000},
    {"cells", "llama.cpp: cells of a stream", &Q::cells, 0, kMaxContext},
    {"streams", "llama.cpp: streams; 1 when unified", &Q::streams, 1, kMaxParts},
    {"seqs", "llama.cpp: sequences", &Q::sequences, 1, kMaxParts},
    {"state_copies", "llama.cpp: recurrent rows a sequence, 1 + rollback", &Q::state_copies, 1,
     kMaxParts},
    {"ubatch", "llama.cpp: tokens of a physical batch", &Q::ubatch, 1, kMaxContext},
    {"type_k", "llama.cpp: -ctk", &Q::type_k},
    {"type_v", "llama.cpp: -ctv", &Q::type_v},
    {"swa_full", "llama.cpp: full cache for windows", &Q::swa_full},
    {"checkpoint_interval", "OpenVINO: tokens between state checkpoints", &Q::checkpoint_interval,
     1, kMaxContext},
});

std::unexpected<Error> Wrong(const ProfileSetting& setting, std::string_view text,
                             std::string_view expected) {
  return Fail(ErrorCode::kInvalidArgument, "--set {}={}: expected {}", setting.key, Quoted(text),
              expected);
}

// The whole text, if it is one.
void Parse(std::string_view text, std::optional<int64_t>& number) {
  int64_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error == std::errc() && end == text.data() + text.size()) number = read;
}
void Parse(std::string_view text, std::optional<double>& number) { number = ParseDouble(text); }

template <class Number>
Result<Number> ReadNumber(const ProfileSetting& setting, std::string_view text) {
  std::optional<Number> number;
  Parse(text, number);
  if (number && *number >= static_cast<Number>(setting.min) &&
      *number <= static_cast<Number>(setting.max)) {
    return *number;
  }
  return Wrong(setting, text, fmt::format("a number from {} to {}", setting.min, setting.max));
}

Result<bool> ReadSwitch(const ProfileSetting& setting, std::string_view text) {
  if (text == "on" || text == "true" || text == "1") return true;
  if (text == "off" || text == "false" || text == "0") return false;
  return Wrong(setting, text, "on or off");
}

Result<std::vector<int64_t>> ReadList(const ProfileSetting& setting, std::string_view text) {
  std::vector<int64_t> numbers;
  while (numbers.size() <= static_cast<size_t>(kMaxLayers)) {
    const size_t comma = text.find(',');
    CAIRN_ASSIGN(const int64_t number, ReadNumber<int64_t>(setting, text.substr(0, comma)));
    numbers.push_back(number);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
  return Wrong(setting, text, fmt::format("at most {} numbers", kMaxLayers));
}

struct Assign {
  const ProfileSetting& setting;
  std::string_view text;
  ProfileQuestion& question;

  template <class Field, class Value>
  Status Put(Field field, Result<Value> value) const {
    if (!value) return std::unexpected(value.error());
    question.*field = *value;
    return {};
  }
  Status operator()(int64_t Q::* field) const {
    return Put(field, ReadNumber<int64_t>(setting, text));
  }
  Status operator()(std::optional<int64_t> Q::* field) const {
    return Put(field, ReadNumber<int64_t>(setting, text));
  }
  Status operator()(std::optional<double> Q::* field) const {
    return Put(field, ReadNumber<double>(setting, text));
  }
  Status operator()(std::optional<bool> Q::* field) const {
    return Put(field, ReadSwitch(setting, text));
  }
  Status operator()(bool Q::* field) const { return Put(field, ReadSwitch(setting, text)); }
  Status operator()(std::vector<int64_t> Q::* field) const {
    return Put(field, ReadList(setting, text));
  }
  Status operator()(std::string Q::* field) const {
    if (text.empty() || text.size() > kMaxWord) return Wrong(setting, text, "a word");
    question.*field = std::string(text);
    return {};
  }
};

}  // namespace

std::span<const ProfileSetting> ProfileSettings() { return kSettings; }

Status SetProfile(ProfileQuestion& question, std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument, "--set {}: expected KEY=VALUE", Quoted(assignment));
  }
  const std::string_view key = assignment.substr(0, equals);
  for (const ProfileSetting& setting : kSettings) {
    if (setting.key != key) continue;
    return std::visit(Assign{setting, assignment.substr(equals + 1), question}, setting.field);
  }
  std::string known;
  for (const ProfileSetting& setting : kSettings) {
    known += known.empty() ? "" : ", ";
    known += setting.key;
  }
  return Fail(ErrorCode::kInvalidArgument, "--set {}: no such setting; {} are", Quoted(key), known);
}

}  // namespace cairn
