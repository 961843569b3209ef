#include "cairn/models/compressor.h"

#include <algorithm>
#include <array>

#include "cairn/kernels/ops.h"
#include "cairn/kernels/pooled_row.h"
#include "cairn/kernels/row_attention_tile.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {

Result<Compressor> Compressor::Load(const LayerBuild& build, const CompressedAttentionSpec& spec,
                                    const std::string& role, int64_t width,
                                    std::string_view entries, const std::string& open) {
  const PartLoader& loader = build.loader;
  const int64_t hidden = build.model.hidden;
  Compressor compressor;
  compressor.width_ = width;
  compressor.ratio_ = spec.ratio;
  compressor.overlaps_ = spec.overlaps;
  compressor.rope_ = build.ropes.Add(*spec.rope);
  const int64_t channels = compressor.channels();
  CAIRN_ASSIGN(compressor.values_, loader.Matrix(role + ".wkv", channels, hidden));
  CAIRN_ASSIGN(compressor.gates_, loader.Matrix(role + ".wgate", channels, hidden));
  const std::array<int64_t, 2> shape = {spec.ratio, channels};
  CAIRN_ASSIGN(compressor.position_bias_, loader.Raw(role + ".ape", shape));
  CAIRN_ASSIGN(compressor.norm_, loader.NormOf(role + ".norm", width));
  compressor.entries_ = build.layout.PlaceOf(build.layer, entries);
  compressor.open_ = build.layout.PlaceOf(build.layer, open);
  if (spec.overlaps) compressor.open_before_ = build.layout.PlaceOf(build.layer, open + "_before");
  return compressor;
}

// Gates of the entry to come are kept with their bias, as the tokens' places in it are known.
void Compressor::Store(const SequenceView& state, int64_t position, const float* values,
                       float* gates) const {
  const auto store = [&](const StateLayout::RowsPlace& place, int64_t first) {
    const DType codec = place.rows->codec;
    std::byte* tile = TileOf(place, state, position);
    const int64_t row = position % kRowsPerBlock;
    StoreRow(codec, values + first, 1, width_, row, tile);
    StoreRow(codec, gates + first, 1, width_, row, tile + StateTileBytes(codec, width_));
  };
  if (open_before_) {
    AddTo(gates, position_bias_.data() + position % ratio_ * channels(), width_);
    store(*open_before_, 0);
  }
  store(open_, channels() - width_);
}

void Compressor::LoadPair(const StateLayout::RowsPlace& place, const SequenceView& state,
                          int64_t position, int64_t slot, float* scratch) const {
  const DType codec = place.rows->codec;
  const std::byte* tile = TileOf(place, state, position);
  const auto row = static_cast<int>(position % kRowsPerBlock);
  float* value = scratch + slot * width_;
  float* gate = value + Slots() * width_;
  std::copy_n(RowAsFloats(codec, tile, row, width_, value), width_, value);
  std::copy_n(RowAsFloats(codec, tile + StateTileBytes(codec, width_), row, width_, gate), width_,
              gate);
}

void Compressor::MakeEntry(const SequenceView& state, int64_t entry, float* scratch) const {
  // The first entry has no tokens before its own.
  const int64_t first_slot = overlaps_ && entry == 0 ? ratio_ : 0;
  const int64_t own = Slots() - ratio_;
  float* values = scratch;
  float* gates = values + Slots() * width_;
  float* row = gates + Slots() * width_;
  for (int64_t j = 0; j < ratio_; ++j) {
    const int64_t position = entry * ratio_ + j;
    if (first_slot < own) LoadPair(*open_before_, state, position - ratio_, j, scratch);
    LoadPair(open_, state, position, own + j, scratch);
    AddTo(gates + (own + j) * width_, position_bias_.data() + (j + 1) * channels() - width_,
          width_);
  }
  PooledRow({.count = Slots() - first_slot,
             .width = width_,
             .stride = width_,
             .values = values + first_slot * width_,
             .gates = gates + first_slot * width_},
            row);
  norm_.Apply(row, row);
  rope_->RotateEndAt(entry * ratio_, row, width_);
  StoreRow(entries_.rows->codec, row, 1, width_, entry % kRowsPerBlock,
           TileOf(entries_, state, entry));
}

}  // namespace cairn
