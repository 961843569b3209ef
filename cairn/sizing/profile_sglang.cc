// SGLang's pools (srt/model_executor/pool_configurator.py, srt/mem_cache/memory_pool.py and
// kv_cache_configurator.py; read in 0.5.23). Its "GB" are GiB; every buffer has a page more than
// the printed tokens, and the state pool a slot more.
#include <algorithm>
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_geometry.h"
#include "cairn/spec/quoted.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

// Bytes of a token in all layers of one pool.
struct Cell {
  int64_t keys = 0;
  int64_t values = 0;
  int64_t latent = 0;  // one buffer for both, with the index keys
  bool Empty() const { return keys + values + latent == 0; }
  int64_t All() const { return keys + values + latent; }
};

struct Pools {
  Cell full;
  Cell sliding;
  Cell draft;
  int64_t conv_slot = 0;  // bytes of a state slot
  int64_t ssm_slot = 0;
  int64_t ssm_draft_slot = 0;  // of an intermediate state per drafted token
};

constexpr int64_t kDefaultSlots = 3;   // of a request, with the radix cache
constexpr double kMambaRatio = 0.9;    // mamba_full_memory_ratio
constexpr double kSlidingRatio = 0.8;  // swa_full_tokens_ratio

struct KvType {
  int64_t bytes = 2;
  bool packed_fp4 = false;
  bool scaled_latent = false;  // FP8 latent rows with scales: 656 bytes
};

Result<KvType> KvTypeOf(const ProfileQuestion& question) {
  const std::string& name = question.kv_dtype;
  if (name == "fp4_e2m1" || name == "fp4") return KvType{.bytes = 1, .packed_fp4 = true};
  if (name == "fp8_raw") return KvType{.bytes = 1};
  CAIRN_ASSIGN(const int64_t bytes,
               FloatBytes("kv_dtype", name == "auto" ? question.model_dtype : name));
  return KvType{.bytes = bytes, .scaled_latent = bytes == 1};
}

int64_t RowOf(int64_t elements, const KvType& type) {
  return type.packed_fp4 ? elements / 2 + elements / 16 : elements * type.bytes;
}

Status AddState(const LayerCache& cache, const ProfileQuestion& question, Pools& pools) {
  const auto type = [](const std::string& own, const char* fallback) {
    return own.empty() || own == "auto" ? std::string(fallback) : own;
  };
  CAIRN_ASSIGN(const int64_t conv, FloatBytes("conv_dtype", type(question.conv_dtype, "bf16")));
  CAIRN_ASSIGN(const int64_t ssm, FloatBytes("ssm_dtype", type(question.ssm_dtype, "f32")));
  const int64_t convolution = Saturated(cache.conv_columns * cache.conv_channels, conv);
  pools.conv_slot = SaturatedSum(pools.conv_slot, convolution);
  pools.ssm_slot = SaturatedSum(pools.ssm_slot, Saturated(cache.recurrent_elements, ssm));
  return {};
}

// With FP8, latent rows of models with an index carry scales: 656 bytes for 512 + 64.
int64_t LatentRow(const LayerCache& cache, const KvType& type, bool indexed) {
  if (!type.scaled_latent || !indexed) return RowOf(cache.key_width + cache.value_width, type);
  return cache.key_width + 4 * CeilDiv(cache.key_width, 128) + 2 * cache.value_width;
}

Result<Pools> PoolsOf(const std::vector<LayerCache>& caches, const ProfileQuestion& question) {
  CAIRN_ASSIGN(const KvType type, KvTypeOf(question));
  const auto has = [&](Kind kind) {
    return std::ranges::any_of(caches, [kind](const LayerCache& c) { return c.kind == kind; });
  };
  const bool indexed = has(Kind::kIndex);
  const bool hybrid = has(Kind::kSliding) && has(Kind::kFull);
  Pools pools;
  for (const LayerCache& cache : caches) {
    Cell& cell = cache.draft                              ? pools.draft
                 : hybrid && cache.kind == Kind::kSliding ? pools.sliding
                                                          : pools.full;
    switch (cache.kind) {
      case Kind::kFull:
      case Kind::kSliding:
      case Kind::kChunked:
        cell.keys += RowOf(cache.heads * cache.key_width, type);
        cell.values += RowOf(cache.heads * cache.value_width, type);
        break;
      case Kind::kLatent:
        cell.latent += LatentRow(cache, type, indexed);
        break;
      case Kind::kIndex:
        cell.latent += cache.key_width + 4 * CeilDiv(cache.key_width, 128);
        break;
      case Kind::kState:
        CAIRN_TRY(AddState(cache, question, pools));
        break;
      case Kind::kCompressed:
        return Fail(ErrorCode::kUnsupported,
                    "sglang's pools for compressed attention aren't known here");
    }
  }
  return pools;
}

// The state pool takes its share first; drafted tokens need intermediate states in each request.
int64_t SlotsIn(double rest, const Pools& pools, const ProfileQuestion& question) {
  const double ratio = question.mamba_ratio.value_or(kMambaRatio);
  const auto slot = static_cast<double>(SaturatedSum(pools.conv_slot, pools.ssm_slot));
  const double budget = rest * ratio / (1 + ratio);
  const auto drafted = static_cast<double>(question.num_speculative_tokens);
  const double slots = static_cast<double>(question.slots_per_request.value_or(kDefaultSlots));
  const double count = drafted > 0
                           ? (budget - slot * (1 + drafted)) / (slot * (1 + drafted / slots))
                           : (budget - slot) / slot;
  constexpr double kMost = 1 << 20;
  return static_cast<int64_t>(std::clamp(count, 0.0, kMost));
}

struct Sizes {
  std::optional<int64_t> tokens;
  std::optional<int64_t> sliding_tokens;
  std::optional<int64_t> slots;
};

Sizes SizesOf(const Pools& pools, const ProfileQuestion& question, int64_t page) {
  Sizes sizes;
  sizes.tokens = question.tokens;
  sizes.slots = question.mamba_slots;
  const bool has_states = pools.conv_slot + pools.ssm_slot > 0;
  std::optional<double> rest;
  if (question.rest_gib) rest = *question.rest_gib * kBytesOfGib;
  if (!rest) {
    if (const auto bytes = AvailableBytes(question)) rest = static_cast<double>(*bytes);
  }
  if (rest && has_states && !sizes.slots) sizes.slots = SlotsIn(*rest, pools, question);
  const double ratio = question.swa_ratio.value_or(kSlidingRatio);
  if (rest && !sizes.tokens && !pools.full.Empty()) {
    const auto slot = static_cast<double>(SaturatedSum(pools.conv_slot, pools.ssm_slot));
    const double states = has_states ? slot * static_cast<double>(*sizes.slots + 1) : 0;
    const double cell = static_cast<double>(pools.full.All() + pools.draft.All()) +
                        ratio * static_cast<double>(pools.sliding.All());
    sizes.tokens = static_cast<int64_t>(std::max(*rest - states, 0.0) / cell) / page * page;
  }
  if (sizes.tokens && !pools.sliding.Empty()) {
    const double sliding = static_cast<double>(*sizes.tokens) * ratio;
    sizes.sliding_tokens = static_cast<int64_t>(sliding) / page * page;
  }
  return sizes;
}

void AddPool(const std::string& prefix, const std::string& words, const Cell& cell, int64_t tokens,
             int64_t page, Table& log, Section& section) {
  if (cell.Empty()) return;
  const auto gib = [&](int64_t bytes) { return GibOf(Saturated(tokens + page, bytes)); };
  const auto formula = [&](int64_t bytes) {
    return fmt::format("({} tokens + {}) x {} bytes", tokens, page, bytes);
  };
  if (cell.latent > 0) {
    AddField(section, prefix + "kv_size_GB", words + "latent rows, GiB", gib(cell.latent),
             Unit::kNone, formula(cell.latent));
    AddLine(log, fmt::format("{}KV Cache is allocated. #tokens: {}, KV size: {:.2f} GB", words,
                             tokens, gib(cell.latent)));
  }
  if (cell.keys == 0) return;
  AddField(section, prefix + "k_size_GB", words + "keys, GiB", gib(cell.keys), Unit::kNone,
           formula(cell.keys));
  AddField(section, prefix + "v_size_GB", words + "values, GiB", gib(cell.values), Unit::kNone,
           formula(cell.values));
  AddLine(log,
          fmt::format("{}KV Cache is allocated. #tokens: {}, K size: {:.2f} GB, V size: {:.2f} GB",
                      words, tokens, gib(cell.keys), gib(cell.values)));
}

void AddStates(const Pools& pools, const Sizes& sizes, const ProfileQuestion& question, Table& log,
               Section& section) {
  if (pools.conv_slot + pools.ssm_slot == 0) return;
  const int64_t slot = SaturatedSum(pools.conv_slot, pools.ssm_slot);
  AddField(section, "state_bytes_per_slot", "a state slot", slot, Unit::kBytes);
  AddField(section, "state_MB_per_snapshot", "the same in MB", static_cast<double>(slot) / 1e6);
  AddField(section, "conv_bytes_per_slot", "its convolutions", pools.conv_slot, Unit::kBytes);
  AddField(section, "ssm_bytes_per_slot", "its recurrent states", pools.ssm_slot, Unit::kBytes);
  if (!sizes.slots) return;
  const int64_t slots = *sizes.slots;
  AddField(section, "mamba_slots", "state slots", slots);
  AddField(section, "conv_state_GB", "convolution states, GiB",
           GibOf(Saturated(slots + 1, pools.conv_slot)));
  AddField(section, "ssm_state_GB", "recurrent states, GiB",
           GibOf(Saturated(slots + 1, pools.ssm_slot)), Unit::kNone,
           fmt::format("({} + 1) slots x {} bytes", slots, pools.ssm_slot));
  AddField(section, "max_running_requests", "requests by states",
           slots / question.slots_per_request.value_or(kDefaultSlots));
  AddLine(log, fmt::format("Mamba Cache is allocated. max_mamba_cache_size: {}, conv_state size: "
                           "{:.2f}GB, ssm_state size: {:.2f}GB",
                           slots, GibOf(Saturated(slots + 1, pools.conv_slot)),
                           GibOf(Saturated(slots + 1, pools.ssm_slot))));
}

}  // namespace

Result<Section> SglangSection(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_ASSIGN(const std::vector<LayerCache> caches,
               CachesOfRank(model, question.tp,
                            {.prediction_layers = question.mtp_layers,
                             .drafter_layers = question.draft_layers,
                             .kv_heads = question.draft_kv_heads,
                             .head_dim = question.draft_head_dim,
                             .window = question.draft_window}));
  CAIRN_ASSIGN(const Pools pools, PoolsOf(caches, question));
  const bool latent = pools.full.latent > 0;
  const int64_t page = question.page_size.value_or(latent ? 64 : 1);
  const Sizes sizes = SizesOf(pools, question, page);
  Section section;
  Table log = LogTable();
  AddField(section, "cell_bytes", "a token in all layers", pools.full.All(), Unit::kBytesPerToken);
  AddStates(pools, sizes, question, log, section);
  if (sizes.tokens) {
    AddField(section, "kv_tokens", "tokens", *sizes.tokens, Unit::kTokens);
    AddPool("", "", pools.full, *sizes.tokens, page, log, section);
    AddPool("draft_", "Draft ", pools.draft, *sizes.tokens, page, log, section);
  }
  if (sizes.sliding_tokens) {
    AddField(section, "swa_tokens", "tokens of windows", *sizes.sliding_tokens, Unit::kTokens);
    AddPool("swa_", "SWA ", pools.sliding, *sizes.sliding_tokens, page, log, section);
  }
  section.tables.push_back(std::move(log));
  section.notes.emplace_back("rules of 0.5.23; GB in its log lines are GiB");
  section.notes.emplace_back(
      "buffers hold a page more than the tokens, the state pool a slot more");
  if (!sizes.tokens) {
    section.notes.emplace_back("set tokens, rest_gib or available_kv_gib to size the pools");
  }
  return section;
}

}  // namespace cairn
