// The examples that are studies of random numbers: entropy of codes, means taken out of keys, rows
// with outliers. Their draws are NumPy's, these our own, so what must agree are levels, orders and
// ratios.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cairn/kernels/quantized_block.h"
#include "cairn/kernels/state_rows.h"
#include "tests/compression_example_for_tests.h"

namespace cairn {
namespace {

double EntropyOf(const std::vector<int>& codes) {
  std::map<int, double> counts;
  for (const int code : codes) ++counts[code];
  double entropy = 0;
  for (const auto& [code, count] : counts) {
    const double share = count / static_cast<double>(codes.size());
    entropy -= share * std::log2(share);
  }
  return entropy;
}

// The codes of rows in a block codec.
std::vector<int> BlockCodesOf(DType codec, const Matrix& rows) {
  std::vector<int> codes;
  for (const std::vector<float>& row : rows) {
    const auto width = static_cast<int64_t>(row.size());
    std::vector<std::byte> tile(static_cast<size_t>(StateTileBytes(codec, width)));
    StoreRow(codec, row.data(), 1, width, 0, tile.data());
    for (int64_t b = 0; b < width / 32; ++b) {
      QuantizedBlock block;
      UnpackBlock(codec, tile.data() + b * InfoOf(codec).block_bytes, block);
      codes.insert(codes.end(), block.codes.begin(), block.codes.begin() + 32);
    }
  }
  return codes;
}

// Of Lloyd-Max rows: each row's numbers by rank.
std::vector<int> LevelsOf(DType codec, const Matrix& rows) {
  std::vector<int> codes;
  for (const std::vector<float>& row : rows) {
    const std::vector<float> back = ThroughCodec(codec, row);
    const float smallest = std::abs(*std::ranges::min_element(
        back, [](float a, float b) { return std::abs(a) < std::abs(b); }));
    for (const float x : back) codes.push_back(static_cast<int>(std::lround(100 * x / smallest)));
  }
  return codes;
}

Matrix Minus(Matrix rows, const std::vector<float>& mean) {
  for (std::vector<float>& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) row[c] -= mean[c];
  }
  return rows;
}

std::vector<float> MeanOf(const Matrix& rows) {
  std::vector<float> mean(rows[0].size());
  for (const std::vector<float>& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) mean[c] += row[c] / static_cast<float>(rows.size());
  }
  return mean;
}

}  // namespace

TEST_CASE("codes of Gaussian rows have the example's entropy: coding them again saves little") {
  const Example example = CompressionExample("20_entropy");
  Gaussians random(11);
  const Matrix rows = random.Rows(1024, 128);
  const auto expected = [&](const char* key) {
    return doctest::Approx(example.at(key).Number()).epsilon(0.01);
  };
  CHECK(EntropyOf(BlockCodesOf(DType::kQ4_0, rows)) == expected("q4_0 codes on N(0,1), bits/code"));
  CHECK(EntropyOf(BlockCodesOf(DType::kQ8_0, rows)) == expected("q8_0 codes, bits/code"));
  CHECK(EntropyOf(LevelsOf(DType::kLM4, rows)) == expected("lloyd-max 4-bit codes (exact)"));
  CHECK(EntropyOf(LevelsOf(DType::kLM3, rows)) == expected("lloyd-max 3-bit codes (exact)"));
  std::vector<int> halves[2];
  for (const std::vector<float>& row : rows) {
    for (const float x : row) {
      halves[0].push_back(HalfFromFloat(x) & 255);
      halves[1].push_back(HalfFromFloat(x) >> 8);
    }
  }
  const Example& bytes = example.at("f16 low byte / high byte bits");
  CHECK(EntropyOf(halves[0]) == doctest::Approx(bytes[0].Number()).epsilon(0.01));
  CHECK(EntropyOf(halves[1]) == doctest::Approx(bytes[1].Number()).epsilon(0.01));
}

TEST_CASE("slow channels are half as many bits as differences from an anchor token") {
  const Example theirs =
      CompressionExample("20_entropy").at("token-delta (anchor of 8) vs raw, same step 0.25");
  Gaussians random(12);
  std::vector<int> raw;
  std::vector<int> deltas;
  for (int channel = 0; channel < 8; ++channel) {
    float slow = 0;
    float anchor = 0;
    for (int t = 0; t < 1024; ++t) {
      slow += 0.2f * random();
      const float x = slow + 0.2f * random();
      if (t % 8 == 0) anchor = x;
      raw.push_back(static_cast<int>(std::lround(x / 0.25f)));
      if (t % 8 != 0) deltas.push_back(static_cast<int>(std::lround((x - anchor) / 0.25f)));
    }
  }
  CHECK(EntropyOf(deltas) == doctest::Approx(theirs[0].Number()).epsilon(0.05));
  CHECK(EntropyOf(raw) == doctest::Approx(theirs[1].Number()).epsilon(0.15));
}

TEST_CASE("taking the keys' mean out changes no weight and divides the loss as in the example") {
  const Example example = CompressionExample("14_k_smoothing");
  const double gain = 1 / std::sqrt(32.0);
  double sums[4] = {};
  constexpr int kDraws = 24;
  for (int draw = 0; draw < kDraws; ++draw) {
    Gaussians random(static_cast<uint64_t>(100 + draw));
    Matrix keys = random.Rows(64, 32);
    for (std::vector<float>& key : keys) {
      key[3] += 12;
      key[17] -= 9;
    }
    const Matrix queries = random.Rows(4, 32);
    const Matrix centred = Minus(keys, MeanOf(keys));
    const Weights exact = AttentionWeights(queries, keys, gain);
    CHECK(TotalVariation(exact, AttentionWeights(queries, centred, gain)) < 1e-5);
    const auto loss = [&](const Matrix& stored, const Matrix& read) {
      return TotalVariation(exact,
                            AttentionWeights(read, ThroughCodec(DType::kQ4_0, stored), gain));
    };
    sums[0] += loss(keys, queries) / kDraws;
    sums[1] += loss(centred, queries) / kDraws;
    sums[2] += loss(Rotated(keys, 32), Rotated(queries, 32)) / kDraws;
    sums[3] += loss(Rotated(centred, 32), Rotated(queries, 32)) / kDraws;
  }
  const char* keys[] = {"TV_q4_0_raw", "TV_q4_0_mean_subtracted", "TV_q4_0_hadamard",
                        "TV_q4_0_mean_subtracted_then_hadamard"};
  for (int i = 0; i < 4; ++i) {
    CAPTURE(keys[i]);
    CHECK(sums[i] == doctest::Approx(example.at(keys[i]).Number()).epsilon(0.35));
  }
  CHECK(sums[0] > 3 * sums[1]);
  CHECK(sums[2] > 1.5 * sums[3]);
}

namespace {

constexpr int64_t kStudyWidth = 128;

// Keys with constant and with wide channels, and queries that look at some of them.
struct Study {
  Matrix keys;
  Matrix values;
  Matrix queries;
  Weights exact;

  Study(uint64_t seed, bool outliers) {
    Gaussians random(seed);
    keys = random.Rows(768, kStudyWidth);
    if (outliers) {
      for (const size_t channel : random.Different(6, kStudyWidth)) {
        const double offset = (random.Uniform() < 0.5 ? -1 : 1) * (6 + 9 * random.Uniform());
        for (std::vector<float>& key : keys) key[channel] += static_cast<float>(offset);
      }
      for (const size_t channel : random.Different(4, kStudyWidth)) {
        for (std::vector<float>& key : keys) key[channel] *= 5;
      }
    }
    values = random.Rows(768, kStudyWidth);
    for (const size_t hot : random.Different(24, 768)) {
      for (float& x : values[hot]) x *= 4;
    }
    const std::vector<float> mean = MeanOf(keys);
    queries = random.Rows(64, kStudyWidth);
    for (std::vector<float>& query : queries) {
      const std::vector<float>& key = keys[random.Different(1, 768)[0]];
      for (size_t c = 0; c < query.size(); ++c) {
        query[c] = 0.6f * query[c] + 0.25f * (key[c] - mean[c]);
      }
    }
    exact = Read(queries, keys);
  }

  static Weights Read(const Matrix& queries, const Matrix& keys) {
    return AttentionWeights(queries, keys, 1 / std::sqrt(double{kStudyWidth}));
  }

  double KeyLoss(DType codec, const Matrix& stored, const Matrix& read) const {
    return TotalVariation(exact, Read(read, ThroughCodec(codec, stored)));
  }
  double KeyLoss(DType codec) const { return KeyLoss(codec, keys, queries); }
  double RotatedLoss(DType codec, const Matrix& stored) const {
    return KeyLoss(codec, Rotated(stored, kStudyWidth), Rotated(queries, kStudyWidth));
  }
  Matrix Centred() const { return Minus(keys, MeanOf(keys)); }

  // Relative error of weighted sums.
  double ValueLoss(const Matrix& stored) const {
    double error = 0;
    double power = 0;
    for (const std::vector<double>& weights : exact) {
      for (size_t c = 0; c < static_cast<size_t>(kStudyWidth); ++c) {
        double sum = 0;
        double off = 0;
        for (size_t k = 0; k < values.size(); ++k) {
          sum += weights[k] * values[k][c];
          off += weights[k] * (stored[k][c] - values[k][c]);
        }
        error += off * off;
        power += sum * sum;
      }
    }
    return std::sqrt(error / power);
  }
};

constexpr const char* kKeyLosses = "K: [rel. output error, TV, top-1 kept]";
constexpr const char* kValueLosses = "V: rel. output error";

using Losses = std::map<std::string, double>;

// By the example's names, averaged over draws.
Losses KeyLosses(bool outliers, int draws) {
  Losses mean;
  for (int draw = 0; draw < draws; ++draw) {
    const Study study(static_cast<uint64_t>(200 + draw), outliers);
    const Matrix centred = study.Centred();
    const Losses losses = {
        {"q8_0 (8.5b)", study.KeyLoss(DType::kQ8_0)},
        {"fp8_e4m3 scale1 (8b)", study.KeyLoss(DType::kF8E4M3)},
        {"q5_1 (6b)", study.KeyLoss(DType::kQ5_1)},
        {"q4_0 (4.5b)", study.KeyLoss(DType::kQ4_0)},
        {"iq4_nl (4.5b)", study.KeyLoss(DType::kIQ4_NL)},
        {"per-token g32 4-bit asym (5b)", study.KeyLoss(DType::kQ4_1)},
        {"hadamard128 + q4_0", study.RotatedLoss(DType::kQ4_0, study.keys)},
        {"hadamard128 + iq4_nl", study.RotatedLoss(DType::kIQ4_NL, study.keys)},
        {"mean-sub + q4_0", study.KeyLoss(DType::kQ4_0, centred, study.queries)},
        {"mean-sub + hadamard128 + q4_0", study.RotatedLoss(DType::kQ4_0, centred)},
        {"mean-sub + hadamard128 + iq4_nl", study.RotatedLoss(DType::kIQ4_NL, centred)},
        {"TQ4 norm-corrected (4.125b)", study.RotatedLoss(DType::kLM4, study.keys)},
        {"TQ3 nc (3.125b)", study.RotatedLoss(DType::kLM3, study.keys)},
        {"mean-sub + TQ4 nc", study.RotatedLoss(DType::kLM4, centred)},
        {"mean-sub + TQ3 nc", study.RotatedLoss(DType::kLM3, centred)}};
    for (const auto& [name, loss] : losses) mean[name] += loss / draws;
  }
  return mean;
}

void CheckKeyLosses(const Losses& ours, const Example& theirs, double tolerance) {
  for (const auto& [name, loss] : ours) {
    CAPTURE(name);
    CHECK(loss == doctest::Approx(theirs.at(name)[1].Number()).epsilon(tolerance));
  }
}

}  // namespace

TEST_CASE("keys with outliers lose as in the study: least with mean and rotation") {
  const Example example = CompressionExample("22_outlier_study");
  Losses losses = KeyLosses(true, 3);
  CheckKeyLosses(losses, example.at("with_outliers").at(kKeyLosses), 0.5);
  CHECK(losses["mean-sub + hadamard128 + q4_0"] < losses["hadamard128 + q4_0"]);
  CHECK(losses["hadamard128 + q4_0"] < losses["q4_0 (4.5b)"]);
  CHECK(losses["mean-sub + q4_0"] < losses["q4_0 (4.5b)"]);
  CHECK(losses["mean-sub + TQ3 nc"] < losses["TQ3 nc (3.125b)"]);
  CHECK(losses["mean-sub + TQ4 nc"] < losses["TQ4 norm-corrected (4.125b)"]);
}

TEST_CASE("keys without outliers lose as in the study: neither rotation nor mean matters") {
  const Example example = CompressionExample("22_outlier_study");
  Losses losses = KeyLosses(false, 1);
  CheckKeyLosses(losses, example.at("no_outliers").at(kKeyLosses), 0.15);
  CHECK(losses["mean-sub + q4_0"] == doctest::Approx(losses["q4_0 (4.5b)"]).epsilon(0.1));
  CHECK(losses["hadamard128 + q4_0"] == doctest::Approx(losses["q4_0 (4.5b)"]).epsilon(0.1));
}

TEST_CASE("values lose as in the study") {
  const Example theirs =
      CompressionExample("22_outlier_study").at("with_outliers").at(kValueLosses);
  const Study study(300, true);
  const std::pair<DType, const char*> forms[] = {{DType::kQ8_0, "q8_0 (8.5b)"},
                                                 {DType::kQ5_1, "q5_1 (6b)"},
                                                 {DType::kQ4_0, "q4_0 (4.5b)"},
                                                 {DType::kIQ4_NL, "iq4_nl (4.5b)"}};
  for (const auto& [codec, name] : forms) {
    CAPTURE(name);
    CHECK(study.ValueLoss(ThroughCodec(codec, study.values)) ==
          doctest::Approx(theirs.at(name).Number()).epsilon(0.15));
  }
  const std::pair<DType, const char*> rotated[] = {{DType::kLM2, "TQ2 nc (2.125b)"},
                                                   {DType::kLM3, "TQ3 nc (3.125b)"},
                                                   {DType::kLM4, "TQ4 nc (4.125b)"}};
  for (const auto& [codec, name] : rotated) {
    CAPTURE(name);
    const Matrix back =
        Rotated(ThroughCodec(codec, Rotated(study.values, kStudyWidth)), kStudyWidth);
    CHECK(study.ValueLoss(back) == doctest::Approx(theirs.at(name).Number()).epsilon(0.15));
  }
}

}  // namespace cairn
