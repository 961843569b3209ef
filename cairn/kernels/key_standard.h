// Standardised keys: what all keys of a head have in common is taken out before they are stored.
//
// Most of a key's energy is one vector that every position repeats, turned to its place: the mean m
// of keys before rotation. Stored is z_p = H ((R_p k - R_p m) / s) with the spread s of each pair
// of channels that turn together, so that R_p and s commute, and the Hadamard rotation H: small, of
// one size in all channels, nearly Gaussian; what codecs of few bits do best. A score is then
//     q . R_p k = (H (s q)) . z_p + q . R_p m:
// the query is prepared once, stored codes are read as they are, and the last term is a product
// with turned coefficients of the query and one small table: nothing is decoded for a few rows, and
// state can be renumbered by turning queries.
//
// Angles of position p are those of 64 * (p / 64) plus those of p % 64, the same for what is
// subtracted and for what is added again, so that their difference isn't an error. Thread-safe.
#ifndef CAIRN_KERNELS_KEY_STANDARD_H_
#define CAIRN_KERNELS_KEY_STANDARD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/kernels/attention_tile.h"

namespace cairn {

// Which channels of a head turn together: pair i is `first(i)` and `first(i) + apart`.
struct TurningPairs {
  int64_t count = 0;
  int64_t step = 1;
  int64_t apart = 0;

  static TurningPairs HalfSplit(int64_t count) { return {count, 1, count}; }
  static TurningPairs Interleaved(int64_t count) { return {count, 2, 1}; }
  int64_t First(int64_t pair) const { return pair * step; }
  int64_t Second(int64_t pair) const { return pair * step + apart; }
};

// Cosines and sines of the positions inside a tile of kTileKeys, for any tile.
class TileTurns {
 public:
  // Frequencies in radians per position, one for each pair.
  explicit TileTurns(std::span<const float> frequencies);

  int64_t pairs() const { return pairs_; }
  const float* Cosines(int64_t key) const { return cosines_.data() + key * pairs_; }
  const float* Sines(int64_t key) const { return sines_.data() + key * pairs_; }
  // As bf16 keys of 2 * pairs channels: cosine and sine of a pair side by side.
  TilePointers Tile() const;

 private:
  int64_t pairs_;
  std::vector<float> cosines_, sines_;  // [kTileKeys][pairs]
  AlignedBuffer words_;                 // [kTileGroups][pairs][kTileRows]
};

// One layer's; all pointers outlive their use.
struct KeyStandard {
  const float* mean = nullptr;    // [heads][width], before rotation
  const float* spread = nullptr;  // [heads][width], positive, equal within a pair
  TurningPairs pairs;             // count 0: nothing turns
  const TileTurns* turns = nullptr;
  // Of the positions kTileKeys * tile, [tile][pairs], times the rotation's amplitude.
  const float* tile_cosines = nullptr;
  const float* tile_sines = nullptr;
};

// Keys of one token, [heads][width], already turned to `position`: to what is stored.
void StandardizeKeys(const KeyStandard& standard, int64_t position, int64_t heads, int64_t width,
                     float* keys);
// The inverse, up to rounding; for tools and tests.
void RestoreKeys(const KeyStandard& standard, int64_t position, int64_t heads, int64_t width,
                 float* keys);

// What scores of one query row need besides its product with stored keys: [pairs] each.
struct MeanTerm {
  float* cosines;  // coefficients
  float* sines;
  float constant;  // of the channels that don't turn
};

// A query of KV head `head`: to what multiplies stored keys.
void StandardizeQuery(const KeyStandard& standard, int64_t head, int64_t width, float* query,
                      MeanTerm& term);

// Adds the mean's part to scores[row * kTileKeys ...] of the tile `tile` (position / kTileKeys).
// `words` [rows][pairs] and `parts` [rows][kTileKeys] are scratch.
void AddMeanScores(const KeyStandard& standard, int64_t tile, std::span<const MeanTerm> terms,
                   uint32_t* words, float* parts, float* scores);

}  // namespace cairn

#endif  // CAIRN_KERNELS_KEY_STANDARD_H_
