// Work that is independent for every token of a batch.
#ifndef CAIRN_MODELS_TOKEN_LOOP_H_
#define CAIRN_MODELS_TOKEN_LOOP_H_

#include <algorithm>
#include <cstdint>

#include "cairn/base/thread_pool.h"

namespace cairn {

// Calls body(token) for each token in [0, tokens): on the caller alone when there is little to do.
template <class Body>
void ForTokens(ThreadPool& pool, int64_t tokens, const Body& body) {
  constexpr int64_t kGroup = 8;
  if (tokens <= kGroup || pool.threads() == 1) {
    for (int64_t t = 0; t < tokens; ++t) body(t);
    return;
  }
  auto group = [&](int64_t index, int) {
    const int64_t end = std::min(tokens, (index + 1) * kGroup);
    for (int64_t t = index * kGroup; t < end; ++t) body(t);
  };
  pool.ParallelFor((tokens + kGroup - 1) / kGroup, group);
}

}  // namespace cairn

#endif  // CAIRN_MODELS_TOKEN_LOOP_H_
