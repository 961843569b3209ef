#include "cairn/kernels/key_standard.h"

#include <doctest/doctest.h>

#include <cmath>
#include <span>

#include "cairn/kernels/attention.h"
#include "cairn/kernels/recurrence_for_tests.h"
#include "cairn/kernels/state_rows.h"

namespace cairn {
namespace {

constexpr int64_t kHeads = 2;  // of keys
constexpr int64_t kGroup = 3;

// Keys with a large mean, turned by position; channels of very different spread.
class Turned {
 public:
  Turned(int64_t width, TurningPairs pairs, int64_t tokens)
      : width_(width),
        tokens_(tokens),
        frequencies_(FrequenciesOf(pairs.count)),
        turns_(frequencies_) {
    mean_ = Normal(kHeads * width, 11, 4);
    spread_ = Uniform(kHeads * width, 12, 0.1f, 3);
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < pairs.count; ++i) {
        spread_[At(h, pairs.Second(i))] = spread_[At(h, pairs.First(i))];
      }
    }
    for (int64_t start = 0; start < tokens; start += kTileKeys) {
      for (const float f : frequencies_) {
        cosines_.push_back(static_cast<float>(std::cos(static_cast<double>(start) * f)));
        sines_.push_back(static_cast<float>(std::sin(static_cast<double>(start) * f)));
      }
    }
    standard_ = {mean_.data(), spread_.data(), pairs, &turns_, cosines_.data(), sines_.data()};
    keys_ = Normal(tokens * kHeads * width, 13);
    for (int64_t t = 0; t < tokens; ++t) {
      float* key = keys_.data() + t * kHeads * width;
      for (size_t c = 0; c < mean_.size(); ++c) key[c] = key[c] * spread_[c] + mean_[c];
      Turn(t, key);
    }
    queries_ = Normal(tokens * kHeads * kGroup * width, 14, 0.3f);
    values_ = Normal(tokens * kHeads * width, 15);
  }

  const KeyStandard& standard() const { return standard_; }
  const Floats& keys() const { return keys_; }

  AttentionShape Shape() const {
    AttentionShape shape;
    shape.heads = kHeads * kGroup;
    shape.kv_heads = kHeads;
    shape.key_width = shape.value_width = width_;
    shape.scale = 0.1f;
    return shape;
  }

  // What attention makes of the rows as `shape` says that they are stored.
  Floats Attend(const AttentionShape& shape, int64_t chunk, int threads) const {
    const int64_t key_bytes = kHeads * StateTileBytes(shape.key_codec, width_);
    const int64_t value_bytes = kHeads * StateTileBytes(shape.value_codec, width_);
    const int64_t blocks = (tokens_ + kTileRows - 1) / kTileRows;
    std::vector<std::byte> storage(static_cast<size_t>(blocks * (key_bytes + value_bytes)));
    std::vector<std::byte*> table;
    for (int64_t b = 0; b < blocks; ++b)
      table.push_back(storage.data() + b * (key_bytes + value_bytes));
    for (int64_t t = 0; t < tokens_; ++t) {
      Floats key(keys_.begin() + t * kHeads * width_, keys_.begin() + (t + 1) * kHeads * width_);
      if (shape.standard != nullptr) StandardizeKeys(standard_, t, kHeads, width_, key.data());
      std::byte* block = table[static_cast<size_t>(t / kTileRows)];
      StoreRowTransposed(shape.key_codec, key.data(), kHeads, width_, t % kTileRows, block);
      StoreRow(shape.value_codec, values_.data() + t * kHeads * width_, kHeads, width_,
               t % kTileRows, block + key_bytes);
    }
    const int64_t row = kHeads * kGroup * width_;
    Floats out(static_cast<size_t>(tokens_ * row));
    ThreadPool pool(threads);
    AttentionScratch scratch;
    for (int64_t first = 0; first < tokens_; first += chunk) {
      AttentionSpan span;
      span.blocks = table;
      span.value_offset = key_bytes;
      span.first_position = first;
      span.tokens = std::min(chunk, tokens_ - first);
      span.queries = queries_.data() + first * row;
      span.out = out.data() + first * row;
      Attention(shape, {&span, 1}, row, row, scratch, pool);
    }
    return out;
  }

 private:
  static Floats FrequenciesOf(int64_t pairs) {
    Floats frequencies;
    for (int64_t i = 0; i < pairs; ++i) {
      frequencies.push_back(std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(pairs)));
    }
    return frequencies;
  }
  size_t At(int64_t head, int64_t channel) const {
    return static_cast<size_t>(head * width_ + channel);
  }
  void Turn(int64_t position, float* key) const {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < standard_.pairs.count; ++i) {
        float& a = key[At(h, standard_.pairs.First(i))];
        float& b = key[At(h, standard_.pairs.Second(i))];
        const double angle = static_cast<double>(position) * frequencies_[static_cast<size_t>(i)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
        a = static_cast<float>(turned);
      }
    }
  }

  int64_t width_, tokens_;
  Floats frequencies_;
  TileTurns turns_;
  Floats mean_, spread_, cosines_, sines_;
  KeyStandard standard_;
  Floats keys_, queries_, values_;
};

double Difference(const Floats& a, const Floats& b) {
  double sum = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    all += double{b[i]} * b[i];
  }
  return std::sqrt(sum / all);
}

const TurningPairs kKinds[] = {TurningPairs::HalfSplit(32), TurningPairs::Interleaved(32),
                               TurningPairs::HalfSplit(16), TurningPairs{}};

}  // namespace

TEST_CASE("standardised keys have no mean and one size, and come back") {
  for (const TurningPairs& pairs : kKinds) {
    const Turned turned(64, pairs, 300);
    Floats sum(kHeads * 64, 0), squares(kHeads * 64, 0);
    for (int64_t t = 0; t < 300; ++t) {
      const Floats key(turned.keys().begin() + t * kHeads * 64,
                       turned.keys().begin() + (t + 1) * kHeads * 64);
      Floats standard = key;
      StandardizeKeys(turned.standard(), t, kHeads, 64, standard.data());
      for (size_t c = 0; c < standard.size(); ++c) {
        sum[c] += standard[c] / 300;
        squares[c] += standard[c] * standard[c] / 300;
      }
      RestoreKeys(turned.standard(), t, kHeads, 64, standard.data());
      for (size_t c = 0; c < key.size(); ++c) CHECK(std::abs(standard[c] - key[c]) < 2e-5);
    }
    for (size_t c = 0; c < sum.size(); ++c) {
      CHECK(std::abs(sum[c]) < 0.3);
      CHECK(squares[c] > 0.6);
      CHECK(squares[c] < 1.5);
    }
  }
}

TEST_CASE("attention over standardised keys is that over keys") {
  for (const TurningPairs& pairs : kKinds) {
    const Turned turned(64, pairs, 200);
    AttentionShape shape = turned.Shape();
    shape.key_codec = shape.value_codec = DType::kF32;
    for (const float cap : {0.0f, 5.0f}) {
      shape.score_cap = cap;
      shape.standard = nullptr;
      const Floats expected = turned.Attend(shape, 200, 1);
      shape.standard = &turned.standard();
      // What is left is the rounding of the means' part to bf16.
      CHECK(Difference(turned.Attend(shape, 200, 1), expected) < 0.01);
    }
  }
}

TEST_CASE("what few bits cost is less than half for standardised keys") {
  const Turned turned(64, kKinds[0], 200);
  AttentionShape shape = turned.Shape();
  shape.key_codec = shape.value_codec = DType::kF32;
  const Floats expected = turned.Attend(shape, 200, 1);
  shape.key_codec = DType::kQ4_0;
  const double plain = Difference(turned.Attend(shape, 200, 1), expected);
  shape.standard = &turned.standard();
  CHECK(Difference(turned.Attend(shape, 200, 1), expected) < plain / 2);
}

TEST_CASE("standardised keys give the same bits however tokens are batched, on every machine") {
  const Turned turned(64, kKinds[0], 150);
  AttentionShape shape = turned.Shape();
  shape.key_codec = shape.value_codec = DType::kQ8_0;
  shape.values_rotated = true;
  shape.standard = &turned.standard();
  const Floats expected = turned.Attend(shape, 150, 1);
  OnEachTarget([&] {
    for (const int64_t chunk : {1, 7, 64, 150}) {
      for (const int threads : {1, 3})
        CHECK(SameBits(turned.Attend(shape, chunk, threads), expected));
    }
  });
}

}  // namespace cairn
