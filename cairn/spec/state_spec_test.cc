#include "cairn/spec/state_spec.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

// Whether the query at position i sees the key at position j, as the definitions of the masks say.
bool Sees(const Lifetime& lifetime, int64_t i, int64_t j) {
  switch (lifetime.kind) {
    case Lifetime::Kind::kAll:
      return j <= i;
    case Lifetime::Kind::kWindow:
      return i - lifetime.tokens.value() < j && j <= i;
    case Lifetime::Kind::kChunk:
      return i / lifetime.tokens.value() - j / lifetime.tokens.value() <= lifetime.chunks_before &&
             j <= i;
    case Lifetime::Kind::kFirst:
      return j < lifetime.tokens.value() && j <= i;
  }
  return false;
}

}  // namespace

TEST_CASE("a row is needed as long as some later query sees its key") {
  for (int64_t size = 1; size <= 40; ++size) {
    for (const Lifetime& lifetime :
         {Lifetime::All(), Lifetime::Window(TokenCount(size)), Lifetime::Chunk(TokenCount(size)),
          Lifetime::ChunkAndBefore(TokenCount(size), 3)}) {
      for (int64_t n = 0; n <= 130; ++n) {
        int64_t first = n;
        for (int64_t i = n; i <= n + size; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            if (Sees(lifetime, i, j)) first = std::min(first, j);
          }
        }
        REQUIRE_EQ(lifetime.FirstNeeded(TokenCount(n)), TokenCount(first));
      }
    }
  }
}

TEST_CASE("a window far larger than the sequence keeps everything") {
  const Lifetime lifetime = Lifetime::Window(TokenCount(INT64_MAX));
  CHECK_EQ(lifetime.FirstNeeded(TokenCount(1000)), TokenCount(0));
}

}  // namespace cairn
