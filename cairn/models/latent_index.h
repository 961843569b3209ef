// The index of sparse latent attention: keys of its own, by which a token picks the rows it reads.
//
// Picks are left in Handover::kIndexPicks and kIndexCounts, where layers without an index of their
// own find them. Thread safety: one call at a time.
#ifndef CAIRN_MODELS_LATENT_INDEX_H_
#define CAIRN_MODELS_LATENT_INDEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cairn/kernels/index_picks.h"
#include "cairn/models/key_pool.h"
#include "cairn/models/part.h"

namespace cairn {

// What stands in the handovers: [tokens] counts, and [tokens][picks] positions, ascending.
struct RowPicks {
  int32_t* counts = nullptr;
  int32_t* positions = nullptr;
};
// Room for the picks of all tokens of the batch, or the picks that an earlier layer left there.
RowPicks PicksOf(const Pass& pass, int64_t picks);

// Neighbours among the chosen tokens of one sequence: `count` of them, chosen[at] and following.
struct TokenRun {
  const BatchSpan* span = nullptr;
  int64_t token = 0;     // of the batch
  int64_t at = 0;        // in the list of chosen tokens
  int64_t position = 0;  // of the first
  int64_t count = 0;
};
void FindRuns(const Pass& pass, std::span<const int64_t> chosen, std::vector<TokenRun>& runs);

// Turns the leading channels of each of `heads` vectors, which lie `width` apart.
void TurnHeads(const RopeTable& rope, bool splits_pairs, int64_t token, float* x, int64_t heads,
               int64_t width);

// Factors that grow with the position, a pair for each head.
struct PositionScaling {
  std::vector<float> scale;  // empty: none
  std::vector<float> bias;

  Status Load(const PartLoader& loader, std::string_view role, int64_t heads);
  // `heads` vectors of `width`, one behind the other.
  void Apply(int64_t position, float* x, int64_t width) const;
};

class LatentIndex {
 public:
  // `picks`: rows that a token reads at most; `input`: channels that
  // queries are made from.
  LatentIndex(const LayerBuild& build, const SparseIndexSpec& spec, int64_t picks, int64_t input);
  Status Load(const PartLoader& loader);

  // Stores the keys of all tokens and picks for those of the runs. `normed` is what the layer's
  // mixer is given, `input` what queries are made from. Uses the workspace's slots from `slot` on.
  void Run(const Pass& pass, const float* normed, const float* input,
           std::span<const TokenRun> runs, int slot);
  static constexpr int kSlots = 5;

 private:
  // Of all tokens of the batch, one behind the other.
  struct Made {
    float* query = nullptr;   // [query_heads][width]
    float* row = nullptr;     // as it is kept: the key, and what pools it
    float* weight = nullptr;  // [query_heads]
  };

  int64_t query_width() const { return spec_.query_heads * spec_.width; }
  int64_t row_width() const { return spec_.width + spec_.gate_width; }
  IndexShape Shape(int64_t picks) const;
  IndexSpan SpanOf(const TokenRun& run, const Made& made) const;
  void Project(const Pass& pass, const float* normed, const float* input, int slot,
               const Made& made);
  void PickPools(const Pass& pass, const TokenRun& run, int slot, const Made& made);
  const float* NormInput(const Pass& pass, const float* input, int slot) const;
  void FinishRow(const BatchSpan& span, int64_t index, int64_t token, float* row) const;

  const SparseIndexSpec spec_;
  const int64_t hidden_;
  const int64_t picks_;
  const int64_t input_;
  const RopeTable* rope_ = nullptr;
  StateLayout::RowsPlace place_;
  Linear query_;     // [query_heads * width, input]
  Linear key_;       // [width, hidden]
  Norm key_norm_;    // with mean and bias, as input_norm_
  Norm input_norm_;  // empty: none
  PositionScaling scaling_;
  Linear weight_;  // [query_heads, hidden]
  std::optional<KeyPool> pool_;
  std::vector<IndexSpan> spans_;
  std::vector<std::byte*> tiles_;    // of pooled keys
  std::vector<int32_t> pool_picks_;  // of one run
};

}  // namespace cairn

#endif  // CAIRN_MODELS_LATENT_INDEX_H_
