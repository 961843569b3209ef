// Attention that reads blocks of keys which a picker chooses (MiniMax M3, Qwen 4).
//
// A token that sees no more blocks than are picked attends to all of them. Otherwise its attention
// is a walk over a table of the picked rows alone: the cost grows with the picks, not the context.
// Where blocks of the picker are made of whole blocks of the state, that table points to them; else
// the picked rows are copied together.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/kernels/state_rows.h"
#include "cairn/models/block_picker.h"
#include "cairn/models/mixer_attention.h"
#include "cairn/models/parts.h"
#include "cairn/models/state_access.h"
#include "cairn/models/token_loop.h"

namespace cairn {
namespace {

enum Slot { kPicks = 5, kCopies };

// Floats of rows that are copied together at once.
constexpr int64_t kCopiedFloats = int64_t{1} << 20;

class BlockSparseMixer final : public AttentionMixer {
 public:
  BlockSparseMixer(const LayerBuild& build, const AttentionSpec& spec,
                   std::unique_ptr<BlockPicker> picker)
      : AttentionMixer(build, spec, false),
        picker_(std::move(picker)),
        heads_at_once_(spec.heads / std::max(picker_->heads(), spec.kv_heads)),
        in_place_(picker_->block() % kRowsPerBlock == 0) {}

  Status Load(const PartLoader& loader) override {
    CAIRN_TRY(AttentionMixer::Load(loader));
    return picker_->Load(loader);
  }

 protected:
  void Project(const Pass& pass, const float* normed, const Made& made) override {
    AttentionMixer::Project(pass, normed, made);
    picker_->Project(pass, normed, rope());
  }
  void Attend(const Pass& pass, const Made& made) override;

 private:
  // Groups of heads that read the same rows of one KV head.
  int64_t units() const { return spec().heads / heads_at_once_; }
  int64_t KvHeadOf(int64_t unit) const { return unit * spec().kv_heads / units(); }
  int64_t PickerOf(int64_t unit) const { return unit * picker_->heads() / units(); }
  int64_t TilesMax() const {
    return (picker_->picks() * picker_->block() + kRowsPerBlock - 1) / kRowsPerBlock;
  }
  int64_t CopyFloats() const {
    return TilesMax() * kRowsPerBlock * (spec().key_width + spec().value_width);
  }
  // The tiles, then room for a key; whole lines of the cache.
  int64_t CopyStride() const {
    return CopyFloats() + (spec().key_width + kRowsPerBlock - 1) / kRowsPerBlock * kRowsPerBlock;
  }
  AttentionSpan SpanOf(const BatchSpan& span, int64_t first, const Made& made) const;
  void AttendSparsely(const Pass& pass, const BatchSpan& span, int64_t first, int64_t skip,
                      const Made& made);
  int64_t PointToRows(const BatchSpan& span, const int32_t* picks, int64_t position,
                      std::byte** table) const;
  AttentionSpan SpanOfPicks(const BatchSpan& span, const AttentionSpan& whole, int64_t token,
                            int64_t unit, const int32_t* picks, float* copies,
                            std::byte** table) const;
  int64_t CopyRows(const BatchSpan& span, int64_t kv, const int32_t* picks, int64_t position,
                   float* copies, std::byte** table) const;

  const std::unique_ptr<BlockPicker> picker_;
  const int64_t heads_at_once_;
  const bool in_place_;
  std::vector<AttentionSpan> dense_;
  std::vector<AttentionSpan> sparse_;
  std::vector<std::byte*> tables_;
};

AttentionSpan BlockSparseMixer::SpanOf(const BatchSpan& span, int64_t first,
                                       const Made& made) const {
  const auto& table = span.state.tables[static_cast<size_t>(keys().block_class.value())];
  AttentionSpan to;
  to.blocks = table.blocks;
  to.first_block = table.first_block;
  to.key_offset = keys().slot->offset.value();
  to.value_offset = values().slot->offset.value();
  to.first_position = span.state.tokens_before.value();
  to.tokens = static_cast<int64_t>(span.tokens.size());
  to.queries = made.query + first * spec().heads * spec().key_width;
  to.out = made.attended + first * spec().heads * spec().value_width;
  return to;
}

void BlockSparseMixer::Attend(const Pass& pass, const Made& made) {
  const int64_t first_sparse = picker_->FirstSparse();
  dense_.clear();
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    AttentionSpan whole = SpanOf(span, first, made);
    whole.tokens = std::clamp<int64_t>(first_sparse - whole.first_position, 0, whole.tokens);
    if (whole.tokens > 0) dense_.push_back(whole);
  });
  Attention(Shape(), dense_, spec().heads * spec().key_width, spec().heads * spec().value_width,
            pass.work->attention(), *pass.pool);
  ForSpans(pass, [&](const BatchSpan& span, int64_t first) {
    const auto tokens = static_cast<int64_t>(span.tokens.size());
    const int64_t skip =
        std::clamp<int64_t>(first_sparse - span.state.tokens_before.value(), 0, tokens);
    if (skip < tokens) AttendSparsely(pass, span, first, skip, made);
  });
}

// The rows of the picked blocks up to `position` as a table of the state's own blocks. Returns how
// many rows they are. The query's own block, which may not be full, is the last one if it's there.
int64_t BlockSparseMixer::PointToRows(const BatchSpan& span, const int32_t* picks, int64_t position,
                                      std::byte** table) const {
  const auto& own = span.state.tables[static_cast<size_t>(keys().block_class.value())];
  const int64_t count = picker_->PicksAt(position);
  const int64_t block = picker_->block();
  const int64_t each = block / kRowsPerBlock;
  int64_t rows = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t seen = std::min(block, position + 1 - picks[i] * block);
    for (int64_t b = 0; b < each && b * kRowsPerBlock < seen; ++b) {
      *table++ = own.Block(picks[i] * each + b);
    }
    rows += seen;
  }
  return rows;
}

// The same as copies of those rows, as floats.
int64_t BlockSparseMixer::CopyRows(const BatchSpan& span, int64_t kv, const int32_t* picks,
                                   int64_t position, float* copies, std::byte** table) const {
  const int64_t key_width = spec().key_width;
  const int64_t value_width = spec().value_width;
  const int64_t tile_floats = kRowsPerBlock * (key_width + value_width);
  const DType key_codec = keys().rows->codec;
  const DType value_codec = values().rows->codec;
  for (int64_t t = 0; t < TilesMax(); ++t) {
    table[t] = reinterpret_cast<std::byte*>(copies + t * tile_floats);
  }
  int64_t rows = 0;
  std::fill_n(copies, CopyFloats(), 0.0f);
  for (int64_t i = 0; i < picker_->PicksAt(position); ++i) {
    const int64_t begin = picks[i] * picker_->block();
    for (int64_t p = begin; p < std::min(begin + picker_->block(), position + 1); ++p, ++rows) {
      float* tile = copies + rows / kRowsPerBlock * tile_floats;
      float* key = copies + CopyFloats();
      LoadRowTransposed(key_codec,
                        TileOf(keys(), span.state, p) + kv * StateTileBytes(key_codec, key_width),
                        1, key_width, p % kRowsPerBlock, key);
      StoreRowTransposed(DType::kF32, key, 1, key_width, rows % kRowsPerBlock,
                         reinterpret_cast<std::byte*>(tile));
      LoadRow(value_codec,
              TileOf(values(), span.state, p) + kv * StateTileBytes(value_codec, value_width), 1,
              value_width, p % kRowsPerBlock,
              tile + kRowsPerBlock * key_width + rows % kRowsPerBlock * value_width);
    }
  }
  return rows;
}

// What `unit` of a token of the span `whole` is made of reads: the rows of `picks` alone.
AttentionSpan BlockSparseMixer::SpanOfPicks(const BatchSpan& span, const AttentionSpan& whole,
                                            int64_t token, int64_t unit, const int32_t* picks,
                                            float* copies, std::byte** table) const {
  const int64_t head = unit * heads_at_once_;
  const int64_t kv = KvHeadOf(unit);
  const int64_t position = whole.first_position + token;
  AttentionSpan to = whole;
  to.queries += (token * spec().heads + head) * spec().key_width;
  to.out += (token * spec().heads + head) * spec().value_width;
  int64_t rows = 0;
  if (in_place_) {
    rows = PointToRows(span, picks, position, table);
    to.key_offset += kv * StateTileBytes(keys().rows->codec, spec().key_width);
    to.value_offset += kv * StateTileBytes(values().rows->codec, spec().value_width);
  } else {
    rows = CopyRows(span, kv, picks, position, copies, table);
    to.key_offset = 0;
    to.value_offset = kRowsPerBlock * spec().key_width * static_cast<int64_t>(sizeof(float));
  }
  to.blocks = {table, static_cast<size_t>((rows + kRowsPerBlock - 1) / kRowsPerBlock)};
  to.first_block = 0;
  to.first_position = rows - 1;
  to.tokens = 1;
  return to;
}

// Tokens of the span from its `skip`th on, some at a time so that their rows have room.
void BlockSparseMixer::AttendSparsely(const Pass& pass, const BatchSpan& span, int64_t first,
                                      int64_t skip, const Made& made) {
  const auto end = static_cast<int64_t>(span.tokens.size());
  const int64_t picks_stride = picker_->heads() * picker_->picks();
  const int64_t copy_floats = in_place_ ? 0 : CopyStride();
  const int64_t at_once =
      std::clamp<int64_t>(kCopiedFloats / std::max<int64_t>(units() * copy_floats, 1), 1, 64);
  auto* picks = reinterpret_cast<int32_t*>(pass.work->Floats(kPicks, at_once * picks_stride));
  float* copies = pass.work->Floats(kCopies, at_once * units() * copy_floats);
  const AttentionSpan whole = SpanOf(span, first, made);
  AttentionShape shape = Shape();
  shape.heads = heads_at_once_;
  shape.kv_heads = 1;
  if (!in_place_) shape.key_codec = shape.value_codec = DType::kF32;
  tables_.resize(static_cast<size_t>(at_once * units() * TilesMax()));
  sparse_.resize(static_cast<size_t>(at_once * units()));
  picker_->Prepare(pass, span);
  for (int64_t t = skip; t < end; t += at_once) {
    const int64_t count = std::min(at_once, end - t);
    picker_->Pick(pass, {.span = &span, .first = first, .token = t, .count = count}, picks);
    auto gather = [&](int64_t item, int) {
      const int64_t token = item / units();
      const int64_t unit = item % units();
      const int32_t* mine = picks + token * picks_stride + PickerOf(unit) * picker_->picks();
      sparse_[static_cast<size_t>(item)] =
          SpanOfPicks(span, whole, t + token, unit, mine, copies + item * copy_floats,
                      tables_.data() + item * TilesMax());
    };
    pass.pool->ParallelFor(count * units(), gather);
    Attention(shape, std::span(sparse_).first(static_cast<size_t>(count * units())),
              spec().heads * spec().key_width, spec().heads * spec().value_width,
              pass.work->attention(), *pass.pool);
  }
}

}  // namespace

MixerOr MakeBlockSparseAttention(const LayerBuild& build, const AttentionSpec& spec) {
  auto picker =
      spec.index->pool > 0 ? MakePooledKeyPicker(build, spec) : MakeLargestKeyPicker(build, spec);
  auto mixer = std::make_unique<BlockSparseMixer>(build, spec, std::move(picker));
  CAIRN_TRY(mixer->Load(build.loader));
  return mixer;
}

}  // namespace cairn
