#include "cairn/kernels/entry_attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

constexpr int64_t kOffset = 64;

// Random rows in blocks, beside which other things lie.
class Blocks {
 public:
  Blocks(DType codec, int64_t width, int64_t rows, std::mt19937& random)
      : codec_(codec), width_(width) {
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> row(static_cast<size_t>(width));
    for (int64_t b = 0; b < (rows + kTileRows - 1) / kTileRows; ++b) {
      storage_.emplace_back(static_cast<size_t>(kOffset + StateTileBytes(codec, width)));
      pointers_.push_back(storage_.back().data());
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (float& x : row) x = normal(random);
      StoreRow(codec, row.data(), 1, width, r % kTileRows, Tile(r));
    }
  }

  RowBlocks View() const { return {pointers_, 0, kOffset}; }
  std::vector<float> Row(int64_t r) const {
    std::vector<float> row(static_cast<size_t>(width_));
    LoadRow(codec_, Tile(r), 1, width_, r % kTileRows, row.data());
    return row;
  }

 private:
  std::byte* Tile(int64_t r) const {
    return pointers_[static_cast<size_t>(r / kTileRows)] + kOffset;
  }

  DType codec_;
  int64_t width_;
  std::vector<std::vector<std::byte>> storage_;
  std::vector<std::byte*> pointers_;
};

// One sequence with a query for every position.
class Case {
 public:
  Case(const EntryAttentionShape& shape, int64_t tokens, int64_t picks)
      : shape_(shape),
        tokens_(tokens),
        window_(shape.codec, shape.width, tokens, random_),
        entries_(shape.codec, shape.width,
                 shape.tokens_per_entry == 0 ? 0 : tokens / shape.tokens_per_entry, random_),
        stride_(picks) {
    std::normal_distribution<float> normal(0, 1);
    queries_.resize(static_cast<size_t>(tokens * shape.heads * shape.width));
    for (float& x : queries_) x = normal(random_);
    sinks_.resize(static_cast<size_t>(shape.heads));
    for (float& x : sinks_) x = normal(random_);
    shape_.sinks = sinks_.data();
    for (int64_t t = 0; t < tokens && picks > 0; ++t) {
      const int64_t seen = Seen(t);
      const int64_t count = std::min(seen, picks);
      counts_.push_back(static_cast<int32_t>(count));
      for (int64_t i = 0; i < picks; ++i) {
        picks_.push_back(i < count ? static_cast<int32_t>(seen - count + i) : -1);
      }
    }
  }

  // All positions, `chunk` at a time.
  std::vector<float> Run(int64_t chunk, int threads) const {
    std::vector<float> out(queries_.size());
    ThreadPool pool(threads);
    EntryAttentionScratch scratch;
    for (int64_t first = 0; first < tokens_; first += chunk) {
      const int64_t at = first * shape_.heads * shape_.width;
      EntryAttentionSpan span;
      span.window = window_.View();
      span.entries = entries_.View();
      span.first_position = first;
      span.tokens = std::min(chunk, tokens_ - first);
      span.queries = queries_.data() + at;
      span.out = out.data() + at;
      if (stride_ > 0) {
        span.picks = picks_.data() + first * stride_;
        span.picks_stride = stride_;
        span.pick_counts = counts_.data() + first;
      }
      EntryAttention(shape_, {&span, 1}, scratch, pool);
    }
    return out;
  }

  // Against the definition in double precision.
  double WorstError(const std::vector<float>& got) const {
    double worst = 0;
    for (int64_t t = 0; t < tokens_; ++t) {
      std::vector<std::vector<float>> rows;
      const int64_t first = shape_.window == 0 ? 0 : std::max<int64_t>(0, t - shape_.window + 1);
      for (int64_t p = first; p <= t; ++p) rows.push_back(window_.Row(p));
      for (int64_t e = 0; e < Seen(t) && stride_ == 0; ++e) rows.push_back(entries_.Row(e));
      for (int64_t i = 0; stride_ > 0 && i < counts_[static_cast<size_t>(t)]; ++i) {
        rows.push_back(entries_.Row(picks_[static_cast<size_t>(t * stride_ + i)]));
      }
      for (int64_t h = 0; h < shape_.heads; ++h) worst = std::max(worst, ErrorOf(t, h, rows, got));
    }
    return worst;
  }

 private:
  int64_t Seen(int64_t token) const {
    return shape_.tokens_per_entry == 0 ? 0 : (token + 1) / shape_.tokens_per_entry;
  }

  double ErrorOf(int64_t token, int64_t head, const std::vector<std::vector<float>>& rows,
                 const std::vector<float>& got) const {
    const auto at = static_cast<size_t>((token * shape_.heads + head) * shape_.width);
    double total = std::exp(double{sinks_[static_cast<size_t>(head)]});
    std::vector<double> sums(static_cast<size_t>(shape_.width));
    for (const std::vector<float>& row : rows) {
      double score = 0;
      for (size_t c = 0; c < row.size(); ++c) score += double{queries_[at + c]} * row[c];
      const double weight = std::exp(score * shape_.scale);
      total += weight;
      for (size_t c = 0; c < row.size(); ++c) sums[c] += weight * row[c];
    }
    double worst = 0;
    for (size_t c = 0; c < sums.size(); ++c) {
      worst = std::max(worst, std::abs(sums[c] / total - got[at + c]));
    }
    return worst;
  }

  std::mt19937 random_{7};
  EntryAttentionShape shape_;
  int64_t tokens_;
  Blocks window_;
  Blocks entries_;
  int64_t stride_;
  std::vector<float> queries_;
  std::vector<float> sinks_;
  std::vector<int32_t> picks_;
  std::vector<int32_t> counts_;
};

EntryAttentionShape Shape(int64_t window, int64_t tokens_per_entry, DType codec) {
  EntryAttentionShape shape;
  shape.heads = 11;
  shape.width = 40;
  shape.scale = 0.15f;
  shape.window = window;
  shape.tokens_per_entry = tokens_per_entry;
  shape.codec = codec;
  return shape;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a window, entries and a sink share one softmax") {
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const auto& [window, ratio, picks] :
         {std::array<int64_t, 3>{8, 4, 5}, {8, 12, 0}, {0, 3, 0}, {100, 0, 0}, {1, 1, 70}}) {
      CAPTURE(window);
      CAPTURE(ratio);
      const Case c(Shape(window, ratio, codec), 150, picks);
      CHECK(c.WorstError(c.Run(150, 1)) < 2e-6);
    }
  }
}

TEST_CASE("neither chunks nor threads nor the instruction set change a bit") {
  const Case c(Shape(20, 4, DType::kF16), 130, 9);
  const std::vector<float> expected = c.Run(130, 1);
  for (const int threads : {1, 2, 3}) {
    for (const int64_t chunk : {1, 7, 64, 130}) CHECK(SameBits(c.Run(chunk, threads), expected));
  }
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    CHECK(SameBits(c.Run(130, 1), expected));
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace cairn
