#include "cairn/state/arena.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {

BlockRef::~BlockRef() {
  if (arena_ != nullptr) arena_->Drop(class_, id_);
}

std::byte* BlockRef::data() const { return arena_->pool(class_).Data(id_); }

bool BlockRef::shared() const { return arena_->pool(class_).References(id_) > 1; }

BlockRef BlockRef::Share() const {
  CAIRN_CHECK(has_block());
  arena_->PoolAt(class_).Share(id_);
  return BlockRef(arena_, class_, id_);
}

void ByteAccount::Trim() {
  for (Arena* arena : arenas_) {
    if (live_ + warm_ <= budget_) return;
    const Bytes others = warm_ - arena->stats_.warm;
    arena->CoolUntilWarmIsAtMost(std::max(budget_ - live_ - others, Bytes(0)));
  }
}

void ByteAccount::Audit() const {
  Bytes live, warm;
  for (const Arena* arena : arenas_) {
    live += arena->stats_.live;
    warm += arena->stats_.warm;
  }
  CAIRN_CHECK(live == live_ && warm == warm_);
  CAIRN_CHECK(live + warm <= budget_);
}

Arena::Arena(std::vector<BlockPool> pools, Bytes budget, ByteAccount* account)
    : pools_(std::move(pools)), stats_{.budget = budget}, account_(account) {
  if (account_ != nullptr) account_->arenas_.push_back(this);
}

Arena::~Arena() {
  if (account_ == nullptr) return;
  account_->live_ -= stats_.live;
  account_->warm_ -= stats_.warm;
  std::erase(account_->arenas_, this);
}

void Arena::AddLive(Bytes bytes) {
  stats_.live += bytes;
  stats_.live_max = std::max(stats_.live_max, stats_.live);
  if (account_ != nullptr) account_->live_ += bytes;
}

void Arena::AddWarm(Bytes bytes) {
  stats_.warm += bytes;
  if (account_ != nullptr) account_->warm_ += bytes;
}

Result<std::unique_ptr<Arena>> Arena::Make(std::span<const Bytes> block_bytes, Bytes budget,
                                           ByteAccount* account) {
  if (account != nullptr) budget = account->budget();
  if (budget < Bytes(0) || budget > kMaxBudget) {
    return Fail(ErrorCode::kInvalidArgument, "a state budget of {} bytes, must be between 0 and {}",
                budget.value(), kMaxBudget.value());
  }
  std::vector<BlockPool> pools;
  pools.reserve(block_bytes.size());
  for (const Bytes bytes : block_bytes) {
    CAIRN_CHECK(bytes > Bytes(0));
    CAIRN_ASSIGN(BlockPool pool,
                 BlockPool::Make(bytes, BlockCount(budget.value() / bytes.value())));
    pools.push_back(std::move(pool));
  }
  return std::make_unique<Arena>(std::move(pools), budget, account);
}

BlockPool& Arena::PoolAt(ClassIndex block_class) {
  const auto index = static_cast<size_t>(block_class.value());
  CAIRN_CHECK(index < pools_.size());
  return pools_[index];
}

const BlockPool& Arena::pool(ClassIndex block_class) const {
  const auto index = static_cast<size_t>(block_class.value());
  CAIRN_CHECK(index < pools_.size());
  return pools_[index];
}

BlockRef Arena::Allocate(ClassIndex block_class) {
  BlockPool& pool = PoolAt(block_class);
  CAIRN_CHECK(pool.block_bytes() <= available());
  if (pool.warm() > BlockCount(0)) AddWarm(Bytes(0) - pool.block_bytes());
  const BlockId id = pool.Take();
  AddLive(pool.block_bytes());
  if (account_ != nullptr) {
    account_->Trim();
  } else {
    CoolUntilWarmIsAtMost(available());
  }
  return BlockRef(this, block_class, id);
}

void Arena::Drop(ClassIndex block_class, BlockId id) {
  BlockPool& pool = PoolAt(block_class);
  const bool frees = pool.References(id) == 1;
  pool.Drop(id);
  if (!frees) return;
  AddLive(Bytes(0) - pool.block_bytes());
  AddWarm(pool.block_bytes());
  // The pool that has just freed is asked first: it is the one with more than it needs.
  while (stats_.warm > kWarmBytes && pool.warm() > BlockCount(0)) CoolOne(pool);
}

void Arena::CoolUntilWarmIsAtMost(Bytes limit) {
  for (BlockPool& pool : pools_) {
    while (stats_.warm > limit && pool.warm() > BlockCount(0)) CoolOne(pool);
  }
}

void Arena::CoolOne(BlockPool& pool) {
  pool.CoolOne();
  AddWarm(Bytes(0) - pool.block_bytes());
}

void Arena::Audit() const {
  Bytes live, warm;
  for (const BlockPool& pool : pools_) {
    pool.Audit();
    live += pool.block_bytes() * pool.live().value();
    warm += pool.block_bytes() * pool.warm().value();
  }
  CAIRN_CHECK(live == stats_.live);
  CAIRN_CHECK(warm == stats_.warm);
  CAIRN_CHECK(live + warm <= stats_.budget);
  CAIRN_CHECK(live <= stats_.live_max && stats_.live_max <= stats_.budget);
  CAIRN_CHECK(warm <= kWarmBytes);
}

}  // namespace cairn
