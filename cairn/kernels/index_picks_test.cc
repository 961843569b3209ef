#include "cairn/kernels/index_picks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "cairn/kernels/matmul_test_weights.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

// Random keys of a sequence in blocks, and random queries and weights for every position.
class Case {
 public:
  Case(const IndexShape& shape, int64_t tokens) : shape_(shape), tokens_(tokens) {
    queries_ = RandomFloats(tokens * shape.heads * shape.width, 41);
    weights_ = RandomFloats(tokens * shape.heads, 42);
    keys_ = RandomFloats(tokens * shape.row_width, 43);
    const auto bytes = static_cast<size_t>(StateTileBytes(shape.codec, shape.row_width));
    for (int64_t t = 0; t < tokens; ++t) {
      if (t % kTileRows == 0) {
        storage_.emplace_back(bytes);
        std::memset(storage_.back().data(), 0, bytes);
        blocks_.push_back(storage_.back().data());
      }
      SetKey(t, keys_.data() + t * shape.row_width);
    }
  }

  void SetKey(int64_t position, const float* key) {
    StoreRow(shape_.codec, key, 1, shape_.row_width, position % kTileRows,
             blocks_[static_cast<size_t>(position / kTileRows)]);
  }

  // The picks of all tokens, `chunk` at a time, each as long as its count says.
  std::vector<std::vector<int32_t>> Run(int64_t chunk, int threads) const {
    std::vector<int32_t> picks(static_cast<size_t>(tokens_ * shape_.picks), -1);
    std::vector<int32_t> counts(static_cast<size_t>(tokens_));
    ThreadPool pool(threads);
    IndexScratch scratch;
    for (int64_t first = 0; first < tokens_; first += chunk) {
      const IndexSpan span = {.blocks = blocks_,
                              .first_position = first,
                              .tokens = std::min(chunk, tokens_ - first),
                              .queries = queries_.data() + first * shape_.heads * shape_.width,
                              .weights = weights_.data() + first * shape_.heads,
                              .picks = picks.data() + first * shape_.picks,
                              .counts = counts.data() + first};
      PickRows(shape_, {&span, 1}, scratch, pool);
    }
    std::vector<std::vector<int32_t>> result;
    for (int64_t t = 0; t < tokens_; ++t) {
      const auto* from = picks.data() + t * shape_.picks;
      result.emplace_back(from, from + counts[static_cast<size_t>(t)]);
    }
    return result;
  }

  // The definition in double precision.
  double Score(int64_t token, int64_t position) const {
    std::vector<float> key(static_cast<size_t>(shape_.row_width));
    LoadRow(shape_.codec, blocks_[static_cast<size_t>(position / kTileRows)], 1, shape_.row_width,
            position % kTileRows, key.data());
    double score = 0;
    for (int64_t h = 0; h < shape_.heads; ++h) {
      double product = 0;
      for (int64_t c = 0; c < shape_.width; ++c) {
        product +=
            double{queries_[static_cast<size_t>((token * shape_.heads + h) * shape_.width + c)]} *
            key[static_cast<size_t>(c)];
      }
      score += weights_[static_cast<size_t>(token * shape_.heads + h)] *
               std::max(0.0, product * shape_.scale);
    }
    return score;
  }

 private:
  IndexShape shape_;
  int64_t tokens_;
  std::vector<float> queries_;
  std::vector<float> weights_;
  std::vector<float> keys_;
  std::vector<AlignedBuffer> storage_;
  std::vector<std::byte*> blocks_;
};

IndexShape Shape(int64_t heads, int64_t width, int64_t row_width, int64_t picks, DType codec) {
  return {.heads = heads,
          .width = width,
          .row_width = row_width,
          .picks = picks,
          .scale = 1 / std::sqrt(static_cast<float>(width)),
          .codec = codec};
}

}  // namespace

TEST_CASE("picks are the rows of the largest scores, all of them while there are no more") {
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    const IndexShape shape = Shape(3, 32, codec == DType::kQ8_0 ? 64 : 35, 12, codec);
    const Case c(shape, 90);
    const auto picks = c.Run(90, 1);
    for (int64_t t = 0; t < 90; ++t) {
      const std::vector<int32_t>& mine = picks[static_cast<size_t>(t)];
      REQUIRE_EQ(static_cast<int64_t>(mine.size()), std::min<int64_t>(t + 1, shape.picks));
      CHECK(std::ranges::is_sorted(mine));
      double worst_in = std::numeric_limits<double>::infinity();
      double best_out = -worst_in;
      for (int32_t p = 0; p <= t; ++p) {
        const double score = c.Score(t, p);
        const bool in = std::ranges::binary_search(mine, p);
        if (in) worst_in = std::min(worst_in, score);
        if (!in) best_out = std::max(best_out, score);
      }
      CHECK_GE(worst_in, best_out - 1e-5);
    }
  }
}

TEST_CASE("chunk size, thread count and instruction set change no pick") {
  const IndexShape shape = Shape(5, 28, 28, 40, DType::kF16);
  const Case c(shape, 1300);
  const auto expected = c.Run(1300, 1);
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    CHECK(c.Run(1, 2) == expected);
    CHECK(c.Run(7, 3) == expected);
    CHECK(c.Run(1300, 2) == expected);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("among equal scores the earlier rows are picked, and what is no number has its place") {
  const IndexShape shape = Shape(1, 4, 4, 3, DType::kF32);
  std::vector<float> zero(16 * 4);
  std::vector<AlignedBuffer> tile;
  tile.emplace_back(static_cast<size_t>(StateTileBytes(DType::kF32, 4)));
  std::memcpy(tile[0].data(), zero.data(), zero.size() * sizeof(float));
  const std::array<std::byte*, 1> blocks = {tile[0].data()};
  const std::vector<float> query(4, 1);
  const float weight = 1;
  std::vector<int32_t> picks(3);
  int32_t count = 0;
  const IndexSpan span = {.blocks = blocks,
                          .first_position = 15,
                          .tokens = 1,
                          .queries = query.data(),
                          .weights = &weight,
                          .picks = picks.data(),
                          .counts = &count};
  ThreadPool pool(1);
  IndexScratch scratch;
  PickRows(shape, {&span, 1}, scratch, pool);
  CHECK_EQ(picks, std::vector<int32_t>{0, 1, 2});
  CHECK_EQ(count, 3);
  zero.assign(zero.size(), std::numeric_limits<float>::quiet_NaN());
  std::memcpy(tile[0].data(), zero.data(), zero.size() * sizeof(float));
  PickRows(shape, {&span, 1}, scratch, pool);
  for (const int32_t pick : picks) CHECK((pick >= 0 && pick < 16));
}

}  // namespace cairn
