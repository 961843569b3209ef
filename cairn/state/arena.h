// Arena: all state memory of a process, one budget of bytes over blocks of several sizes.
//
// Invariants:
//   1. live bytes are the sum of the sizes of live blocks, to the byte, and at most the budget
//   2. live and warm bytes together are at most the budget: memory that free blocks still hold is
//      given back before another class would pass it
//   3. free memory above kWarmBytes goes back to the system at once
// Arenas of several models may share a ByteAccount: then what is said of the budget holds for all
// of them together, too. Not thread-safe: one thread, the engine's core, owns the state. Must
// outlive its BlockRefs.
#ifndef CAIRN_STATE_ARENA_H_
#define CAIRN_STATE_ARENA_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/block_pool.h"

namespace cairn {

class Arena;

// A budget that several arenas use up. Must outlive them; the same thread's.
class ByteAccount {
 public:
  explicit ByteAccount(Bytes budget) : budget_(budget) {}
  ByteAccount(const ByteAccount&) = delete;
  ByteAccount& operator=(const ByteAccount&) = delete;

  Bytes budget() const { return budget_; }
  Bytes live() const { return live_; }
  Bytes available() const { return budget_ - live_; }
  // CHECKs that the arenas' bytes add up.
  void Audit() const;

 private:
  friend class Arena;
  // Free memory that arenas still hold is given back until all of them fit.
  void Trim();

  const Bytes budget_;
  Bytes live_, warm_;
  std::vector<Arena*> arenas_;
};

// One reference to a block; dropping the last one frees the block.
class BlockRef {
 public:
  BlockRef() = default;
  ~BlockRef();
  BlockRef(BlockRef&& other) noexcept { swap(other); }
  BlockRef& operator=(BlockRef&& other) noexcept {
    swap(other);
    return *this;
  }

  bool has_block() const { return arena_ != nullptr; }
  BlockId id() const { return id_; }
  ClassIndex block_class() const { return class_; }
  // Starts on a 64-byte border.
  std::byte* data() const;
  // Whether others refer to the block too; then nobody may write to it.
  bool shared() const;
  // Another reference to the same block.
  BlockRef Share() const;

 private:
  friend class Arena;
  BlockRef(Arena* arena, ClassIndex block_class, BlockId id)
      : arena_(arena), class_(block_class), id_(id) {}
  void swap(BlockRef& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(class_, other.class_);
    std::swap(id_, other.id_);
  }

  Arena* arena_ = nullptr;
  ClassIndex class_;
  BlockId id_;
};

class Arena {
 public:
  // Free memory that is kept for the next blocks: a window that slides by a block in every
  // sequence of a batch must not go to the system each time.
  static constexpr Bytes kWarmBytes{int64_t{32} << 20};
  static constexpr Bytes kMaxBudget{int64_t{1} << 46};

  struct Stats {
    Bytes budget;
    Bytes live{0};
    Bytes live_max{0};  // highest so far
    Bytes warm{0};      // of free blocks whose memory is still committed
  };

  // The size of a block of each class. REQUIRES each is positive. With an account its budget
  // counts, `budget` is ignored.
  static Result<std::unique_ptr<Arena>> Make(std::span<const Bytes> block_bytes, Bytes budget,
                                             ByteAccount* account = nullptr);

  // Made by Make.
  Arena(std::vector<BlockPool> pools, Bytes budget, ByteAccount* account);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Bytes available() const {
    return account_ != nullptr ? account_->available() : stats_.budget - stats_.live;
  }
  const Stats& stats() const { return stats_; }
  int class_count() const { return static_cast<int>(pools_.size()); }
  const BlockPool& pool(ClassIndex block_class) const;

  // A zeroed block. REQUIRES its size is at most available(). Allocates nothing from the heap.
  BlockRef Allocate(ClassIndex block_class);

  // CHECKs the invariants and those of the pools.
  void Audit() const;

 private:
  friend class BlockRef;
  friend class ByteAccount;

  void AddLive(Bytes bytes);
  void AddWarm(Bytes bytes);
  BlockPool& PoolAt(ClassIndex block_class);
  void Drop(ClassIndex block_class, BlockId id);
  void CoolUntilWarmIsAtMost(Bytes limit);
  void CoolOne(BlockPool& pool);

  std::vector<BlockPool> pools_;
  Stats stats_;
  ByteAccount* const account_;  // may be null
};

}  // namespace cairn

#endif  // CAIRN_STATE_ARENA_H_
