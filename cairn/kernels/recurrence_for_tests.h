// What tests of recurrences share: random inputs, and the demand that a kernel gives its
// reference's bits on every instruction set and for every split of a run into calls.
#ifndef CAIRN_KERNELS_RECURRENCE_FOR_TESTS_H_
#define CAIRN_KERNELS_RECURRENCE_FOR_TESTS_H_

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cairn/kernels/targets.h"
#include "cairn/kernels/targets_for_tests.h"
#include "cairn/kernels/token_rows.h"
#include "hwy/targets.h"

namespace cairn {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline Floats Normal(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  Floats values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random);
  return values;
}

inline Floats Uniform(int64_t count, uint32_t seed, float low, float high) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  Floats values(static_cast<size_t>(count));
  for (float& v : values) v = uniform(random);
  return values;
}

inline bool SameBits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Calls body() with every instruction set that is built here and runs on this machine.
template <class Body>
void OnEachTarget(const Body& body) {
  for (const int64_t target : TargetsForTests()) {
    hwy::SetSupportedTargetsForTest(target);
    CAPTURE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

inline TokenRows From(TokenRows rows, int64_t token) {
  return {.first = rows.first == nullptr ? nullptr : rows.Row(token), .stride = rows.stride};
}
inline MutableTokenRows From(MutableTokenRows rows, int64_t token) {
  return {.first = rows.Row(token), .stride = rows.stride};
}

// `walk(kernel, chunk)` runs all tokens in calls of `chunk` and returns outputs and final state.
// Requires the bits of the reference's one call everywhere, and returns them.
template <class Walk, class Kernel>
Floats CheckEqualsReference(const Walk& walk, Kernel kernel, Kernel reference, int64_t tokens) {
  const Floats expected = walk(reference, tokens);
  OnEachTarget([&] {
    for (const int64_t chunk : {int64_t{1}, int64_t{7}, int64_t{16}, tokens}) {
      CAPTURE(chunk);
      CHECK(SameBits(walk(kernel, chunk), expected));
    }
  });
  return expected;
}

// Calls call(first_token, tokens) for consecutive runs of up to `chunk` tokens.
template <class Call>
void InChunks(int64_t tokens, int64_t chunk, const Call& call) {
  for (int64_t t = 0; t < tokens; t += chunk) call(t, std::min(chunk, tokens - t));
}

inline Floats Joined(Floats a, const Floats& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Largest difference, relative to 1 and the expected value.
inline double Distance(const Floats& got, const Doubles& expected) {
  REQUIRE(got.size() == expected.size());
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(static_cast<double>(got[i]) - expected[i]);
    most = std::max(most, std::isnan(off) ? HUGE_VAL : off / (1 + std::abs(expected[i])));
  }
  return most;
}

// Scales each row of `width` to length 1.
inline void NormalizeRows(Floats& x, int64_t width) {
  for (size_t first = 0; first < x.size(); first += static_cast<size_t>(width)) {
    double sum = 1e-6;
    for (int64_t i = 0; i < width; ++i) sum += std::pow(x[first + static_cast<size_t>(i)], 2);
    for (int64_t i = 0; i < width; ++i) {
      float& v = x[first + static_cast<size_t>(i)];
      v = static_cast<float>(v / std::sqrt(sum));
    }
  }
}

}  // namespace cairn

#endif  // CAIRN_KERNELS_RECURRENCE_FOR_TESTS_H_
