// Random but valid StateSpecs, small enough that a test can look at every row.
//
// Only for tests and fuzzers. `Choose` is any callable int64_t(int64_t n) that answers in [0, n): a
// random generator in a test, the input's bytes in a fuzzer.
#ifndef CAIRN_SPEC_STATE_SPEC_FOR_TESTS_H_
#define CAIRN_SPEC_STATE_SPEC_FOR_TESTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

#include "cairn/spec/state_spec.h"

namespace cairn {

// Uniform enough for tests, and the same numbers with every standard library.
class RandomChoice {
 public:
  explicit RandomChoice(uint64_t seed) : engine_(seed) {}
  int64_t operator()(int64_t n) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n));
  }

 private:
  std::mt19937_64 engine_;
};

// Choices read from a fuzzer's input, zeros after its end.
class InputChoice {
 public:
  InputChoice(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  int64_t operator()(int64_t n) {
    int64_t value = Next();
    if (n > 256) value = value * 256 + Next();
    return value % n;
  }

 private:
  int64_t Next() { return empty() ? 0 : data_[at_++]; }

  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

template <class Choose>
Lifetime RandomLifetime(Choose& choose) {
  switch (choose(6)) {
    case 0:
      return Lifetime::Window(TokenCount(1 + choose(70)));
    case 1:
      return Lifetime::Chunk(TokenCount(1 + choose(70)));
    case 2:
      return Lifetime::ChunkAndBefore(TokenCount(1 + choose(20)), 1 + choose(4));
    case 3:
      return Lifetime::First(TokenCount(1 + choose(40)));
    default:
      return Lifetime::All();
  }
}

template <class Choose>
Rows RandomRows(Choose& choose, const char* name) {
  constexpr std::array<int64_t, 6> kTokensPerRow = {1, 1, 1, 3, 4, 128};
  constexpr std::array<DType, 14> kCodecs = {
      DType::kF32,  DType::kF16,  DType::kBF16, DType::kF8E4M3, DType::kQ8_0,
      DType::kQ5_1, DType::kQ5_0, DType::kQ4_1, DType::kQ4_0,   DType::kIQ4_NL,
      DType::kLM5,  DType::kLM4,  DType::kLM3,  DType::kLM2};
  Rows rows;
  rows.name = name;
  rows.heads = 1 + choose(3);
  rows.width = 1 + choose(9);
  rows.tokens_per_row = TokenCount(kTokensPerRow[static_cast<size_t>(choose(6))]);
  rows.lifetime = RandomLifetime(choose);
  rows.codec = kCodecs[static_cast<size_t>(choose(std::ssize(kCodecs)))];
  if (InfoOf(rows.codec).block_elements > 1) rows.width = 32 * (1 + choose(2));
  if (choose(2) == 0) {
    rows.order = RowOrder::kTransposedTiles;
  }
  return rows;
}

// At most `max_layers` layers of at most three components.
template <class Choose>
StateSpec RandomStateSpec(Choose& choose, int64_t max_layers) {
  StateSpec spec;
  const int64_t layers = 1 + choose(max_layers);
  for (int64_t i = 0; i < layers; ++i) {
    LayerState state;
    const bool has_target = i > 0 && !spec.layers[0].components.empty();
    if (has_target && choose(5) == 0) {
      state.components.emplace_back(Alias{LayerIndex(0)});  // layer 0 is never an alias itself
      spec.layers.push_back(std::move(state));
      continue;
    }
    if (choose(8) != 0) state.components.emplace_back(RandomRows(choose, "keys"));
    if (choose(4) != 0) state.components.emplace_back(RandomRows(choose, "values"));
    if (choose(6) == 0) {
      Fixed fixed;
      fixed.name = "memory";
      fixed.elements = ElementCount(1 + choose(40));
      state.components.emplace_back(std::move(fixed));
    }
    spec.layers.push_back(std::move(state));
  }
  return spec;
}

}  // namespace cairn

#endif  // CAIRN_SPEC_STATE_SPEC_FOR_TESTS_H_
