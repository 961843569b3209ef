#include "cairn/models/key_standards.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>

#include "cairn/base/check.h"
#include "cairn/base/sha256.h"
#include "cairn/spec/rope.h"

namespace cairn {
namespace {

// Spreads below this share of the median are taken as that: dead channels exist.
constexpr double kSmallestShare = 0.05;

const Rows* StandardizedRows(const LayerState& layer) {
  for (const Component& component : layer.components) {
    const auto* rows = std::get_if<Rows>(&component);
    if (rows != nullptr && rows->transform == RowTransform::kStandardized) return rows;
  }
  return nullptr;
}

bool AreUsable(const KeyStandards::Layer& layer) {
  return std::ranges::all_of(layer.mean, [](float m) { return std::isfinite(m); }) &&
         std::ranges::all_of(layer.spread, [](float s) { return std::isfinite(s) && s > 0; });
}

// Of each channel of a head: what it shares with the channel that turns with it.
void AveragePairs(const TurningPairs& pairs, int64_t width, std::span<double> values) {
  for (size_t head = 0; head < values.size(); head += static_cast<size_t>(width)) {
    for (int64_t i = 0; i < pairs.count; ++i) {
      double& a = values[head + static_cast<size_t>(pairs.First(i))];
      double& b = values[head + static_cast<size_t>(pairs.Second(i))];
      a = b = (a + b) / 2;
    }
  }
}

std::vector<float> SpreadOf(std::span<const double> variances, std::span<const double> queries) {
  std::vector<double> spread(variances.size());
  for (size_t i = 0; i < spread.size(); ++i) {
    spread[i] = queries[i] > 0 ? std::sqrt(std::sqrt(variances[i] / queries[i])) : 0;
  }
  std::vector<double> sorted = spread;
  const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const double least = *middle > 0 ? *middle * kSmallestShare : 1;
  std::vector<float> result;
  for (const double s : spread) result.push_back(static_cast<float>(std::max(s, least)));
  return result;
}

}  // namespace

std::string KeyStandards::Digest() const {
  if (empty()) return {};
  Sha256 hash;
  for (const Layer& layer : layers) {
    hash.Update(std::as_bytes(std::span(layer.mean)));
    hash.Update(std::as_bytes(std::span(layer.spread)));
  }
  const Sha256::Digest digest = hash.Finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Status CheckStandards(const KeyStandards& standards, const ModelSpec& model,
                      const StateSpec& state) {
  for (size_t i = 0; i < state.layers.size(); ++i) {
    const Rows* rows = StandardizedRows(state.layers[i]);
    if (rows == nullptr) continue;
    const auto channels = static_cast<size_t>(rows->heads * rows->width);
    if (standards.layers.size() != model.layers.size() ||
        standards.layers[i].mean.size() != channels ||
        standards.layers[i].spread.size() != channels) {
      return Fail(ErrorCode::kInvalidArgument,
                  "keys of layer {} can't be standardised: their means and spreads are not of this "
                  "model",
                  i);
    }
    if (!AreUsable(standards.layers[i])) {
      return Fail(ErrorCode::kInvalidArgument,
                  "keys of layer {} can't be standardised: means must be finite, spreads finite "
                  "and above 0",
                  i);
    }
  }
  return {};
}

TurningPairs PairsOf(const std::optional<Rope>& rope) {
  if (!rope) return {};
  const int64_t count = rope->width / 2;
  return rope->pairs == RopePairs::kHalfSplit ? TurningPairs::HalfSplit(count)
                                              : TurningPairs::Interleaved(count);
}

KeyMeter::KeyMeter(const ModelSpec& model, TokenCount context)
    : context_(context), layers_(model.layers.size()) {}

void KeyMeter::OnKeys(const SeenKeys& seen) {
  Sums& sums = layers_[static_cast<size_t>(seen.layer.value())];
  const auto channels = static_cast<size_t>(seen.spec->kv_heads * seen.spec->key_width);
  if (sums.keys.empty()) {
    for (auto* of : {&sums.keys, &sums.squares, &sums.queries}) of->resize(channels);
    sums.pairs = PairsOf(seen.spec->rope);
    sums.width = seen.spec->key_width;
  }
  if (seen.keys != nullptr) AddKeys(seen, sums);
  AddQueries(seen, sums);
}

// Turned back: a token's keys as if it stood at position 0.
void KeyMeter::AddKeys(const SeenKeys& seen, Sums& sums) const {
  const AttentionSpec& spec = *seen.spec;
  std::vector<float> frequencies;
  float amplitude = 1;
  if (spec.rope) {
    frequencies = RopeFrequencies(*spec.rope, context_.value());
    amplitude = RopeAmplitude(*spec.rope);
  }
  const int64_t channels = spec.kv_heads * spec.key_width;
  std::vector<double> key(static_cast<size_t>(channels));
  for (int64_t t = 0; t < seen.tokens; ++t) {
    const int64_t position = seen.first_position + t;
    if (position < kSkippedTokens) continue;
    std::copy_n(seen.keys + t * channels, channels, key.begin());
    for (size_t head = 0; head < key.size(); head += static_cast<size_t>(spec.key_width)) {
      for (int64_t i = 0; i < sums.pairs.count; ++i) {
        double& a = key[head + static_cast<size_t>(sums.pairs.First(i))];
        double& b = key[head + static_cast<size_t>(sums.pairs.Second(i))];
        const double angle = static_cast<double>(position) * frequencies[static_cast<size_t>(i)];
        const double cosine = std::cos(angle) / amplitude;
        const double sine = std::sin(angle) / amplitude;
        const double turned = a * cosine + b * sine;
        b = b * cosine - a * sine;
        a = turned;
      }
    }
    for (size_t c = 0; c < key.size(); ++c) {
      sums.keys[c] += key[c];
      sums.squares[c] += key[c] * key[c];
    }
    ++sums.tokens;
  }
}

void KeyMeter::AddQueries(const SeenKeys& seen, Sums& sums) {
  const AttentionSpec& spec = *seen.spec;
  const int64_t group = spec.heads / spec.kv_heads;
  for (int64_t t = 0; t < seen.tokens; ++t) {
    for (int64_t h = 0; h < spec.heads; ++h) {
      const float* query = seen.queries + (t * spec.heads + h) * spec.key_width;
      double* to = sums.queries.data() + h / group * spec.key_width;
      for (int64_t c = 0; c < spec.key_width; ++c) to[c] += double{query[c]} * query[c];
    }
  }
  sums.query_rows += seen.tokens * group;
}

Result<KeyStandards> KeyMeter::Standards() const {
  KeyStandards standards;
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    const Sums& sums = layers_[layer];
    KeyStandards::Layer& to = standards.layers.emplace_back();
    if (sums.keys.empty()) continue;
    if (sums.tokens < kMinTokens) {
      return Fail(ErrorCode::kInvalidArgument,
                  "keys were measured over {} tokens; {} or more would be right", sums.tokens,
                  kMinTokens);
    }
    std::vector<double> variances(sums.keys.size());
    std::vector<double> queries = sums.queries;
    bool finite = true;
    for (size_t c = 0; c < sums.keys.size(); ++c) {
      const double mean = sums.keys[c] / static_cast<double>(sums.tokens);
      variances[c] =
          std::max(0.0, sums.squares[c] / static_cast<double>(sums.tokens) - mean * mean);
      queries[c] /= static_cast<double>(sums.query_rows);
      to.mean.push_back(static_cast<float>(mean));
      finite = finite && std::isfinite(variances[c]) && std::isfinite(queries[c]);
    }
    if (!finite) {
      return Fail(ErrorCode::kInvalidArgument, "keys of layer {} are not finite numbers", layer);
    }
    AveragePairs(sums.pairs, sums.width, variances);
    AveragePairs(sums.pairs, sums.width, queries);
    to.spread = SpreadOf(variances, queries);
  }
  return standards;
}

}  // namespace cairn
