// The seed of a random test: a new one each time, or CAIRN_TEST_SEED's to see a failure again.
#ifndef CAIRN_BASE_SEED_FOR_TESTS_H_
#define CAIRN_BASE_SEED_FOR_TESTS_H_

#include <cstdint>
#include <cstdlib>

#include "cairn/base/env.h"

namespace cairn {

inline uint64_t SeedForTests() {
  const char* given = std::getenv("CAIRN_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : RandomSeed() % 1'000'000'000;
}

}  // namespace cairn

#endif  // CAIRN_BASE_SEED_FOR_TESTS_H_
