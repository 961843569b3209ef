// Two tools that print one number of a model's cache: LMCache's bytes per token (0.5.6) and
// OpenVINO GenAI's checkpoints of linear-attention states (2026.3).
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_geometry.h"

namespace cairn {

// All layers are charged the row of an attention layer, also those that keep a state instead.
Result<Section> LmcacheSection(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_ASSIGN(const std::vector<LayerCache> caches, CachesOfRank(model, question.tp));
  CAIRN_ASSIGN(const int64_t bytes,
               FloatBytes("kv_dtype",
                          question.kv_dtype == "auto" ? question.model_dtype : question.kv_dtype));
  int64_t rows = 0;
  int64_t first_row = 0;
  int64_t states = 0;
  for (const LayerCache& cache : caches) {
    const int64_t row = cache.heads * (cache.key_width + cache.value_width) * bytes;
    if (cache.kind == LayerCache::Kind::kState) ++states;
    if (first_row == 0) first_row = row;
    rows += row;
  }
  Section section;
  AddField(section, "cache_size_per_token_bytes", "printed bytes per token",
           rows + states * first_row, Unit::kBytesPerToken,
           fmt::format("{} of rows + {} layers with states x {}", rows, states, first_row));
  if (states > 0) {
    section.warnings.emplace_back(
        "the printed bytes per token charge layers that keep a state for rows they don't have");
  }
  return section;
}

// States are F32, with a convolution window of the whole kernel.
Result<Section> OpenVinoSection(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_ASSIGN(const std::vector<LayerCache> caches, CachesOfRank(model, 1));
  int64_t elements = 0;
  for (const LayerCache& cache : caches) {
    if (cache.kind != LayerCache::Kind::kState) continue;
    elements += (cache.conv_columns + 1) * cache.conv_channels;
    elements = SaturatedSum(elements, cache.recurrent_elements);
  }
  constexpr int64_t kFloatBytes = 4;
  const int64_t state = Saturated(elements, kFloatBytes);
  Section section;
  AddField(section, "state_MiB_per_checkpoint", "a checkpoint of the states, MiB", MibOf(state),
           Unit::kNone, fmt::format("{} elements x 4 bytes", elements));
  if (question.max_model_len) {
    const int64_t checkpoints = *question.max_model_len / question.checkpoint_interval;
    AddField(section, "checkpoints", "checkpoints of a prompt", checkpoints);
    AddField(section, "la_state_GiB", "states of a prompt, GiB",
             GibOf(Saturated(checkpoints, state)));
  }
  return section;
}

}  // namespace cairn
