#include "cairn/kernels/mean_of_rows.h"

#include <doctest/doctest.h>

#include <random>
#include <utility>
#include <vector>

#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

// Random rows behind `offset` bytes of each block, and the same as they are read again.
class Case {
 public:
  Case(DType codec, int64_t width, int64_t count) : width_(width) {
    constexpr size_t kOffset = 64;
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0, 1);
    const size_t bytes = kOffset + static_cast<size_t>(StateTileBytes(codec, width));
    storage_.resize(static_cast<size_t>((count + kTileRows - 1) / kTileRows) * bytes);
    for (size_t at = 0; at < storage_.size(); at += bytes) blocks_.push_back(storage_.data() + at);
    std::vector<float> row(static_cast<size_t>(width));
    for (int64_t r = 0; r < count; ++r) {
      for (float& x : row) x = normal(random);
      std::byte* tile = blocks_[static_cast<size_t>(r / kTileRows)] + kOffset;
      StoreRow(codec, row.data(), 1, width, r % kTileRows, tile);
      LoadRow(codec, tile, 1, width, r % kTileRows, row.data());
      values_.insert(values_.end(), row.begin(), row.end());
    }
    rows_ = {.blocks = blocks_, .offset = kOffset, .width = width, .codec = codec};
  }

  const StoredRows& rows() const { return rows_; }
  double Expected(int64_t first, int64_t count, int64_t channel) const {
    double sum = 0;
    for (int64_t r = first; r < first + count; ++r) {
      sum += values_[static_cast<size_t>(r * width_ + channel)];
    }
    return sum / static_cast<double>(count);
  }

 private:
  int64_t width_;
  std::vector<std::byte> storage_;
  std::vector<std::byte*> blocks_;
  std::vector<float> values_;
  StoredRows rows_;
};

}  // namespace

TEST_CASE("rows of any stored form are averaged, across borders of blocks") {
  for (const DType codec : AllStateCodecs()) {
    CAPTURE(codec);
    constexpr int64_t kWidth = 64;
    const Case made(codec, kWidth, 70);
    std::vector<float> room(kWidth);
    std::vector<float> mean(kWidth);
    for (const auto [first, count] :
         {std::pair<int64_t, int64_t>{0, 1}, {3, 16}, {12, 7}, {20, 50}}) {
      MeanOfRows(made.rows(), first, count, room.data(), mean.data());
      for (int64_t c = 0; c < kWidth; ++c) {
        CHECK(mean[static_cast<size_t>(c)] ==
              doctest::Approx(made.Expected(first, count, c)).epsilon(1e-5).scale(1));
      }
    }
  }
}

TEST_CASE("a table that begins later finds the same rows") {
  const Case made(DType::kF32, 20, 64);
  std::vector<float> room(20);
  std::vector<float> whole(20);
  std::vector<float> later(20);
  StoredRows rows = made.rows();
  MeanOfRows(rows, 33, 9, room.data(), whole.data());
  rows.blocks = rows.blocks.subspan(2);
  rows.first_block = 2;
  MeanOfRows(rows, 33, 9, room.data(), later.data());
  CHECK(whole == later);
}

}  // namespace cairn
