#include "cairn/state/block_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {

namespace {

constexpr int64_t kAlignment = 64;  // a cache line, and the widest SIMD vector

}  // namespace

Result<BlockPool> BlockPool::Make(Bytes block_bytes, BlockCount capacity) {
  CAIRN_CHECK(block_bytes > Bytes(0) && capacity >= BlockCount(0));
  if (capacity.value() > INT32_MAX) {
    return Fail(ErrorCode::kInvalidArgument,
                "a state budget of {} blocks of {} bytes is too many blocks, must be at most {}",
                capacity.value(), block_bytes.value(), INT32_MAX);
  }
  BlockPool pool;
  pool.block_bytes_ = block_bytes;
  pool.stride_ = (block_bytes.value() + kAlignment - 1) / kAlignment * kAlignment;
  pool.capacity_ = capacity;
  CAIRN_ASSIGN(pool.memory_, AddressRange::Reserve(Bytes(capacity.value() * pool.stride_)));
  CAIRN_ASSIGN(pool.entries_,
               AddressRange::Reserve(Bytes(capacity.value() * int64_t{sizeof(Entry)})));
  return pool;
}

BlockPool::Entry& BlockPool::EntryAt(BlockId id) const {
  CAIRN_CHECK(id.value() >= 0 && id.value() < used_.value());
  return reinterpret_cast<Entry*>(entries_.data())[id.value()];
}

BlockId BlockPool::PopFree() {
  if (first_warm_ != kNone) {
    const BlockId id(first_warm_);
    first_warm_ = EntryAt(id).next;
    warm_ -= BlockCount(1);
    std::memset(Data(id), 0, static_cast<size_t>(block_bytes_.value()));
    return id;
  }
  if (first_cold_ != kNone) {
    const BlockId id(first_cold_);
    first_cold_ = EntryAt(id).next;
    return id;
  }
  CAIRN_CHECK(used_ < capacity_);
  used_ += BlockCount(1);
  return BlockId(static_cast<int32_t>(used_.value() - 1));
}

BlockId BlockPool::Take() {
  const BlockId id = PopFree();
  EntryAt(id) = {.references = 1, .next = kNone};
  live_ += BlockCount(1);
  return id;
}

void BlockPool::Share(BlockId id) {
  Entry& entry = EntryAt(id);
  CAIRN_CHECK(entry.references > 0 && entry.references < INT32_MAX);
  ++entry.references;
}

void BlockPool::Drop(BlockId id) {
  Entry& entry = EntryAt(id);
  CAIRN_CHECK(entry.references > 0);
  if (--entry.references > 0) return;
  entry.next = std::exchange(first_warm_, id.value());
  live_ -= BlockCount(1);
  warm_ += BlockCount(1);
}

void BlockPool::CoolOne() {
  CAIRN_CHECK(first_warm_ != kNone);
  const BlockId id(first_warm_);
  Entry& entry = EntryAt(id);
  first_warm_ = entry.next;
  entry = {.references = kCold, .next = std::exchange(first_cold_, id.value())};
  warm_ -= BlockCount(1);

  // Whole pages go back; what other blocks still use of the first and last page is left alone.
  const int64_t page = AddressRange::PageBytes();
  const int64_t begin = id.value() * stride_;
  const int64_t end = begin + stride_;
  int64_t first_page = begin / page;
  int64_t end_page = (end + page - 1) / page;
  if (!PageIsCold(first_page)) {
    ++first_page;
    std::memset(memory_.data() + begin, 0,
                static_cast<size_t>(std::min(end, first_page * page) - begin));
  }
  if (first_page < end_page && !PageIsCold(end_page - 1)) {
    --end_page;
    std::memset(memory_.data() + end_page * page, 0, static_cast<size_t>(end - end_page * page));
  }
  memory_.GiveBackPages(first_page, end_page);
}

bool BlockPool::PageIsCold(int64_t page) const {
  const int64_t bytes = AddressRange::PageBytes();
  const int64_t first = page * bytes / stride_;
  const int64_t last = std::min(((page + 1) * bytes - 1) / stride_, used_.value() - 1);
  for (int64_t i = first; i <= last; ++i) {
    if (References(BlockId(static_cast<int32_t>(i))) != kCold) return false;
  }
  return true;
}

int64_t BlockPool::CountList(int32_t head, int32_t state) const {
  int64_t count = 0;
  for (int32_t i = head; i != kNone; i = EntryAt(BlockId(i)).next) {
    CAIRN_CHECK(References(BlockId(i)) == state);
    CAIRN_CHECK(++count <= used_.value());  // else the list is a ring
  }
  return count;
}

void BlockPool::Audit() const {
  CAIRN_CHECK(used_ <= capacity_);
  const int64_t warm = CountList(first_warm_, kWarm);
  const int64_t cold = CountList(first_cold_, kCold);
  int64_t live = 0;
  for (int64_t i = 0; i < used_.value(); ++i) {
    if (References(BlockId(static_cast<int32_t>(i))) > 0) ++live;
  }
  CAIRN_CHECK(live == live_.value());
  CAIRN_CHECK(warm == warm_.value());
  // A block that is in no list and has no reference would be lost.
  CAIRN_CHECK(live + warm + cold == used_.value());
}

}  // namespace cairn
