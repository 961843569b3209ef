// RandomStream: seeded random numbers that are the same on every machine and library.
//
// For texts that must not change: what a seed made once it makes again. Thread-compatible.
#ifndef CAIRN_EVAL_RANDOM_STREAM_H_
#define CAIRN_EVAL_RANDOM_STREAM_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "cairn/base/check.h"

namespace cairn {

class RandomStream {
 public:
  // Streams of different purposes are independent of each other.
  RandomStream(uint64_t seed, std::string_view purpose, int64_t index = 0) : state_(seed) {
    for (const char letter : purpose) Mix(static_cast<unsigned char>(letter));
    Mix(static_cast<uint64_t>(index));
  }

  // SplitMix64 (Steele, Lea and Flood).
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, end); the bias of the remainder is below 2^-40 for what texts need.
  int64_t Below(int64_t end) {
    CAIRN_CHECK(end > 0 && end < (int64_t{1} << 24));
    return static_cast<int64_t>(Next() % static_cast<uint64_t>(end));
  }
  template <class T>
  const T& Pick(std::span<const T> from) {
    return from[static_cast<size_t>(Below(static_cast<int64_t>(from.size())))];
  }

 private:
  void Mix(uint64_t value) {
    state_ ^= value;
    state_ = Next();
  }

  uint64_t state_;
};

}  // namespace cairn

#endif  // CAIRN_EVAL_RANDOM_STREAM_H_
