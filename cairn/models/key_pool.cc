#include "cairn/models/key_pool.h"

#include <algorithm>
#include <array>
#include <bit>

#include "cairn/kernels/pooled_row.h"
#include "cairn/kernels/row_attention_tile.h"

namespace cairn {
namespace {

// Keys have room for so many groups from the start and grow by doubling.
constexpr int64_t kGroupsReserved = 1024;
constexpr int64_t kGroupsPerItem = 16;

}  // namespace

Result<KeyPool> KeyPool::Load(const PartLoader& loader, const SparseIndexSpec& spec) {
  KeyPool pool;
  pool.width_ = spec.width;
  pool.tokens_ = spec.pool;
  CAIRN_ASSIGN(pool.gates_,
               loader.RawRows("self_attn.indexer.index_kpool_compress_gate",
                              {.total = spec.width, .count = spec.width}, loader.spec().hidden));
  const std::array<int64_t, 2> shape = {spec.pool, spec.width};
  CAIRN_ASSIGN(pool.bias_, loader.Raw("self_attn.indexer.index_kpool_compress_ape", shape));
  return pool;
}

void KeyPool::MakeGroup(const StateLayout::RowsPlace& rows, const SequenceView& state,
                        int64_t group, float* scratch, float* key) const {
  const int64_t width = rows.rows->width;
  for (int64_t j = 0; j < tokens_; ++j) {
    const int64_t position = group * tokens_ + j;
    float* room = scratch + j * width;
    const float* row = RowAsFloats(rows.rows->codec, TileOf(rows, state, position),
                                   static_cast<int>(position % kRowsPerBlock), width, room);
    if (row != room) std::copy_n(row, width, room);
  }
  PooledRow({.count = tokens_,
             .width = width_,
             .stride = width,
             .values = scratch,
             .gates = scratch + width_,
             .bias = bias_.data(),
             .bias_stride = width_},
            key);
}

void KeyPool::Make(const StateLayout::RowsPlace& rows, const SequenceView& state, int64_t groups,
                   const Pass& pass, int slot, std::vector<std::byte*>& tiles) const {
  const int64_t scratch_floats = tokens_ * rows.rows->width;
  const auto reserved =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(groups, kGroupsReserved))));
  float* keys = pass.work->Floats(slot, reserved * width_ + pass.pool->threads() * scratch_floats);
  float* scratch = keys + reserved * width_;
  auto item = [&](int64_t index, int thread) {
    const int64_t end = std::min(groups, (index + 1) * kGroupsPerItem);
    for (int64_t group = index * kGroupsPerItem; group < end; ++group) {
      MakeGroup(rows, state, group, scratch + thread * scratch_floats, keys + group * width_);
    }
  };
  pass.pool->ParallelFor((groups + kGroupsPerItem - 1) / kGroupsPerItem, item);
  tiles.clear();
  tiles.reserve(static_cast<size_t>(reserved / kRowsPerBlock));
  for (int64_t first = 0; first < groups; first += kRowsPerBlock) {
    tiles.push_back(reinterpret_cast<std::byte*>(keys + first * width_));
  }
}

}  // namespace cairn
