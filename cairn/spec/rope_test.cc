#include "cairn/spec/rope.h"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// Expected values are numpy's, float32 step by step in the order of transformers 5.24; powers there
// and here may differ in the last bit.
void CheckFrequencies(const Rope& rope, const std::vector<std::pair<size_t, double>>& expected) {
  const std::vector<float> frequencies = RopeFrequencies(rope);
  REQUIRE_EQ(frequencies.size(), static_cast<size_t>(rope.width / 2));
  for (const auto& [pair, value] : expected) {
    CAPTURE(pair);
    CHECK(std::abs(frequencies[pair] - value) <= 2.5e-7 * value);
  }
}

}  // namespace

TEST_CASE("frequencies fall geometrically from 1") {
  const Rope rope = {.width = 64, .base = 1e5, .scaling = {}};
  CheckFrequencies(
      rope,
      {{0, 1}, {1, 0.697830558}, {5, 0.165481701}, {17, 0.00220673415}, {31, 1.43301268e-05}});
  CHECK_EQ(RopeAmplitude(rope), 1);
}

TEST_CASE("linear scaling divides every frequency") {
  CheckFrequencies({.width = 32, .base = 1e4, .scaling = RopeLinear{4}},
                   {{0, 0.25}, {1, 0.140585333}, {7, 0.00444569858}, {15, 4.44569851e-05}});
}

TEST_CASE("llama3 scaling keeps short wavelengths, stretches long ones, ramps between") {
  const RopeLlama3 scaling = {
      .factor = 8, .low_frequency_factor = 1, .high_frequency_factor = 4, .original_context = 8192};
  CheckFrequencies({.width = 128, .base = 5e5, .scaling = scaling}, {{0, 1},
                                                                     {20, 0.0165604409},
                                                                     {28, 0.00321144611},
                                                                     {29, 0.00216657063},
                                                                     {30, 0.00137189368},
                                                                     {31, 0.00085675146},
                                                                     {33, 0.00031269365},
                                                                     {35, 9.5562129e-05},
                                                                     {36, 7.78465546e-05},
                                                                     {63, 3.06892588e-07}});
}

TEST_CASE("yarn keeps fast pairs, divides slow ones, ramps between, and has an amplitude") {
  const RopeYarn scaling = {
      .factor = 4, .original_context = 32768, .attention_factor = 1.138629436111989};
  const Rope rope = {.width = 128, .base = 1e6, .scaling = scaling};
  CheckFrequencies(rope, {{0, 1},
                          {20, 0.0133352149},
                          {24, 0.00537532149},
                          {30, 0.00106436107},
                          {36, 0.000179841183},
                          {40, 4.44569851e-05},
                          {45, 1.51074091e-05},
                          {63, 3.10234441e-07}});
  CHECK_EQ(RopeAmplitude(rope), 1.138629436111989f);
}

TEST_CASE("yarn without truncation ramps between fractional pairs") {
  const RopeYarn scaling = {.factor = 32, .original_context = 4096, .truncate = false};
  CheckFrequencies({.width = 64, .base = 150000, .scaling = scaling}, {{0, 1},
                                                                       {6, 0.107024424},
                                                                       {8, 0.05081328},
                                                                       {10, 0.0193350017},
                                                                       {12, 0.00679495931},
                                                                       {15, 0.00105260219},
                                                                       {20, 1.8188337e-05},
                                                                       {31, 3.0235114e-07}});
}

TEST_CASE("divisors of a file divide pair by pair") {
  const Rope plain = {.width = 8, .base = 1e4, .scaling = {}};
  Rope divided = plain;
  divided.scaling = RopeDivisors{{1, 2, 4, 8}};
  for (size_t i = 0; i < 4; ++i) {
    CHECK_EQ(RopeFrequencies(divided)[i], RopeFrequencies(plain)[i] / static_cast<float>(1 << i));
  }
}

}  // namespace cairn
