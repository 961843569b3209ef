// Rotary position embedding: which channel pairs turn, and how fast.
//
// A pair with frequency f at position p turns by the angle p * f. Plain data and pure functions.
#ifndef CAIRN_SPEC_ROPE_H_
#define CAIRN_SPEC_ROPE_H_

#include <cstdint>
#include <variant>
#include <vector>

namespace cairn {

enum class RopePairs : uint8_t {
  kHalfSplit,    // channel i turns with i + width / 2
  kInterleaved,  // channel 2i turns with 2i + 1
};

struct RopeLinear {
  double factor = 1;

  bool operator==(const RopeLinear&) const = default;
};
// "llama3": long wavelengths are stretched by `factor`, short ones kept, a ramp between.
struct RopeLlama3 {
  double factor = 1;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  double original_context = 8192;

  bool operator==(const RopeLlama3&) const = default;
};
// YaRN (arXiv:2309.00071), with the attention factor on cos and sin.
struct RopeYarn {
  double factor = 1;
  double original_context = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  double attention_factor = 1;
  bool truncate = true;

  bool operator==(const RopeYarn&) const = default;
};
// Divisors of each frequency, from a file (GGUF rope_freqs.weight).
struct RopeDivisors {
  std::vector<float> divisors;  // width / 2

  bool operator==(const RopeDivisors&) const = default;
};

// "longrope": one list of divisors for sequences within the original context, another for those
// that may pass it, at all of their positions. Which one holds is decided once, by the longest
// sequence that will be run: rows that are kept don't change their rotation.
struct RopeLong {
  std::vector<float> short_divisors;  // width / 2
  std::vector<float> long_divisors;
  double original_context = 0;
  double attention_factor = 1;

  bool operator==(const RopeLong&) const = default;
};
// Gemma 4: only the first pairs turn, as fast as they would if all did, `factor` times slower.
struct RopeProportional {
  double factor = 1;
  int64_t turning_pairs = 0;

  bool operator==(const RopeProportional&) const = default;
};

using RopeScaling = std::variant<std::monostate, RopeLinear, RopeLlama3, RopeYarn, RopeDivisors,
                                 RopeLong, RopeProportional>;

struct Rope {
  RopePairs pairs = RopePairs::kHalfSplit;
  int64_t width = 0;  // leading channels of a head that turn; the rest stay
  double base = 10000;
  RopeScaling scaling;

  bool operator==(const Rope&) const = default;
};

// width / 2 frequencies in radians per position, for sequences of up to `context` tokens (0: within
// the original context of a scaling that asks for it).
std::vector<float> RopeFrequencies(const Rope& rope, int64_t context = 0);

// Factor on cos and sin: 1 unless the scaling has one.
float RopeAmplitude(const Rope& rope);

}  // namespace cairn

#endif  // CAIRN_SPEC_ROPE_H_
