#include "cairn/spec/state_spec.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {

TokenCount Lifetime::FirstNeeded(TokenCount tokens_read) const {
  switch (kind) {
    case Kind::kAll:
    case Kind::kFirst:
      return TokenCount(0);
    case Kind::kWindow:
      // The next query's own key is the last of its window, so W - 1 earlier ones are left.
      return std::max(TokenCount(0), tokens_read - (tokens - TokenCount(1)));
    case Kind::kChunk:
      return std::max(
          TokenCount(0),
          tokens_read - TokenCount(tokens_read.value() % tokens.value()) - tokens * chunks_before);
  }
  CAIRN_CHECK(false);
}

}  // namespace cairn
