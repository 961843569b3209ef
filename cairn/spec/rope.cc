#include "cairn/spec/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// float32 in the same order as transformers' modeling_rope_utils, so that angles at far positions
// agree with models checked there: one ulp of a frequency is a turn of 0.01 at position 100,000.
float InverseFrequency(const Rope& rope, size_t pair) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(rope.width);
  return std::pow(static_cast<float>(rope.base), exponent);
}

struct Scaler {
  const Rope& rope;
  int64_t context;
  std::vector<float>& frequencies;

  void operator()(std::monostate) const {}

  void operator()(const RopeLinear& linear) const {
    for (float& f : frequencies) f /= static_cast<float>(linear.factor);
  }

  void operator()(const RopeLlama3& llama3) const {
    const auto original = static_cast<float>(llama3.original_context);
    const auto factor = static_cast<float>(llama3.factor);
    const auto low = static_cast<float>(llama3.low_frequency_factor);
    const auto high = static_cast<float>(llama3.high_frequency_factor);
    for (float& f : frequencies) {
      const float wavelength = 2 * std::numbers::pi_v<float> / f;
      if (wavelength < original / high) continue;
      if (wavelength > original / low) {
        f /= factor;
        continue;
      }
      const float smooth = (original / wavelength - low) / (high - low);
      f = (1 - smooth) * f / factor + smooth * f;
    }
  }

  void operator()(const RopeYarn& yarn) const {
    const auto width = static_cast<double>(rope.width);
    // The pair that makes `rotations` turns within the original context.
    const auto pair_of = [&](double rotations) {
      return width * std::log(yarn.original_context / (rotations * 2 * std::numbers::pi)) /
             (2 * std::log(rope.base));
    };
    double low = pair_of(yarn.beta_fast);
    double high = pair_of(yarn.beta_slow);
    if (yarn.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, width - 1);
    if (low == high) high += 0.001;
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const float ramp = std::clamp(
          (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0f,
          1.0f);
      const float slow = 1 / (static_cast<float>(yarn.factor) * InverseFrequency(rope, i));
      frequencies[i] = slow * ramp + frequencies[i] * (1 - ramp);
    }
  }

  void operator()(const RopeDivisors& divisors) const { Divide(divisors.divisors); }

  // 1 / (divisor * base^..), as transformers rounds it.
  void operator()(const RopeLong& scaling) const {
    const bool passes = static_cast<double>(context) > scaling.original_context;
    const std::vector<float>& divisors = passes ? scaling.long_divisors : scaling.short_divisors;
    CAIRN_CHECK(divisors.size() == frequencies.size());
    for (size_t i = 0; i < frequencies.size(); ++i) {
      frequencies[i] = 1 / (divisors[i] * InverseFrequency(rope, i));
    }
  }

  void Divide(const std::vector<float>& divisors) const {
    CAIRN_CHECK(divisors.size() == frequencies.size());
    for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= divisors[i];
  }

  void operator()(const RopeProportional& proportional) const {
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const bool turns = static_cast<int64_t>(i) < proportional.turning_pairs;
      frequencies[i] = turns ? frequencies[i] / static_cast<float>(proportional.factor) : 0.0f;
    }
  }
};

}  // namespace

std::vector<float> RopeFrequencies(const Rope& rope, int64_t context) {
  CAIRN_CHECK(rope.width > 0 && rope.width % 2 == 0);
  std::vector<float> frequencies(static_cast<size_t>(rope.width / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] = 1 / InverseFrequency(rope, i);
  std::visit(Scaler{rope, context, frequencies}, rope.scaling);
  return frequencies;
}

float RopeAmplitude(const Rope& rope) {
  if (const auto* yarn = std::get_if<RopeYarn>(&rope.scaling)) {
    return static_cast<float>(yarn->attention_factor);
  }
  const auto* scaling = std::get_if<RopeLong>(&rope.scaling);
  return scaling == nullptr ? 1.0f : static_cast<float>(scaling->attention_factor);
}

}  // namespace cairn
