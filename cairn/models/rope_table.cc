#include "cairn/models/rope_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/kernels/ops.h"
#include "cairn/models/token_loop.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

constexpr int64_t kMaxPairs = kMaxHeadWidth / 2;

}  // namespace

RopeTable::RopeTable(const Rope& rope, TokenCount context)
    : rope_(rope),
      frequencies_(RopeFrequencies(rope, context.value())),
      amplitude_(RopeAmplitude(rope)) {}

void RopeTable::Reserve(size_t rows) {
  const size_t floats = rows * frequencies_.size();
  if (cosines_.size() >= floats) return;
  cosines_.resize(floats);
  sines_.resize(floats);
}

void RopeTable::FillRow(int64_t row, int64_t position) {
  const size_t pairs = frequencies_.size();
  for (size_t i = 0; i < pairs; ++i) {
    const double angle = static_cast<float>(position) * frequencies_[i];
    const size_t at = static_cast<size_t>(row) * pairs + i;
    cosines_[at] = static_cast<float>(std::cos(angle)) * amplitude_;
    sines_[at] = static_cast<float>(std::sin(angle)) * amplitude_;
  }
}

void RopeTable::Fill(std::span<const int64_t> positions, ThreadPool& pool) {
  Reserve(positions.size());
  ForTokens(pool, static_cast<int64_t>(positions.size()),
            [&](int64_t t) { FillRow(t, positions[static_cast<size_t>(t)]); });
}

void RopeTable::FillSteps(int64_t step, int64_t rows, ThreadPool& pool) {
  constexpr uint64_t kRowsReserved = 1024;
  if (rows <= steps_filled_) return;
  Reserve(std::bit_ceil(std::max(static_cast<uint64_t>(rows), kRowsReserved)));
  const int64_t first = steps_filled_;
  ForTokens(pool, rows - first, [&](int64_t i) { FillRow(first + i, (first + i) * step); });
  steps_filled_ = rows;
}

void RopeTable::Rotate(int64_t row, float* heads_data, int64_t heads, int64_t width) const {
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  const float* cosines = cosines_.data() + row * pairs;
  const float* sines = sines_.data() + row * pairs;
  if (rope_.pairs == RopePairs::kHalfSplit) {
    RotateHalfSplit(heads_data, cosines, sines, pairs, heads, width);
  } else {
    RotateInterleaved(heads_data, cosines, sines, pairs, heads, width);
  }
}

void RopeTable::RotateEnds(int64_t row, float* heads_data, int64_t heads, int64_t width) const {
  CAIRN_DCHECK(rope_.pairs == RopePairs::kInterleaved);
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  RotateInterleaved(heads_data + width - 2 * pairs, cosines_.data() + row * pairs,
                    sines_.data() + row * pairs, pairs, heads, width);
}

void RopeTable::RotateEndsBack(int64_t row, float* heads_data, int64_t heads, int64_t width) const {
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  CAIRN_CHECK(pairs <= kMaxPairs);
  std::array<float, kMaxPairs> sines;
  for (int64_t i = 0; i < pairs; ++i) {
    sines[static_cast<size_t>(i)] = -sines_[static_cast<size_t>(row * pairs + i)];
  }
  RotateInterleaved(heads_data + width - 2 * pairs, cosines_.data() + row * pairs, sines.data(),
                    pairs, heads, width);
}

void RopeTable::RotateEndAt(int64_t position, float* head, int64_t width) const {
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  CAIRN_CHECK(pairs <= kMaxPairs);
  std::array<float, kMaxPairs> cosines;
  std::array<float, kMaxPairs> sines;
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = static_cast<float>(position) * frequencies_[i];
    cosines[i] = static_cast<float>(std::cos(angle)) * amplitude_;
    sines[i] = static_cast<float>(std::sin(angle)) * amplitude_;
  }
  RotateInterleaved(head + width - 2 * pairs, cosines.data(), sines.data(), pairs, 1, width);
}

const RopeTable* RopeTables::Add(const Rope& rope) {
  for (const auto& table : tables_) {
    if (table->rope() == rope) return table.get();
  }
  return tables_.emplace_back(std::make_unique<RopeTable>(rope, context_)).get();
}

RopeTable* RopeTables::AddSteps(const Rope& rope, int64_t step) {
  for (const Stepped& stepped : stepped_) {
    if (stepped.step == step && stepped.table->rope() == rope) return stepped.table.get();
  }
  auto table = std::make_unique<RopeTable>(rope, context_);
  return stepped_.emplace_back(step, std::move(table)).table.get();
}

TileRope* RopeTables::AddTiles(const Rope& rope) {
  RopeTable* starts = AddSteps(rope, kTileKeys);
  for (const auto& tiles : tiles_) {
    if (tiles->starts == starts) return tiles.get();
  }
  return tiles_.emplace_back(std::make_unique<TileRope>(starts)).get();
}

void RopeTables::Fill(std::span<const int64_t> positions, ThreadPool& pool) {
  for (const auto& table : tables_) table->Fill(positions, pool);
}

}  // namespace cairn
