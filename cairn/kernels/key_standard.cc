#include "cairn/kernels/key_standard.h"

#include <bit>
#include <cmath>

#include "cairn/kernels/attention_bf16.h"
#include "cairn/kernels/hadamard.h"

namespace cairn {
namespace {

// To the nearest bf16, ties to even; for finite numbers.
uint32_t Bf16Bits(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

uint32_t PackPair(float even, float odd) { return Bf16Bits(even) | (Bf16Bits(odd) << 16); }

// The mean of one head at a position, turned; `sign` times it is added to the key.
void AddTurnedMean(const KeyStandard& standard, int64_t position, const float* mean, int64_t width,
                   float sign, float* key) {
  const TurningPairs& pairs = standard.pairs;
  for (int64_t c = 2 * pairs.count; c < width; ++c) key[c] += sign * mean[c];
  if (pairs.count == 0) return;
  const int64_t tile = position / kTileKeys;
  const float* tile_cosines = standard.tile_cosines + tile * pairs.count;
  const float* tile_sines = standard.tile_sines + tile * pairs.count;
  const float* cosines = standard.turns->Cosines(position % kTileKeys);
  const float* sines = standard.turns->Sines(position % kTileKeys);
  for (int64_t i = 0; i < pairs.count; ++i) {
    const float cosine = tile_cosines[i] * cosines[i] - tile_sines[i] * sines[i];
    const float sine = tile_sines[i] * cosines[i] + tile_cosines[i] * sines[i];
    const float a = mean[pairs.First(i)];
    const float b = mean[pairs.Second(i)];
    key[pairs.First(i)] += sign * (a * cosine - b * sine);
    key[pairs.Second(i)] += sign * (a * sine + b * cosine);
  }
}

}  // namespace

TileTurns::TileTurns(std::span<const float> frequencies)
    : pairs_(static_cast<int64_t>(frequencies.size())) {
  words_.Reserve(static_cast<size_t>(kTileKeys * pairs_) * sizeof(uint32_t));
  for (int64_t key = 0; key < kTileKeys; ++key) {
    for (int64_t i = 0; i < pairs_; ++i) {
      const double angle = static_cast<double>(key) * frequencies[static_cast<size_t>(i)];
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
      const int64_t group = key / kTileRows;
      words_.As<uint32_t>()[(group * pairs_ + i) * kTileRows + key % kTileRows] =
          PackPair(cosines_.back(), sines_.back());
    }
  }
}

TilePointers TileTurns::Tile() const {
  TilePointers tile;
  for (size_t g = 0; g < kTileGroups; ++g) {
    tile.groups[g] = reinterpret_cast<const std::byte*>(
        words_.As<uint32_t>() + static_cast<int64_t>(g) * pairs_ * kTileRows);
  }
  tile.end = kTileGroups;
  return tile;
}

void StandardizeKeys(const KeyStandard& standard, int64_t position, int64_t heads, int64_t width,
                     float* keys) {
  for (int64_t h = 0; h < heads; ++h) {
    float* key = keys + h * width;
    AddTurnedMean(standard, position, standard.mean + h * width, width, -1, key);
    for (int64_t c = 0; c < width; ++c) key[c] /= standard.spread[h * width + c];
  }
  RotateHeads(keys, heads, width);
}

void RestoreKeys(const KeyStandard& standard, int64_t position, int64_t heads, int64_t width,
                 float* keys) {
  RotateHeads(keys, heads, width);
  for (int64_t h = 0; h < heads; ++h) {
    float* key = keys + h * width;
    for (int64_t c = 0; c < width; ++c) key[c] *= standard.spread[h * width + c];
    AddTurnedMean(standard, position, standard.mean + h * width, width, 1, key);
  }
}

void StandardizeQuery(const KeyStandard& standard, int64_t head, int64_t width, float* query,
                      MeanTerm& term) {
  const float* mean = standard.mean + head * width;
  const float* spread = standard.spread + head * width;
  const TurningPairs& pairs = standard.pairs;
  for (int64_t i = 0; i < pairs.count; ++i) {
    const float qa = query[pairs.First(i)];
    const float qb = query[pairs.Second(i)];
    const float a = mean[pairs.First(i)];
    const float b = mean[pairs.Second(i)];
    term.cosines[i] = qa * a + qb * b;
    term.sines[i] = qb * a - qa * b;
  }
  term.constant = 0;
  for (int64_t c = 2 * pairs.count; c < width; ++c) term.constant += query[c] * mean[c];
  for (int64_t c = 0; c < width; ++c) query[c] *= spread[c];
  RotateHeads(query, 1, width);
}

void AddMeanScores(const KeyStandard& standard, int64_t tile, std::span<const MeanTerm> terms,
                   uint32_t* words, float* parts, float* scores) {
  const int64_t pairs = standard.pairs.count;
  const auto rows = static_cast<int64_t>(terms.size());
  if (pairs > 0) {
    const float* cosines = standard.tile_cosines + tile * pairs;
    const float* sines = standard.tile_sines + tile * pairs;
    for (int64_t r = 0; r < rows; ++r) {
      const MeanTerm& term = terms[static_cast<size_t>(r)];
      for (int64_t i = 0; i < pairs; ++i) {
        const float even = term.cosines[i] * cosines[i] + term.sines[i] * sines[i];
        const float odd = term.sines[i] * cosines[i] - term.cosines[i] * sines[i];
        words[r * pairs + i] = PackPair(even, odd);
      }
    }
    Bf16TileScores(standard.turns->Tile(), words, rows, 2 * pairs, parts);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float constant = terms[static_cast<size_t>(r)].constant;
    float* to = scores + r * kTileKeys;
    for (int k = 0; k < kTileKeys; ++k) {
      to[k] += pairs > 0 ? parts[r * kTileKeys + k] + constant : constant;
    }
  }
}

}  // namespace cairn
