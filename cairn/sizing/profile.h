// Profile: what a serving framework of a named version would allocate and print for a model.
//
// The frameworks' own rules, with what they round, pad and print, version by version; not what this
// engine would do. A question names the framework and the settings of one start; the answer is a
// Section whose keys stay stable, so that a log line can be looked up in it. Rules are those read
// in the sources named in the notes; a version that nobody read is answered by the nearest one
// known, and a note says so. Plain data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_PROFILE_H_
#define CAIRN_SIZING_PROFILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/sizing/section.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

enum class Framework : uint8_t { kVllm, kSglang, kLlamaCpp, kLmcache, kOpenVino };

// A build before a release ("0.21-dev", "0.22.0rc1") has the rules of the minor version before it.
struct FrameworkVersion {
  int64_t major = 0;
  int64_t minor = 0;
  int64_t patch = 0;
  bool before_release = false;
  std::string text;  // as it was asked for

  bool AtLeast(int64_t other_major, int64_t other_minor, int64_t other_patch = 0) const;
};

struct ProfileQuestion {
  Framework framework = Framework::kVllm;
  FrameworkVersion version;

  // How the model is spread. Sizes are of one rank of `tp`; stage_layers as in parallel.h.
  int64_t tp = 1;
  int64_t pp = 1;
  int64_t dcp = 1;
  std::vector<int64_t> stage_layers;

  // What is there for the cache on a rank: the first of these that is given.
  std::optional<int64_t> num_blocks;
  std::optional<int64_t> available_kv_bytes;
  std::optional<double> available_kv_gib;
  // ... or what is left of the card.
  std::optional<double> total_gib;
  std::optional<double> gpu_memory_utilization;
  std::optional<double> weights_gib;
  std::optional<double> activation_gib;
  std::optional<double> non_torch_gib;
  std::optional<double> cuda_graph_gib;

  std::optional<int64_t> max_model_len;
  std::optional<int64_t> block_size;
  std::optional<int64_t> kernel_block;  // tokens that a hybrid's block is a multiple of
  std::optional<int64_t> max_num_batched_tokens;
  std::optional<int64_t> max_num_seqs;
  std::optional<int64_t> concurrent_batches;
  std::optional<bool> async_scheduling;
  std::optional<bool> hybrid_manager;

  std::string kv_dtype = "auto";     // as the framework spells it
  std::string model_dtype = "bf16";  // what "auto" means
  std::string mamba_cache_mode;      // none, align, all; empty: the version's default
  std::string conv_dtype;            // of convolutions; empty: the model's
  std::string ssm_dtype;             // of recurrent states; empty: the version's rule
  std::optional<int64_t> prefill_checkpoints;

  int64_t num_speculative_tokens = 0;
  int64_t mtp_layers = 0;    // attention layers that predict further tokens
  int64_t draft_layers = 0;  // of a separate drafter, with heads of its own
  std::optional<int64_t> draft_kv_heads;
  std::optional<int64_t> draft_head_dim;
  std::optional<int64_t> draft_window;

  // SGLang.
  std::optional<int64_t> tokens;
  std::optional<double> rest_gib;  // of the card for both pools, after the weights
  std::optional<int64_t> page_size;
  std::optional<int64_t> mamba_slots;
  std::optional<double> mamba_ratio;
  std::optional<int64_t> slots_per_request;
  std::optional<double> swa_ratio;

  // llama.cpp.
  std::optional<int64_t> cells;
  int64_t streams = 1;
  int64_t sequences = 1;
  int64_t state_copies = 1;
  int64_t ubatch = 512;
  std::string type_k = "f16";
  std::string type_v = "f16";
  bool swa_full = false;

  // OpenVINO GenAI.
  int64_t checkpoint_interval = 128;
};

// "vllm@0.11.0", "sglang@0.5.23", "llama.cpp@b8247", "vllm" (the newest that is known).
Result<ProfileQuestion> ParseProfile(std::string_view name);

using ProfileField =
    std::variant<int64_t ProfileQuestion::*, std::optional<int64_t> ProfileQuestion::*,
                 std::optional<double> ProfileQuestion::*, std::optional<bool> ProfileQuestion::*,
                 bool ProfileQuestion::*, std::string ProfileQuestion::*,
                 std::vector<int64_t> ProfileQuestion::*>;

struct ProfileSetting {
  std::string_view key;
  std::string_view help;
  ProfileField field;
  int64_t min = 0;  // of numbers
  int64_t max = 0;
};

// Every key that SetProfile knows, in the order of the help text.
std::span<const ProfileSetting> ProfileSettings();

// "max_model_len=131072"
Status SetProfile(ProfileQuestion& question, std::string_view assignment);

// `model` is the whole model, as its config describes it.
Result<Section> ProfileSection(const ModelSpec& model, const ProfileQuestion& question);

// Bytes for the cache on one rank, if the question tells; num_blocks aside.
std::optional<int64_t> AvailableBytes(const ProfileQuestion& question);

}  // namespace cairn

#endif  // CAIRN_SIZING_PROFILE_H_
