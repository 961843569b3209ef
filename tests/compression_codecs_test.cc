// The examples of stored forms: their codes, scales, bytes and errors, by the engine's codecs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cairn/kernels/quantized_block.h"
#include "cairn/kernels/state_rows.h"
#include "tests/compression_example_for_tests.h"

namespace cairn {
namespace {

// Scales and minimums have 11 significant bits.
constexpr double kHalfRounding = 0x1p-11;

// ---- Affine codes ----

struct Affine {
  double scale = 0;
  double minimum = 0;
  std::vector<int> codes;
};

// By the definition: what no codec of the engine has so few bits or so few numbers for.
Affine AffineOf(const std::vector<double>& x, int bits) {
  const auto [lowest, highest] = std::ranges::minmax(x);
  Affine affine = {(highest - lowest) / ((1 << bits) - 1), lowest, {}};
  for (const double v : x) {
    affine.codes.push_back(
        affine.scale == 0 ? 0 : static_cast<int>(std::nearbyint((v - lowest) / affine.scale)));
  }
  return affine;
}

// A block of q4_1, which says the numbers over and over again.
Affine StoredAffineOf(const std::vector<double>& x) {
  std::vector<float> row;
  while (row.size() < 32) row.insert(row.end(), x.begin(), x.end());
  row.resize(32);
  std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(DType::kQ4_1, 32)));
  StoreRow(DType::kQ4_1, row.data(), 1, 32, 0, tile.data());
  QuantizedBlock block;
  UnpackBlock(DType::kQ4_1, tile.data(), block);
  Affine affine = {HalfToFloat(block.scale), HalfToFloat(block.minimum), {}};
  affine.codes.assign(block.codes.begin(), block.codes.begin() + static_cast<int64_t>(x.size()));
  return affine;
}

// Which numbers of the 4 x 4 share a scale.
std::vector<std::vector<size_t>> GroupsOf(const std::string& name) {
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < 16; ++i) {
    size_t group = 0;
    if (name == "per_token") group = i / 4;
    if (name == "per_channel") group = i % 4;
    if (name == "per_group_2_channels") group = i / 2;
    groups.resize(std::max(groups.size(), group + 1));
    groups[group].push_back(i);
  }
  return groups;
}

// Halves go to the even code in the examples, up in the engine, as in ggml.
void CheckCode(int ours, int theirs, double quotient) {
  CAPTURE(quotient);
  const bool is_half = std::abs(quotient - std::floor(quotient) - 0.5) < 1e-6;
  CHECK((ours == theirs || (is_half && ours == theirs + 1)));
}

void CheckAffine(const Example& example, const std::string& name, int bits) {
  CAPTURE(name);
  const Example& theirs = example.at(std::to_string(bits) + "bit_" + name);
  const std::vector<double> x = NumbersOf(example.at("x"));
  const std::vector<double> codes = NumbersOf(theirs.at("codes"));
  const std::vector<double> values = NumbersOf(theirs.at("dequant"));
  std::vector<double> scales;
  std::vector<double> minimums;
  double error = 0;
  for (const std::vector<size_t>& group : GroupsOf(name)) {
    std::vector<double> numbers;
    for (const size_t i : group) numbers.push_back(x[i]);
    const Affine affine = bits == 4 ? StoredAffineOf(numbers) : AffineOf(numbers, bits);
    scales.push_back(affine.scale);
    minimums.push_back(affine.minimum);
    for (size_t k = 0; k < group.size(); ++k) {
      const Affine exact = AffineOf(numbers, bits);
      CheckCode(affine.codes[k], static_cast<int>(codes[group[k]]),
                (numbers[k] - exact.minimum) / exact.scale);
      const double value = affine.codes[k] * affine.scale + affine.minimum;
      error += (value - numbers[k]) * (value - numbers[k]) / 16;
      if (affine.codes[k] != static_cast<int>(codes[group[k]])) continue;
      CHECK(std::abs(value - values[group[k]]) <= 16 * kHalfRounding);
    }
  }
  CheckNear(scales, theirs.at("scale"), kHalfRounding);
  CheckNear(minimums, theirs.at("min"), kHalfRounding);
  // A half has the same error either way.
  CheckNear(std::vector{error}, theirs.at("mse"), bits == 4 ? kHalfRounding : 1e-9);
}

// ---- Formats without a codec ----

// The nearest number of sign, `exponents` and `fraction` bits, ties to even.
double SmallFloat(double x, int bias, int fraction, double largest) {
  const double magnitude = std::min(std::abs(x), largest);
  const double exponent = std::max(std::floor(std::log2(std::max(magnitude, 1e-300))), 1.0 - bias);
  const double step = std::exp2(exponent - fraction);
  return std::copysign(std::min(std::nearbyint(magnitude / step) * step, largest), x);
}

constexpr double kFp4[] = {-6, -4, -3, -2, -1.5, -1, -0.5, -0.0, 0, 0.5, 1, 1.5, 2, 3, 4, 6};

// The first of the nearest among kFp4 times scale.
size_t Fp4Code(double x, double scale) {
  size_t code = 0;
  for (size_t i = 1; i < std::size(kFp4); ++i) {
    if (std::abs(kFp4[i] * scale - x) < std::abs(kFp4[code] * scale - x)) code = i;
  }
  return code;
}

double MeanSquare(const std::vector<double>& ours, const std::vector<float>& x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (ours[i] - x[i]) * (ours[i] - x[i]);
  return sum / static_cast<double>(x.size());
}

}  // namespace

TEST_CASE("affine codes per tensor, token, channel and group are the examples'") {
  const Example example = CompressionExample("01_affine");
  for (const char* name : {"per_tensor", "per_token", "per_channel", "per_group_2_channels"}) {
    CheckAffine(example, name, 4);
    CheckAffine(example, name, 2);
  }
}

TEST_CASE("KIVI's keys by channel and values by token have the example's codes, and its lengths") {
  const Example example = CompressionExample("02_kivi");
  const Matrix keys = MatrixOf(example.at("K (8 tokens x 4 ch)"));
  const Matrix values = MatrixOf(example.at("V (3 tokens x 8 ch)"));
  const auto check = [](const std::vector<double>& numbers, const Example& scale,
                        const Example& minimum, const std::vector<int>& codes) {
    const Affine affine = AffineOf(numbers, 2);
    CHECK(affine.codes == codes);
    CheckNear(std::vector{affine.scale}, scale, 1e-5);
    CheckNear(std::vector{affine.minimum}, minimum, 1e-5);
  };
  for (size_t group = 0; group < 2; ++group) {
    for (size_t c = 0; c < 4; ++c) {
      std::vector<double> numbers;
      std::vector<int> codes;
      for (size_t t = group * 4; t < group * 4 + 4; ++t) {
        numbers.push_back(keys[t][c]);
        codes.push_back(example.at("K_codes_2bit")[t][c].Int());
      }
      check(numbers, example.at("K_scale[group][ch]")[group][c],
            example.at("K_min[group][ch]")[group][c], codes);
    }
  }
  for (size_t t = 0; t < values.size(); ++t) {
    for (size_t group = 0; group < 2; ++group) {
      const auto from = values[t].begin() + static_cast<int64_t>(group) * 4;
      std::vector<int> codes;
      for (size_t c = group * 4; c < group * 4 + 4; ++c) {
        codes.push_back(example.at("V_codes_2bit")[t][c].Int());
      }
      check({from, from + 4}, example.at("V_scale[token][group]")[t][group],
            example.at("V_min[token][group]")[t][group], codes);
    }
  }
  // Keys are quantized when `residual` of them are together, values one by one behind as many.
  const auto check_lengths = [](const Example& steps, int residual) {
    for (const Example& step : steps.Parts()) {
      const int tokens = step[1].Int();
      CHECK(step[2].Int() == tokens / residual * residual);
      CHECK(step[3].Int() == tokens % residual);
      CHECK(step[4].Int() == std::max(0, tokens - residual));
      CHECK(step[5].Int() == std::min(tokens, residual));
    }
  };
  check_lengths(example.at("lengths_T0=10_R=4"), 4);
  check_lengths(example.at("lengths_paper_T0=300_R=128"), 128);
}

TEST_CASE("blocks of GGUF's formats have the example's scales and codes") {
  const Example example = CompressionExample("13_block_formats");
  const std::vector<float> x = FloatsOf(example.at("x"));
  const std::pair<DType, const char*> formats[] = {{DType::kQ8_0, "q8_0"},
                                                   {DType::kQ5_1, "q5_1"},
                                                   {DType::kQ4_0, "q4_0"},
                                                   {DType::kIQ4_NL, "iq4_nl"}};
  for (const auto& [codec, name] : formats) {
    CAPTURE(name);
    const Example& theirs = example.at(name);
    CHECK(InfoOf(codec).block_bytes * 8 == theirs.at("bits_per_element").Number() * 32);
    std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(codec, 32)));
    StoreRow(codec, x.data(), 1, 32, 0, tile.data());
    QuantizedBlock block;
    UnpackBlock(codec, tile.data(), block);
    const std::vector<double> numbers = NumbersOf(theirs.at("scale"));
    CHECK(HalfToFloat(block.scale) == doctest::Approx(numbers[0]).epsilon(1e-7));
    if (numbers.size() > 1) {
      CHECK(HalfToFloat(block.minimum) == doctest::Approx(numbers[1]).epsilon(1e-7));
    }
    const std::vector<double> codes = NumbersOf(theirs.at("codes"));
    const int zero = codec == DType::kQ8_0 ? 128 : 0;
    const std::vector<float> back = ThroughCodec(codec, x);
    const double error = MeanSquare({back.begin(), back.end()}, x);
    if (codec == DType::kIQ4_NL) {
      // The example picks codes anew by the scale fitted to them; ggml and the engine keep them.
      for (size_t i = 0; i < 32; ++i) CHECK(block.codes[i] - codes[i] == (i == 12 ? 1 : 0));
      CHECK(error == doctest::Approx(theirs.at("mse").Number()).epsilon(0.02));
      continue;
    }
    for (size_t i = 0; i < 32; ++i) CHECK(block.codes[i] - zero == static_cast<int>(codes[i]));
    CheckNear(back, theirs.at("dequant"), 1e-6);
    CHECK(error == doctest::Approx(theirs.at("mse").Number()).epsilon(1e-4));
  }
}

TEST_CASE("numbers of fp8 are the example's; of fp4, by their definition") {
  const Example example = CompressionExample("13_block_formats");
  for (const auto& [text, theirs] : example.at("fp8_e4m3_samples").Members()) {
    CHECK(ThroughCodec(DType::kF8E4M3, {std::stof(text)})[0] ==
          static_cast<float>(theirs.Number()));
  }
  for (const auto& [text, theirs] : example.at("fp8_e5m2_samples").Members()) {
    CHECK(SmallFloat(std::stod(text), 15, 2, 57344) == theirs.Number());
  }
  const std::vector<float> x = FloatsOf(example.at("x"));
  std::vector<double> back(32);
  std::vector<double> scales;
  for (size_t first = 0; first < 32; first += 16) {
    double largest = 0;
    for (size_t i = first; i < first + 16; ++i) largest = std::max<double>(largest, std::abs(x[i]));
    scales.push_back(SmallFloat(largest / 6, 7, 3, 448));
    for (size_t i = first; i < first + 16; ++i) {
      back[i] = kFp4[Fp4Code(x[i], scales.back())] * scales.back();
    }
  }
  CheckNear(scales, example.at("nvfp4").at("scale"), 1e-9);
  CheckNear(back, example.at("nvfp4").at("dequant"), 1e-7);
  CHECK(MeanSquare(back, x) ==
        doctest::Approx(example.at("nvfp4").at("mse").Number()).epsilon(1e-5));
  float largest = 0;
  for (const float v : x) largest = std::max(largest, std::abs(v));
  const double scale = std::exp2(std::ilogb(largest) - 2);
  const Example& mxfp4 = example.at("mxfp4");
  CHECK(scale == mxfp4.at("scale").Number());
  for (size_t i = 0; i < 32; ++i) {
    CHECK(Fp4Code(x[i], scale) == mxfp4.at("codes")[i].Int());
  }
}

}  // namespace cairn
