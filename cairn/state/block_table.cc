#include "cairn/state/block_table.h"

#include <utility>

#include "cairn/base/check.h"

namespace cairn {

const BlockRef& BlockTable::At(int64_t logical) const {
  CAIRN_CHECK(logical >= first() && logical < end());
  return refs_[static_cast<size_t>(logical - first_)];
}

void BlockTable::Reserve(size_t blocks) {
  refs_.reserve(blocks);
  blocks_.reserve(blocks);
}

void BlockTable::Append(BlockRef block) {
  blocks_.push_back(block.data());
  refs_.push_back(std::move(block));
}

void BlockTable::Replace(int64_t logical, BlockRef block) {
  CAIRN_CHECK(logical >= first() && logical < end());
  const auto index = static_cast<size_t>(logical - first_);
  blocks_[index] = block.data();
  refs_[index] = std::move(block);
}

void BlockTable::KeepOnly(BlockRange range) {
  if (range.first == range.end) {
    refs_.clear();
    blocks_.clear();
    first_ = range.first;
    return;
  }
  CAIRN_CHECK(range.first >= first() && range.first < range.end && range.end <= end());
  const int64_t tail = range.end - first_;
  const int64_t head = range.first - first_;
  refs_.erase(refs_.begin() + tail, refs_.end());
  blocks_.erase(blocks_.begin() + tail, blocks_.end());
  refs_.erase(refs_.begin(), refs_.begin() + head);
  blocks_.erase(blocks_.begin(), blocks_.begin() + head);
  first_ = range.first;
}

BlockTable BlockTable::Share() const {
  BlockTable copy;
  copy.first_ = first_;
  copy.Reserve(refs_.capacity());
  for (const BlockRef& ref : refs_) copy.Append(ref.Share());
  return copy;
}

BlockTable BlockTable::Share(BlockRange range) const {
  BlockTable copy;
  copy.first_ = range.first;
  if (range.first == range.end) return copy;
  CAIRN_CHECK(range.first >= first() && range.first < range.end && range.end <= end());
  copy.Reserve(static_cast<size_t>(range.count().value()));
  for (int64_t b = range.first; b < range.end; ++b) copy.Append(At(b).Share());
  return copy;
}

}  // namespace cairn
