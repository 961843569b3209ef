#include "cairn/kernels/row_attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cairn/kernels/attention_tile.h"
#include "cairn/kernels/row_attention_tile.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

// One sequence of random rows in blocks, beside which other things lie, and random queries for
// every position.
class Case {
 public:
  static constexpr int64_t kOffset = 192;

  Case(const RowAttentionShape& shape, int64_t tokens, uint32_t seed)
      : shape_(shape), tokens_(tokens) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    const auto fill = [&](std::vector<float>& v, int64_t count) {
      v.resize(static_cast<size_t>(count));
      for (float& x : v) x = normal(random);
    };
    fill(queries_, tokens * shape.heads * shape.width);
    const int64_t bytes = kOffset + StateTileBytes(shape.codec, shape.width);
    for (int64_t b = 0; b < (tokens + kTileRows - 1) / kTileRows; ++b) {
      storage_.emplace_back(static_cast<size_t>(bytes));
      std::memset(storage_.back().data(), 0, storage_.back().size());
      blocks_.push_back(storage_.back().data());
    }
    std::vector<float> row;
    for (int64_t t = 0; t < tokens; ++t) {
      fill(row, shape.width);
      Store(t, row);
    }
  }

  void Store(int64_t position, const std::vector<float>& row) {
    StoreRow(shape_.codec, row.data(), 1, shape_.width, position % kTileRows,
             blocks_[static_cast<size_t>(position / kTileRows)] + kOffset);
  }

  RowAttentionSpan Span(int64_t first, int64_t count, std::vector<float>& out) const {
    RowAttentionSpan span;
    span.blocks = blocks_;
    span.offset = kOffset;
    span.first_position = first;
    span.tokens = count;
    span.queries = queries_.data() + first * shape_.heads * shape_.width;
    span.out = out.data() + first * shape_.heads * shape_.value_width;
    return span;
  }

  std::vector<float> NewOut() const {
    return std::vector<float>(static_cast<size_t>(tokens_ * shape_.heads * shape_.value_width));
  }

  // All positions, `chunk` at a time.
  std::vector<float> Run(int64_t chunk, int threads) const {
    std::vector<float> out = NewOut();
    ThreadPool pool(threads);
    RowAttentionScratch scratch;
    for (int64_t first = 0; first < tokens_; first += chunk) {
      const RowAttentionSpan span = Span(first, std::min(chunk, tokens_ - first), out);
      RowAttention(shape_, {&span, 1}, scratch, pool);
    }
    return out;
  }

  // The definition in double precision: token `token` over the rows that it reads.
  double ErrorOf(int64_t token, const std::vector<int32_t>& read,
                 const std::vector<float>& got) const {
    double worst = 0;
    std::vector<float> row(static_cast<size_t>(shape_.width));
    for (int64_t h = 0; h < shape_.heads; ++h) {
      const int64_t at = token * shape_.heads + h;
      std::vector<double> sum(static_cast<size_t>(shape_.value_width));
      double total = 0;
      for (const int32_t position : read) {
        LoadRow(shape_.codec, blocks_[static_cast<size_t>(position / kTileRows)] + kOffset, 1,
                shape_.width, position % kTileRows, row.data());
        double score = 0;
        for (int64_t c = 0; c < shape_.width; ++c) {
          score += double{queries_[static_cast<size_t>(at * shape_.width + c)]} * shape_.scale *
                   row[static_cast<size_t>(c)];
        }
        total += std::exp(score);
        for (size_t c = 0; c < sum.size(); ++c) sum[c] += std::exp(score) * row[c];
      }
      for (size_t c = 0; c < sum.size(); ++c) {
        const float out = got[static_cast<size_t>(at * shape_.value_width) + c];
        worst = std::max(worst, std::abs(sum[c] / total - out));
      }
    }
    return worst;
  }

  double WorstError(const std::vector<float>& got) const {
    double worst = 0;
    for (int64_t t = 0; t < tokens_; ++t) {
      std::vector<int32_t> read(static_cast<size_t>(t) + 1);
      std::iota(read.begin(), read.end(), 0);
      worst = std::max(worst, ErrorOf(t, read, got));
    }
    return worst;
  }

 private:
  RowAttentionShape shape_;
  int64_t tokens_;
  std::vector<float> queries_;
  std::vector<AlignedBuffer> storage_;
  std::vector<std::byte*> blocks_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

RowAttentionShape Shape(int64_t heads, int64_t width, int64_t value_width, DType codec) {
  return {.heads = heads,
          .width = width,
          .value_width = value_width,
          .scale = 1.0f / std::sqrt(static_cast<float>(width)),
          .codec = codec};
}

// Heads below, at and beyond what is computed together; widths of whole vectors and others.
std::vector<RowAttentionShape> Shapes() {
  std::vector<RowAttentionShape> shapes;
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16}) {
    shapes.push_back(Shape(4, 40, 24, codec));
    shapes.push_back(Shape(3, 7, 5, codec));
    shapes.push_back(Shape(16, 96, 80, codec));
    shapes.push_back(Shape(37, 50, 33, codec));
  }
  shapes.push_back(Shape(5, 64, 32, DType::kQ8_0));
  shapes.push_back(Shape(5, 64, 64, DType::kQ4_0));
  shapes.push_back(Shape(5, 64, 64, DType::kLM4));
  return shapes;
}

}  // namespace

TEST_CASE("attention over shared rows equals its definition for every codec and odd width") {
  for (const RowAttentionShape& shape : Shapes()) {
    CAPTURE(shape.heads);
    CAPTURE(InfoOf(shape.codec).name);
    const Case c(shape, 150, 21);
    CHECK_LE(c.WorstError(c.Run(150, 1)), 2e-6);
  }
}

TEST_CASE("chunk size, thread count and instruction set change no bit of attention over rows") {
  for (const RowAttentionShape& shape : Shapes()) {
    const Case c(shape, 150, 22);
    const std::vector<float> expected = c.Run(150, 1);
    for (const int64_t target : TargetsForTests()) {
      hwy::SetSupportedTargetsForTest(target);
      for (const int64_t chunk : {1, 7, 64, 150}) {
        for (const int threads : {1, 2, 3}) {
          CAPTURE(chunk);
          CAPTURE(threads);
          CAPTURE(hwy::TargetName(target));
          CHECK(SameBits(c.Run(chunk, threads), expected));
        }
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST_CASE("a context of several segments doesn't depend on their split over threads") {
  const RowAttentionShape shape = Shape(6, 24, 16, DType::kF16);
  const Case c(shape, 2600, 23);
  const std::vector<float> expected = c.Run(2600, 1);
  CHECK_LE(c.WorstError(expected), 2e-6);
  std::vector<float> out = expected;
  ThreadPool pool(3);
  RowAttentionScratch scratch;
  for (const int64_t tokens : {1, 2, 5, 16}) {
    for (const int64_t position : {0, 1023, 1024, 1500, 2046, 2500, 2584}) {
      const RowAttentionSpan span = c.Span(position, tokens, out);
      std::fill_n(span.out, tokens * shape.heads * shape.value_width, 0.0f);
      RowAttention(shape, {&span, 1}, scratch, pool);
    }
  }
  CHECK(SameBits(out, expected));
}

TEST_CASE("picks are the rows that are read; all of them are what no picks are") {
  for (const DType codec : {DType::kF32, DType::kBF16}) {
    const RowAttentionShape shape = Shape(5, 40, 24, codec);
    const Case c(shape, 1300, 24);
    std::vector<float> out = c.NewOut();
    constexpr int64_t kStride = 1300;
    std::vector<int32_t> picks(2 * kStride);
    std::vector<int32_t> every_third;
    for (int32_t p = 2; p < 1299; p += 3) every_third.push_back(p);
    std::copy(every_third.begin(), every_third.end(), picks.begin());
    std::iota(picks.begin() + kStride, picks.end(), 0);
    const std::vector<int32_t> counts = {static_cast<int32_t>(every_third.size()), 1300};
    RowAttentionSpan span = c.Span(1298, 2, out);
    span.picks = picks.data();
    span.picks_stride = kStride;
    span.pick_counts = counts.data();
    std::vector<float> dense = c.NewOut();
    const RowAttentionSpan all = c.Span(1298, 2, dense);
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      RowAttentionScratch scratch;
      RowAttention(shape, {&span, 1}, scratch, pool);
      RowAttention(shape, {&all, 1}, scratch, pool);
      CHECK_LE(c.ErrorOf(1298, every_third, out), 2e-6);
      const int64_t last = shape.heads * shape.value_width;
      CHECK(std::memcmp(out.data() + out.size() - last, dense.data() + dense.size() - last,
                        static_cast<size_t>(last) * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("an infinite row of a later token does not reach an earlier one") {
  const RowAttentionShape shape = Shape(2, 20, 16, DType::kF32);
  Case clean(shape, 40, 25);
  Case poisoned(shape, 40, 25);
  poisoned.Store(39, std::vector<float>(20, std::numeric_limits<float>::infinity()));
  std::vector<float> expected = clean.Run(40, 1);
  std::vector<float> got = poisoned.Run(40, 1);
  expected.resize(39 * 32);
  got.resize(39 * 32);
  CHECK(SameBits(got, expected));
}

TEST_CASE("rows as floats are what the codec's scalar reader says") {
  for (const DType codec : AllStateCodecs()) {
    CAPTURE(InfoOf(codec).name);
    for (const int64_t width : {32, 96}) {
      std::mt19937 random(26);
      std::normal_distribution<float> normal(0, 1);
      AlignedBuffer tile(static_cast<size_t>(StateTileBytes(codec, width)));
      std::vector<float> row(static_cast<size_t>(width));
      for (int64_t r = 0; r < kTileRows; ++r) {
        for (float& x : row) x = normal(random);
        StoreRow(codec, row.data(), 1, width, r, tile.data());
      }
      std::vector<float> room(row.size());
      for (int r = 0; r < kTileRows; ++r) {
        LoadRow(codec, tile.data(), 1, width, r, row.data());
        const float* got = RowAsFloats(codec, tile.data(), r, width, room.data());
        CHECK(std::memcmp(got, row.data(), row.size() * sizeof(float)) == 0);
      }
    }
  }
}

}  // namespace cairn
