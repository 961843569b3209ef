// Blocks by the mean of their keys (Qwen 4).
//
// A token's key is kept as its matrix made it. The keys of a complete block are averaged, normed
// and turned at the block's first position when they are read; all heads of the index add up to one
// score. What isn't complete yet is read in any case. A step reads one short key a token and the
// picked rows, whatever the context's length.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "cairn/kernels/index_picks.h"
#include "cairn/kernels/mean_of_rows.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/block_picker.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kQuery = BlockPicker::kFirstSlot, kKey, kPooled, kWeights, kChosen };

class PooledKeyPicker final : public BlockPicker {
 public:
  PooledKeyPicker(const LayerBuild& build, const AttentionSpec& spec)
      : index_(*spec.index),
        hidden_(build.model.hidden),
        complete_picks_(spec.picks / index_.pool),
        turns_(spec.rope ? build.ropes.AddSteps(*spec.rope, index_.pool) : nullptr),
        place_(build.layout.PlaceOf(build.layer, "index_keys")) {
    if (index_.position_axes > 0) positions_ = build.layout.PlaceOf(build.layer, "positions");
  }

  Status Load(const PartLoader& loader) override;
  int64_t heads() const override { return 1; }
  int64_t block() const override { return index_.pool; }
  // The last one may not be complete.
  int64_t picks() const override { return complete_picks_ + 1; }
  int64_t PicksAt(int64_t position) const override {
    return complete_picks_ + ((position + 1) % index_.pool != 0 ? 1 : 0);
  }
  int64_t FirstSparse() const override { return (complete_picks_ + 1) * index_.pool - 1; }
  void Project(const Pass& pass, const float* normed, const RopeTable* rope) override;
  void Prepare(const Pass& pass, const BatchSpan& span) override;
  void Pick(const Pass& pass, const Part& part, int32_t* picks) override;

 private:
  int64_t QueryWidth() const { return index_.query_heads * index_.width; }
  void StorePosition(const SequenceView& state, int64_t position) const;
  void Pool(const SequenceView& state, int64_t block, float* room, float* to) const;

  const SparseIndexSpec index_;
  const int64_t hidden_;
  const int64_t complete_picks_;
  RopeTable* const turns_;  // of blocks; null: they don't turn
  const StateLayout::RowsPlace place_;
  std::optional<StateLayout::RowsPlace> positions_;
  Linear query_;  // [query_heads * width, hidden]
  Linear key_;    // [width, hidden]
  Norm query_norm_;
  Norm key_norm_;
  std::vector<std::byte*> tiles_;  // of the pooled keys
};

Status PooledKeyPicker::Load(const PartLoader& loader) {
  constexpr std::string_view kBoth = "self_attn.indexer.index_qk_proj";
  const int64_t width = index_.width;
  RowChoice rows = {.total = QueryWidth() + width, .count = QueryWidth()};
  CAIRN_ASSIGN(query_, loader.Rows(kBoth, rows, hidden_));
  rows.first = QueryWidth();
  rows.count = width;
  CAIRN_ASSIGN(key_, loader.Rows(kBoth, rows, hidden_));
  CAIRN_ASSIGN(query_norm_, loader.NormOf("self_attn.indexer.q_layernorm", width));
  CAIRN_ASSIGN(key_norm_, loader.NormOf("self_attn.indexer.k_layernorm", width));
  return {};
}

// Text moves along all axes at once.
void PooledKeyPicker::StorePosition(const SequenceView& state, int64_t position) const {
  std::byte* tile = TileOf(*positions_, state, position);
  for (int64_t axis = 0; axis < index_.position_axes; ++axis) {
    const int64_t row = axis * kRowsPerBlock + position % kRowsPerBlock;
    std::memcpy(tile + row * static_cast<int64_t>(sizeof(position)), &position, sizeof(position));
  }
}

void PooledKeyPicker::Project(const Pass& pass, const float* normed, const RopeTable* rope) {
  const int64_t width = index_.width;
  float* queries = pass.work->Floats(kQuery, pass.tokens * QueryWidth());
  float* keys = pass.work->Floats(kKey, pass.tokens * width);
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  const std::array<MatMulTask, 2> tasks = {query_.Into(queries, kFinePrecision),
                                           key_.Into(keys, kFinePrecision)};
  MatMul(activations, tasks, *pass.pool);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
      const int64_t t = first + i;
      float* query = queries + t * QueryWidth();
      query_norm_.ApplyToHeads(query, index_.query_heads);
      if (rope != nullptr) rope->Rotate(t, query, index_.query_heads, width);
      const int64_t position = span.state.tokens_before.value() + i;
      StoreRow(place_.rows->codec, keys + t * width, 1, width, position % kRowsPerBlock,
               TileOf(place_, span.state, position));
      if (positions_) StorePosition(span.state, position);
    });
  });
}

void PooledKeyPicker::Pool(const SequenceView& state, int64_t block, float* room, float* to) const {
  const auto& table = state.tables[static_cast<size_t>(place_.block_class.value())];
  const StoredRows rows = {.blocks = table.blocks,
                           .first_block = table.first_block,
                           .offset = place_.slot->offset.value(),
                           .width = index_.width,
                           .codec = place_.rows->codec};
  MeanOfRows(rows, block * index_.pool, index_.pool, room, to);
  key_norm_.Apply(to, to);
  if (turns_ != nullptr) turns_->Rotate(block, to, 1, index_.width);
}

// The pooled keys of all complete blocks.
void PooledKeyPicker::Prepare(const Pass& pass, const BatchSpan& span) {
  constexpr int64_t kBlocksPerItem = 32;
  // There is room for so many from the start; it grows by doubling.
  constexpr int64_t kBlocksReserved = 1024;
  const int64_t width = index_.width;
  const int64_t seen = span.state.tokens_before.value() + static_cast<int64_t>(span.tokens.size());
  const int64_t blocks = seen / index_.pool;
  const auto room =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(blocks, kBlocksReserved))));
  const int64_t items = (blocks + kBlocksPerItem - 1) / kBlocksPerItem;
  float* pooled = pass.work->Floats(kPooled, (room + room / kBlocksPerItem) * width);
  float* rows = pooled + room * width;
  tiles_.resize(static_cast<size_t>(room / kRowsPerBlock));
  for (size_t i = 0; i < tiles_.size(); ++i) {
    tiles_[i] =
        reinterpret_cast<std::byte*>(pooled + static_cast<int64_t>(i) * kRowsPerBlock * width);
  }
  if (turns_ != nullptr) turns_->FillSteps(index_.pool, blocks, *pass.pool);
  auto pool_some = [&](int64_t item, int /*thread*/) {
    const int64_t end = std::min(blocks, (item + 1) * kBlocksPerItem);
    for (int64_t b = item * kBlocksPerItem; b < end; ++b) {
      Pool(span.state, b, rows + item * width, pooled + b * width);
    }
  };
  pass.pool->ParallelFor(items, pool_some);
}

void PooledKeyPicker::Pick(const Pass& pass, const Part& part, int32_t* picks) {
  const IndexShape shape = {.heads = index_.query_heads,
                            .width = index_.width,
                            .row_width = index_.width,
                            .picks = complete_picks_,
                            .tokens_per_row = index_.pool,
                            .scale = 1.0f / std::sqrt(static_cast<float>(index_.width)),
                            .codec = DType::kF32};
  const float* queries = pass.work->Floats(kQuery, pass.tokens * QueryWidth());
  float* weights = pass.work->Floats(kWeights, part.count * index_.query_heads);
  std::fill_n(weights, part.count * index_.query_heads, 1.0f);
  auto* chosen =
      reinterpret_cast<int32_t*>(pass.work->Floats(kChosen, part.count * (complete_picks_ + 1)));
  const IndexSpan span = {.blocks = tiles_,
                          .first_position = part.position(),
                          .tokens = part.count,
                          .queries = queries + (part.first + part.token) * QueryWidth(),
                          .weights = weights,
                          .picks = chosen,
                          .counts = chosen + part.count * complete_picks_};
  PickRows(shape, {&span, 1}, pass.work->index(), *pass.pool);
  for (int64_t t = 0; t < part.count; ++t) {
    int32_t* to =
        std::copy_n(chosen + t * complete_picks_, complete_picks_, picks + t * this->picks());
    *to = static_cast<int32_t>((part.position() + t) / index_.pool);
  }
}

}  // namespace

std::unique_ptr<BlockPicker> MakePooledKeyPicker(const LayerBuild& build,
                                                 const AttentionSpec& spec) {
  return std::make_unique<PooledKeyPicker>(build, spec);
}

}  // namespace cairn
