// The three steps of softmax attention over one tile of keys, for a block of query rows.
//
// A tile is kTileKeys positions that start at a multiple of kTileKeys: up to four block tiles of
// kTileRows positions. Rows are query heads that read the same KV head. Every (row, key) score is
// one chain of fused multiply-adds over the channels from 0 upwards, every (row, channel) output
// one chain over the keys from the first visible one upwards: the number of rows in a call changes
// no bit. Thread-safe.
#ifndef CAIRN_KERNELS_ATTENTION_TILE_H_
#define CAIRN_KERNELS_ATTENTION_TILE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cairn/base/dtype.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {

inline constexpr int kTileKeys = 64;
inline constexpr int kTileGroups = kTileKeys / kTileRows;

// The block tiles of one head in one tile; [first, end) of `groups` are set.
struct TilePointers {
  std::array<const std::byte*, kTileGroups> groups = {};
  // Those of the tile that is read next: fetched into the cache line by line while this one is
  // computed, since its blocks lie where no machine would look. Null: nothing is fetched.
  std::array<const std::byte*, kTileGroups> next = {};
  int first = 0;
  int end = 0;
};

// bf16 rows have functions of their own (attention_bf16.h), for their factors are rounded.
//
// scores[row * kTileKeys + key] = q[row * width ...] . key, for the keys of the set groups.
void TileScores(DType codec, const TilePointers& keys, const float* queries, int64_t rows,
                int64_t width, float* scores);

// Running softmax of one row: largest score, sum of exponentials relative to it, and the factor
// that the last update put on everything summed before.
struct RowSoftmax {
  float largest;
  float sum;
  float correction;
};

// "No key seen yet": far below any score, yet finite, so that differences stay numbers.
inline constexpr float kNoScore = -1e30f;

// Turns scores of the keys [first, end) of one row into exp(score - largest), the others into 0,
// and updates `softmax`. score_cap > 0 caps the scores first. With round_to_bf16 the exponentials
// are rounded to bf16 before they are summed, so that they still add up to the sum.
void TileSoftmax(float* scores, int first, int end, float score_cap, bool round_to_bf16,
                 RowSoftmax& softmax);

// out[row][c] = out[row][c] * correction[row] + sum over keys [first, end) of p[row][key]
// value[key][c]. `out` rows are `stride` floats apart.
void TileValues(DType codec, const TilePointers& values, const float* weights, int first, int end,
                int64_t rows, int64_t width, const RowSoftmax* softmax, float* out, int64_t stride);

// Merges the result of a later range of positions into that of the earlier ones:
// both are (softmax, unnormalised output of `width` floats).
void MergePartial(RowSoftmax& total, float* total_out, const RowSoftmax& later,
                  const float* later_out, int64_t width);

}  // namespace cairn

#endif  // CAIRN_KERNELS_ATTENTION_TILE_H_
