#include "cairn/engine/state_needs.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {

StateNeeds::StateNeeds(const StateLayout& layout, TokenCount context) : layout_(layout) {
  // Where windows slide, the most is held at some point on the way, not at the end.
  Bytes most;
  for (int64_t from = 0; from + kRowsPerBlock <= context.value(); from += kRowsPerBlock) {
    most = std::max(most,
                    layout.AllocatedBytesWhileAdding(TokenCount(from), TokenCount(kRowsPerBlock)));
    alone_.push_back(most);
  }
}

Bytes StateNeeds::Alone(TokenCount tokens) const {
  const int64_t blocks = tokens.value() / kRowsPerBlock;
  CAIRN_CHECK(tokens.value() >= 0 && blocks <= static_cast<int64_t>(alone_.size()));
  const Bytes before = blocks == 0 ? Bytes(0) : alone_[static_cast<size_t>(blocks - 1)];
  const TokenCount from(blocks * kRowsPerBlock);
  return std::max(before, layout_.AllocatedBytesWhileAdding(from, tokens - from));
}

Bytes StateNeeds::Rows(TokenCount tokens) const {
  Bytes bytes;
  for (size_t i = 0; i < layout_.classes().size(); ++i) {
    const BlockClass& block_class = layout_.classes()[i];
    if (!block_class.KeepsAll()) continue;
    const BlockRange held = layout_.BlocksHeld(ClassIndex(static_cast<int32_t>(i)), tokens);
    bytes += block_class.block_bytes * held.count().value();
  }
  return bytes;
}

Bytes StateNeeds::Point(TokenCount tokens) const {
  return layout_.AllocatedBytes(tokens) - Rows(tokens);
}

}  // namespace cairn
