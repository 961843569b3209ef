#include "cairn/kernels/block_picks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

// One sequence of random keys in blocks, and random queries.
class Case {
 public:
  Case(const BlockPicksShape& shape, int64_t tokens) : shape_(shape), tokens_(tokens) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 1);
    queries_.resize(static_cast<size_t>(tokens * shape.heads * shape.width));
    for (float& x : queries_) x = normal(random);
    const auto bytes = static_cast<size_t>(StateTileBytes(shape.codec, shape.width));
    storage_.resize(static_cast<size_t>((tokens + kTileRows - 1) / kTileRows) * bytes);
    for (size_t at = 0; at < storage_.size(); at += bytes) blocks_.push_back(storage_.data() + at);
    std::vector<float> key(static_cast<size_t>(shape.width));
    for (int64_t t = 0; t < tokens; ++t) {
      for (float& x : key) x = normal(random);
      std::byte* block = blocks_[static_cast<size_t>(t / kTileRows)];
      StoreRowTransposed(shape.codec, key.data(), 1, shape.width, t % kTileRows, block);
      LoadRowTransposed(shape.codec, block, 1, shape.width, t % kTileRows, key.data());
      keys_.insert(keys_.end(), key.begin(), key.end());
    }
  }

  int64_t first() const { return shape_.FirstSparse(); }

  // Of all tokens from first() on, `chunk` at a time.
  std::vector<int32_t> Run(int64_t chunk, int threads) const {
    ThreadPool pool(threads);
    BlockPicksScratch scratch;
    std::vector<int32_t> picks(
        static_cast<size_t>((tokens_ - first()) * shape_.heads * shape_.picks));
    for (int64_t t = first(); t < tokens_; t += chunk) {
      const BlockPicksSpan span = {
          .blocks = blocks_,
          .first_position = t,
          .tokens = std::min(chunk, tokens_ - t),
          .queries = queries_.data() + t * shape_.heads * shape_.width,
          .picks = picks.data() + (t - first()) * shape_.heads * shape_.picks};
      PickBlocks(shape_, {&span, 1}, scratch, pool);
    }
    return picks;
  }

  // The definition, in double precision.
  std::vector<int32_t> Expected(int64_t position, int64_t head) const {
    const int64_t own = position / shape_.block;
    std::vector<double> scores(static_cast<size_t>(own + 1),
                               -std::numeric_limits<double>::infinity());
    for (int64_t p = 0; p <= position; ++p) {
      double dot = 0;
      for (int64_t c = 0; c < shape_.width; ++c) {
        dot += static_cast<double>(queries_[static_cast<size_t>(
                   (position * shape_.heads + head) * shape_.width + c)]) *
               keys_[static_cast<size_t>(p * shape_.width + c)];
      }
      double& score = scores[static_cast<size_t>(p / shape_.block)];
      score = std::max(score, dot);
      if (p / shape_.block > own - shape_.local) score = std::numeric_limits<double>::infinity();
    }
    std::vector<int32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](int32_t a, int32_t b) {
      const double left = scores[static_cast<size_t>(a)];
      const double right = scores[static_cast<size_t>(b)];
      return left > right || (left == right && a < b);
    });
    order.resize(static_cast<size_t>(shape_.picks));
    std::ranges::sort(order);
    return order;
  }

 private:
  BlockPicksShape shape_;
  int64_t tokens_;
  std::vector<float> queries_;
  std::vector<float> keys_;
  std::vector<std::byte> storage_;
  std::vector<std::byte*> blocks_;
};

}  // namespace

TEST_CASE("the blocks of the largest scores are picked, and the latest ones") {
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kLM3}) {
    for (const int64_t block : {3, 16, 48, 80}) {
      for (const int64_t local : {0, 1, 2}) {
        CAPTURE(block);
        CAPTURE(local);
        const BlockPicksShape shape = {
            .heads = 2, .width = 32, .block = block, .picks = 3, .local = local, .codec = codec};
        const Case c(shape, 3 * block + 300);
        const std::vector<int32_t> picks = c.Run(1000, 1);
        auto at = picks.begin();
        for (int64_t t = c.first(); at != picks.end(); ++t) {
          for (int64_t h = 0; h < shape.heads; ++h, at += shape.picks) {
            const std::vector<int32_t> mine(at, at + shape.picks);
            CHECK(mine == c.Expected(t, h));
          }
        }
      }
    }
  }
}

TEST_CASE("no cut of the batch and no number of threads changes what is picked") {
  const BlockPicksShape shape = {
      .heads = 4, .width = 16, .block = 8, .picks = 5, .local = 1, .codec = DType::kF16};
  const Case c(shape, 400);
  const std::vector<int32_t> expected = c.Run(1000, 1);
  for (const int threads : {1, 2}) {
    for (const int64_t chunk : {1, 7, 64}) CHECK(c.Run(chunk, threads) == expected);
  }
}

}  // namespace cairn
