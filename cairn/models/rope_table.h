// Cosines and sines of one Rope for the positions of a batch.
//
// Angles are float products position * frequency, as the models were trained with.
#ifndef CAIRN_MODELS_ROPE_TABLE_H_
#define CAIRN_MODELS_ROPE_TABLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/thread_pool.h"
#include "cairn/kernels/key_standard.h"
#include "cairn/spec/rope.h"

namespace cairn {

class RopeTable {
 public:
  // For sequences of up to `context` tokens: see RopeLong.
  RopeTable(const Rope& rope, TokenCount context);

  const Rope& rope() const { return rope_; }
  // Fills one row for each position.
  void Fill(std::span<const int64_t> positions, ThreadPool& pool);
  // Fills row i for position i * step, for all i < rows; those of earlier calls are there already.
  // A table is filled in one of the two ways alone, and with one step.
  void FillSteps(int64_t step, int64_t rows, ThreadPool& pool);
  // Rotates `heads` heads of `width` channels of the token that `row` was filled for.
  void Rotate(int64_t row, float* heads_data, int64_t heads, int64_t width) const;
  // Of row 0 and those behind it, [rows][pairs]; until the table is filled again.
  const float* cosines() const { return cosines_.data(); }
  const float* sines() const { return sines_.data(); }
  std::span<const float> frequencies() const { return frequencies_; }
  // The same of the last channels of each head, and back again. REQUIRES: interleaved pairs.
  void RotateEnds(int64_t row, float* heads_data, int64_t heads, int64_t width) const;
  void RotateEndsBack(int64_t row, float* heads_data, int64_t heads, int64_t width) const;
  // The end of one head at a position that needn't be in the batch.
  void RotateEndAt(int64_t position, float* head, int64_t width) const;

 private:
  void Reserve(size_t rows);
  void FillRow(int64_t row, int64_t position);

  Rope rope_;
  std::vector<float> frequencies_;
  float amplitude_;
  int64_t steps_filled_ = 0;
  std::vector<float> cosines_;  // [rows][pairs]
  std::vector<float> sines_;
};

// What means of keys need of a rotation: its angles tile by tile, and inside a tile.
struct TileRope {
  explicit TileRope(RopeTable* starts) : starts(starts), within(starts->frequencies()) {}

  RopeTable* starts;  // at multiples of kTileKeys; who uses it fills it
  TileTurns within;
};

// The tables of a model: layers that turn alike share one.
class RopeTables {
 public:
  explicit RopeTables(TokenCount context) : context_(context) {}

  // The pointer holds as long as this object.
  const RopeTable* Add(const Rope& rope);
  // A table for positions that are multiples of `step`; who uses it fills it.
  RopeTable* AddSteps(const Rope& rope, int64_t step);
  TileRope* AddTiles(const Rope& rope);
  void Fill(std::span<const int64_t> positions, ThreadPool& pool);

 private:
  struct Stepped {
    int64_t step = 0;
    std::unique_ptr<RopeTable> table;
  };

  const TokenCount context_;
  std::vector<std::unique_ptr<RopeTable>> tables_;
  std::vector<Stepped> stepped_;
  std::vector<std::unique_ptr<TileRope>> tiles_;
};

}  // namespace cairn

#endif  // CAIRN_MODELS_ROPE_TABLE_H_
