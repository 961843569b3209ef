#include "cairn/kernels/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "cairn/kernels/lloyd_max.h"
#include "cairn/kernels/state_block.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/kernels/targets_for_tests.h"
#include "hwy/base.h"
#include "hwy/targets.h"

namespace cairn {
namespace {

bool IsQuantized(DType codec) { return IsBlockCodec(codec) || IsLloydMax(codec); }

// One sequence of random keys and values in blocks, and random queries for every position; with
// `smallest_exponent` < 0 their magnitudes reach from 1 down to 2^smallest_exponent.
class Case {
 public:
  Case(const AttentionShape& shape, int64_t tokens, uint32_t seed, int smallest_exponent = 0)
      : shape_(shape), tokens_(tokens) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    std::uniform_int_distribution<int> exponent(smallest_exponent, 0);
    const auto fill = [&](std::vector<float>& v, int64_t count) {
      v.resize(static_cast<size_t>(count));
      for (float& x : v) x = normal(random);
      if (smallest_exponent == 0) return;
      for (float& x : v) x = std::ldexp(x, exponent(random));
    };
    fill(queries_, tokens * shape.heads * shape.key_width);
    key_bytes_ = shape.kv_heads * StateTileBytes(shape.key_codec, shape.key_width);
    const int64_t value_bytes =
        shape.kv_heads * StateTileBytes(shape.value_codec, shape.value_width);
    exact_key_bytes_ = shape.kv_heads * StateTileBytes(DType::kF32, shape.key_width);
    const int64_t exact_bytes =
        exact_key_bytes_ + shape.kv_heads * StateTileBytes(DType::kF32, shape.value_width);
    const int64_t blocks = (tokens + kTileRows - 1) / kTileRows;
    const auto add = [&](int64_t bytes, std::vector<std::byte*>& to) {
      storage_.emplace_back(static_cast<size_t>(bytes));
      std::memset(storage_.back().data(), 0, storage_.back().size());
      to.push_back(storage_.back().data());
    };
    for (int64_t b = 0; b < blocks; ++b) {
      add(key_bytes_ + value_bytes, blocks_);
      add(exact_bytes, exact_blocks_);
    }
    for (int64_t t = 0; t < tokens; ++t) {
      std::vector<float> key;
      std::vector<float> value;
      fill(key, shape.kv_heads * shape.key_width);
      fill(value, shape.kv_heads * shape.value_width);
      for (const float x : value) largest_value_ = std::max(largest_value_, std::abs(x));
      std::byte* block = blocks_[static_cast<size_t>(t / kTileRows)];
      StoreRowTransposed(shape.key_codec, key.data(), shape.kv_heads, shape.key_width,
                         t % kTileRows, block);
      StoreRow(shape.value_codec, value.data(), shape.kv_heads, shape.value_width, t % kTileRows,
               block + key_bytes_);
      if (!shape.exact.keys && !shape.exact.values) continue;
      std::byte* exact = exact_blocks_[static_cast<size_t>(t / kTileRows)];
      StoreRowTransposed(shape.exact.codec, key.data(), shape.kv_heads, shape.key_width,
                         t % kTileRows, exact);
      StoreRow(shape.exact.codec, value.data(), shape.kv_heads, shape.value_width, t % kTileRows,
               exact + exact_key_bytes_);
    }
  }

  AttentionSpan Span(int64_t first, int64_t count, std::vector<float>& out) const {
    AttentionSpan span;
    span.blocks = blocks_;
    span.value_offset = key_bytes_;
    // Blocks that no query may read aren't there.
    span.exact.first_recent_block = shape_.FirstExact(first) / kTileRows;
    span.exact.recent = std::span(exact_blocks_).subspan(span.exact.first_recent_block);
    span.exact.first = std::span(exact_blocks_).first(shape_.exact.first / kTileRows);
    span.exact.value_offset = span.exact.first_value_offset = exact_key_bytes_;
    span.first_position = first;
    span.tokens = count;
    span.first_rows = first_rows_;
    span.queries = queries_.data() + first * shape_.heads * shape_.key_width;
    span.out = out.data() + first * shape_.heads * shape_.value_width;
    return span;
  }

  // Heads of `kv_heads` whose first row isn't 0. Of the positions before, nothing is computed.
  void SetFirstRows(std::vector<int32_t> rows) { first_rows_ = std::move(rows); }

  int64_t FirstPosition() const {
    return first_rows_.empty() ? 0 : *std::ranges::max_element(first_rows_);
  }

  // All positions, `chunk` at a time.
  std::vector<float> Run(int64_t chunk, int threads) const {
    std::vector<float> out(static_cast<size_t>(tokens_ * shape_.heads * shape_.value_width));
    ThreadPool pool(threads);
    AttentionScratch scratch;
    for (int64_t first = FirstPosition(); first < tokens_; first += chunk) {
      const AttentionSpan span = Span(first, std::min(chunk, tokens_ - first), out);
      Attention(shape_, {&span, 1}, shape_.heads * shape_.key_width,
                shape_.heads * shape_.value_width, scratch, pool);
    }
    return out;
  }

  // The definition, in double precision.
  double WorstError(const std::vector<float>& got) const {
    double worst = 0;
    const int64_t group = shape_.heads / shape_.kv_heads;
    std::vector<float> key(static_cast<size_t>(shape_.kv_heads * shape_.key_width));
    std::vector<float> value(static_cast<size_t>(shape_.kv_heads * shape_.value_width));
    for (int64_t i = FirstPosition(); i < tokens_; ++i) {
      for (int64_t h = 0; h < shape_.heads; ++h) {
        std::vector<double> sum(static_cast<size_t>(shape_.value_width));
        double total = 0;
        int64_t first = shape_.FirstVisible(i);
        if (!first_rows_.empty()) {
          first = std::max<int64_t>(first, first_rows_[static_cast<size_t>(h / group)]);
        }
        for (int64_t j = first; j <= i; ++j) {
          const std::byte* block = blocks_[static_cast<size_t>(j / kTileRows)];
          const std::byte* exact = exact_blocks_[static_cast<size_t>(j / kTileRows)];
          const bool is_exact = j < shape_.exact.first || j >= shape_.FirstExact(i);
          const bool exact_key = shape_.exact.keys && is_exact;
          const bool exact_value = shape_.exact.values && is_exact;
          LoadRowTransposed(exact_key ? shape_.exact.codec : shape_.key_codec,
                            exact_key ? exact : block, shape_.kv_heads, shape_.key_width,
                            j % kTileRows, key.data());
          LoadRow(exact_value ? shape_.exact.codec : shape_.value_codec,
                  exact_value ? exact + exact_key_bytes_ : block + key_bytes_, shape_.kv_heads,
                  shape_.value_width, j % kTileRows, value.data());
          double score = 0;
          for (int64_t c = 0; c < shape_.key_width; ++c) {
            score += Query((i * shape_.heads + h) * shape_.key_width + c) *
                     key[static_cast<size_t>(h / group * shape_.key_width + c)];
          }
          if (shape_.score_cap > 0) {
            const double cap = shape_.score_cap;
            score = cap * std::tanh(score / cap);
          }
          const double weight = std::exp(score);
          total += weight;
          for (int64_t c = 0; c < shape_.value_width; ++c) {
            sum[static_cast<size_t>(c)] +=
                weight * value[static_cast<size_t>(h / group * shape_.value_width + c)];
          }
        }
        for (int64_t c = 0; c < shape_.value_width; ++c) {
          const float out =
              got[static_cast<size_t>((i * shape_.heads + h) * shape_.value_width + c)];
          worst = std::max(worst, std::abs(sum[static_cast<size_t>(c)] / total - out));
        }
      }
    }
    return worst;
  }

  // What rounding may change: float sums; weights of bf16 values are within 2^-9 of themselves,
  // which moves a mean by at most twice that share of the largest value; values that are decoded to
  // bf16 are within 2^-8 of themselves.
  double Allowed() const {
    const DType codec = shape_.value_codec;
    if (codec == DType::kF32 || codec == DType::kF16) return 2e-6;
    return largest_value_ * (IsQuantized(codec) ? 0x1p-7 : 0x1p-8);
  }

  std::vector<std::byte*>& blocks() { return blocks_; }
  int64_t key_bytes() const { return key_bytes_; }

 private:
  // Scaled, and as the kernel for this form of keys takes it.
  double Query(int64_t index) const {
    const float scaled = queries_[static_cast<size_t>(index)] * shape_.scale;
    if (shape_.key_codec == DType::kF32 || shape_.key_codec == DType::kF16) return scaled;
    if (!IsQuantized(shape_.key_codec)) return hwy::F32FromBF16(hwy::BF16FromF32(scaled));
    float largest = 0;
    for (int64_t i = index / kStateBlock * kStateBlock, n = i + kStateBlock; i < n; ++i) {
      largest = std::max(largest, std::abs(queries_[static_cast<size_t>(i)] * shape_.scale));
    }
    return std::nearbyint(scaled * (127.0f / largest)) * static_cast<double>(largest) / 127;
  }

  AttentionShape shape_;
  int64_t tokens_;
  int64_t key_bytes_ = 0;
  float largest_value_ = 0;
  std::vector<float> queries_;
  std::vector<AlignedBuffer> storage_;
  std::vector<std::byte*> blocks_;
  int64_t exact_key_bytes_ = 0;
  std::vector<std::byte*> exact_blocks_;
  std::vector<int32_t> first_rows_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

AttentionShape Shape(int64_t heads, int64_t kv_heads, int64_t key_width, int64_t value_width) {
  AttentionShape shape;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.key_width = key_width;
  shape.value_width = value_width;
  shape.scale = 1.0f / std::sqrt(static_cast<float>(key_width));
  return shape;
}

std::vector<AttentionShape> Shapes() {
  std::vector<AttentionShape> shapes = {Shape(4, 4, 16, 16), Shape(6, 2, 64, 64),
                                        Shape(5, 1, 20, 36), Shape(3, 1, 7, 5)};
  AttentionShape window = Shape(4, 2, 16, 24);
  window.window = 70;
  shapes.push_back(window);
  AttentionShape narrow = Shape(4, 1, 16, 16);
  narrow.window = 3;
  narrow.score_cap = 2.0f;
  shapes.push_back(narrow);
  AttentionShape chunk = Shape(2, 1, 32, 32);
  chunk.chunk = 50;
  shapes.push_back(chunk);
  return shapes;
}

}  // namespace

TEST_CASE("attention equals its definition for every codec, window and odd width") {
  for (AttentionShape shape : Shapes()) {
    for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3}) {
      shape.key_codec = codec;
      shape.value_codec = codec;
      const Case c(shape, 150, 11);
      CHECK_LE(c.WorstError(c.Run(150, 1)), c.Allowed());
    }
  }
}

TEST_CASE("attention over rows in any codec equals its definition and depends on no split") {
  for (const DType codec : AllStateCodecs()) {
    for (const bool both : {true, false}) {
      CAPTURE(InfoOf(codec).name);
      AttentionShape shape = Shape(6, 2, 64, 96);
      shape.key_codec = codec;
      shape.value_codec = both ? codec : DType::kF16;
      shape.window = 70;
      const Case c(shape, 150, 15);
      const std::vector<float> expected = c.Run(150, 1);
      CHECK_LE(c.WorstError(expected), c.Allowed());
      for (const int64_t target : TargetsForTests()) {
        hwy::SetSupportedTargetsForTest(target);
        for (const int64_t chunk : {1, 7, 64}) CHECK(SameBits(c.Run(chunk, 2), expected));
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

TEST_CASE("rows in a second form are read from it where the shape says so, however it is split") {
  for (const DType codec : {DType::kLM2, DType::kLM4, DType::kQ4_0, DType::kQ5_1}) {
    for (const int64_t window : {0, 70, 40}) {
      for (const auto& [keys, values] : {std::pair{true, true}, {true, false}, {false, true}}) {
        CAPTURE(InfoOf(codec).name);
        AttentionShape shape = Shape(6, 2, 64, 96);
        shape.key_codec = shape.value_codec = codec;
        shape.window = window;
        shape.exact = {.keys = keys,
                       .values = values,
                       .first = window == 0 ? kTileRows : 0,
                       .groups_before = 2};
        const Case c(shape, 150, 15);
        const std::vector<float> expected = c.Run(150, 1);
        CHECK_LE(c.WorstError(expected), c.Allowed());
        for (const int64_t target : TargetsForTests()) {
          hwy::SetSupportedTargetsForTest(target);
          for (const int64_t chunk : {1, 3, 7, 64}) CHECK(SameBits(c.Run(chunk, 2), expected));
        }
        hwy::SetSupportedTargetsForTest(0);
      }
    }
  }
}

TEST_CASE("segments of long sequences meet exact rows as short ones do") {
  AttentionShape shape = Shape(2, 1, 32, 32);
  shape.key_codec = shape.value_codec = DType::kLM4;
  shape.exact = {.keys = true, .values = true, .first = kTileRows, .groups_before = 4};
  const Case c(shape, 2 * kSegmentKeys + 40, 17);
  const std::vector<float> expected = c.Run(512, 1);
  CHECK_LE(c.WorstError(expected), c.Allowed());
  CHECK(SameBits(c.Run(5, 3), expected));
}

TEST_CASE("chunk size, thread count and instruction set change no bit") {
  std::vector<AttentionShape> shapes = Shapes();
  for (AttentionShape shape : Shapes()) {
    shape.key_codec = shape.value_codec = DType::kBF16;
    shapes.push_back(shape);
  }
  for (const AttentionShape& shape : shapes) {
    const Case c(shape, 150, 12);
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

TEST_CASE("numbers too small for a full mantissa are the same zeros on every instruction set") {
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16}) {
    AttentionShape shape = Shape(4, 2, 32, 48);
    shape.key_codec = shape.value_codec = codec;
    const Case c(shape, 80, 16, -148);
    const std::vector<float> expected = c.Run(80, 1);
    for (const int64_t target : TargetsForTests()) {
      hwy::SetSupportedTargetsForTest(target);
      CAPTURE(hwy::TargetName(target));
      for (const int threads : {1, 2}) CHECK(SameBits(c.Run(1, threads), expected));
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST_CASE("contexts of several segments are right and don't depend on their split over threads") {
  AttentionShape shape = Shape(4, 2, 16, 16);
  for (const int64_t window : {int64_t{0}, int64_t{1500}}) {
    shape.window = window;
    const Case c(shape, 2600, 13);
    const std::vector<float> expected = c.Run(2600, 1);
    CHECK(c.WorstError(expected) < 2e-6);
    std::vector<float> out = expected;
    ThreadPool pool(2);
    AttentionScratch scratch;
    for (const int64_t tokens : {1, 2, 5, 16}) {
      for (const int64_t position : {0, 1023, 1024, 1500, 2046, 2500, 2584}) {
        const AttentionSpan span = c.Span(position, tokens, out);
        std::fill_n(span.out, tokens * 64, 0.0f);
        Attention(shape, {&span, 1}, 64, 64, scratch, pool);
      }
    }
    CHECK(SameBits(out, expected));
  }
}

TEST_CASE("heads that have rows from one of their own on see those alone, however they are split") {
  AttentionShape shape = Shape(6, 3, 32, 32);
  for (const DType codec : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kLM4}) {
    shape.key_codec = shape.value_codec = codec;
    Case c(shape, 1200, 17);
    c.SetFirstRows({3, 0, 1100});
    const std::vector<float> expected = c.Run(1200, 1);
    CHECK_LE(c.WorstError(expected), c.Allowed());
    for (const int64_t chunk : {1, 7, 64}) CHECK(SameBits(c.Run(chunk, 2), expected));
  }
}

TEST_CASE("an infinite value of a later token does not reach an earlier one") {
  const AttentionShape shape = [] {
    AttentionShape s = Shape(2, 1, 16, 16);
    s.key_codec = s.value_codec = DType::kF32;
    return s;
  }();
  Case clean(shape, 40, 14);
  Case poisoned(shape, 40, 14);
  const std::vector<float> infinite(16, std::numeric_limits<float>::infinity());
  StoreRow(DType::kF32, infinite.data(), 1, 16, 39 % kTileRows,
           poisoned.blocks()[39 / kTileRows] + poisoned.key_bytes());
  std::vector<float> expected = clean.Run(40, 1);
  std::vector<float> got = poisoned.Run(40, 1);
  expected.resize(39 * 32);
  got.resize(39 * 32);
  CHECK(SameBits(got, expected));
}

}  // namespace cairn
