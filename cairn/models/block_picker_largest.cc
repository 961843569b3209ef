// Blocks by the largest score of their keys (MiniMax M3): one short key a token, heads that pick
// each for themselves, and the blocks up to the token's own in any case.
#include <array>
#include <memory>

#include "cairn/kernels/block_picks.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/block_picker.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kQuery = BlockPicker::kFirstSlot, kKey };

class LargestKeyPicker final : public BlockPicker {
 public:
  LargestKeyPicker(const LayerBuild& build, const AttentionSpec& spec)
      : index_(*spec.index),
        hidden_(build.model.hidden),
        place_(build.layout.PlaceOf(build.layer, "index_keys")),
        shape_{.heads = index_.query_heads,
               .width = index_.width,
               .block = index_.block,
               .picks = spec.picks / index_.block,
               .local = index_.local_blocks,
               .codec = place_.rows->codec} {}

  Status Load(const PartLoader& loader) override;
  int64_t heads() const override { return shape_.heads; }
  int64_t block() const override { return shape_.block; }
  int64_t picks() const override { return shape_.picks; }
  int64_t PicksAt(int64_t /*position*/) const override { return shape_.picks; }
  int64_t FirstSparse() const override { return shape_.FirstSparse(); }
  void Project(const Pass& pass, const float* normed, const RopeTable* rope) override;
  void Pick(const Pass& pass, const Part& part, int32_t* picks) override;

 private:
  const SparseIndexSpec index_;
  const int64_t hidden_;
  const StateLayout::RowsPlace place_;
  const BlockPicksShape shape_;
  Linear query_;  // [query_heads * width, hidden]
  Linear key_;    // [width, hidden]
  Norm query_norm_;
  Norm key_norm_;
  BlockPicksScratch scratch_;
};

Status LargestKeyPicker::Load(const PartLoader& loader) {
  const int64_t width = index_.width;
  CAIRN_ASSIGN(query_,
               loader.Matrix("self_attn.indexer.q_proj", index_.query_heads * width, hidden_));
  CAIRN_ASSIGN(key_, loader.Matrix("self_attn.indexer.k_proj", width, hidden_));
  CAIRN_ASSIGN(query_norm_, loader.NormOf("self_attn.indexer.q_norm", width));
  CAIRN_ASSIGN(key_norm_, loader.NormOf("self_attn.indexer.k_norm", width));
  return {};
}

void LargestKeyPicker::Project(const Pass& pass, const float* normed, const RopeTable* rope) {
  const int64_t width = index_.width;
  const int64_t query_width = index_.query_heads * width;
  float* queries = pass.work->Floats(kQuery, pass.tokens * query_width);
  float* keys = pass.work->Floats(kKey, pass.tokens * width);
  Activations& activations = pass.work->activations(0);
  activations.Set(normed, pass.tokens, hidden_, hidden_);
  const std::array<MatMulTask, 2> tasks = {query_.Into(queries, kFinePrecision),
                                           key_.Into(keys, kFinePrecision)};
  MatMul(activations, tasks, *pass.pool);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    ForTokens(*pass.pool, static_cast<int64_t>(span.tokens.size()), [&](int64_t i) {
      const int64_t t = first + i;
      float* query = queries + t * query_width;
      float* key = keys + t * width;
      query_norm_.ApplyToHeads(query, index_.query_heads);
      key_norm_.Apply(key, key);
      if (rope != nullptr) {
        rope->Rotate(t, query, index_.query_heads, width);
        rope->Rotate(t, key, 1, width);
      }
      const int64_t position = span.state.tokens_before.value() + i;
      StoreRowTransposed(place_.rows->codec, key, 1, width, position % kRowsPerBlock,
                         TileOf(place_, span.state, position));
    });
  });
}

void LargestKeyPicker::Pick(const Pass& pass, const Part& part, int32_t* picks) {
  const int64_t query_width = index_.query_heads * index_.width;
  const float* queries = pass.work->Floats(kQuery, pass.tokens * query_width);
  const auto& table = part.span->state.tables[static_cast<size_t>(place_.block_class.value())];
  const BlockPicksSpan span = {.blocks = table.blocks,
                               .first_block = table.first_block,
                               .offset = place_.slot->offset.value(),
                               .first_position = part.position(),
                               .tokens = part.count,
                               .queries = queries + (part.first + part.token) * query_width,
                               .picks = picks};
  PickBlocks(shape_, {&span, 1}, scratch_, *pass.pool);
}

}  // namespace

std::unique_ptr<BlockPicker> MakeLargestKeyPicker(const LayerBuild& build,
                                                  const AttentionSpec& spec) {
  return std::make_unique<LargestKeyPicker>(build, spec);
}

}  // namespace cairn
