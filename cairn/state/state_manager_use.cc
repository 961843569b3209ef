// What a StateManager's bytes are for.
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/state_manager.h"

namespace cairn {
namespace {

// The blocks met so far.
class Census {
 public:
  explicit Census(const StateLayout& layout)
      : layout_(layout), seen_(layout.classes().size() + 1) {}  // the last: Fixed regions

  // The block's bytes, if it is new.
  Bytes Meet(const BlockRef& block) {
    const auto block_class = static_cast<size_t>(block.block_class().value());
    const auto id = static_cast<size_t>(block.id().value());
    std::vector<bool>& seen = seen_[block_class];
    if (seen.size() <= id) seen.resize(id + 1);
    if (seen[id]) return Bytes(0);
    seen[id] = true;
    return block_class < layout_.classes().size() ? layout_.classes()[block_class].block_bytes
                                                  : layout_.fixed_bytes();
  }

 private:
  const StateLayout& layout_;
  std::vector<std::vector<bool>> seen_;
};

}  // namespace

std::optional<StateManager::Use> StateManager::UseOfBytes(BlockCount max_blocks) const {
  const StateLayout& layout = store_.layout();
  BlockCount blocks(0);
  for (size_t c = 0; c < layout.classes().size(); ++c) {
    blocks += store_.LiveBlocks(ClassIndex(static_cast<int32_t>(c)));
  }
  if (blocks > max_blocks) return std::nullopt;
  Use use;
  Census census(layout);
  tree_->ForEachRef([&](PrefixTree::Part part, const BlockRef& block) {
    Bytes& to = part == PrefixTree::Part::kPinned       ? use.pinned
                : part == PrefixTree::Part::kLockedRows ? use.in_use
                : part == PrefixTree::Part::kRows       ? use.kept
                                                        : use.snapshots;
    to += census.Meet(block);
  });
  writer_.ForEachRef([&](const BlockRef& block) { use.waiting += census.Meet(block); });
  use.running =
      store_.LiveBytes() - use.pinned - use.in_use - use.kept - use.snapshots - use.waiting;
  return use;
}

StateManager::PinUse StateManager::UseOf(PinId id) const {
  const auto found = pins_.find(id);
  CAIRN_CHECK(found != pins_.end());
  PinUse use{.tokens = found->second.tokens, .bytes = {}, .alone = {}};
  Census census(store_.layout());
  tree_->ForEachRefOf(found->second.lock, [&](bool shared, const BlockRef& block) {
    const Bytes bytes = census.Meet(block);
    use.bytes += bytes;
    if (!shared) use.alone += bytes;
  });
  return use;
}

Bytes StateManager::PinnedBytes() const {
  Bytes bytes;
  Census census(store_.layout());
  tree_->ForEachPinnedRef([&](const BlockRef& block) { bytes += census.Meet(block); });
  return bytes;
}

}  // namespace cairn
