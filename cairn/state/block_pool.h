// BlockPool: blocks of one size, reference counted, at fixed addresses.
//
// Every block is in one state:
//   live   one or more references
//   warm   free, its memory still committed with old bytes in it
//   cold   free, all zeros, its memory given back (but for pages that it shares with other blocks)
//   fresh  never used; the ids from used() on
// A block is zeroed when it is handed out. Take, Share and Drop allocate nothing. Not thread-safe.
#ifndef CAIRN_STATE_BLOCK_POOL_H_
#define CAIRN_STATE_BLOCK_POOL_H_

#include <cstddef>
#include <cstdint>

#include "cairn/base/address_range.h"
#include "cairn/base/ids.h"
#include "cairn/base/status.h"

namespace cairn {

class BlockPool {
 public:
  // REQUIRES block_bytes > 0 and capacity >= 0. Error: too many blocks, or no addresses for them.
  static Result<BlockPool> Make(Bytes block_bytes, BlockCount capacity);

  Bytes block_bytes() const { return block_bytes_; }
  BlockCount live() const { return live_; }
  BlockCount warm() const { return warm_; }
  BlockCount used() const { return used_; }

  // A zeroed block with one reference, warm ones first. REQUIRES live() < capacity.
  BlockId Take();
  void Share(BlockId id);
  // The block is warm when this was its last reference.
  void Drop(BlockId id);
  // Makes one warm block cold. REQUIRES warm() > 0.
  void CoolOne();

  int32_t References(BlockId id) const { return EntryAt(id).references; }
  // Starts on a 64-byte border.
  std::byte* Data(BlockId id) const { return memory_.data() + id.value() * stride_; }

  // CHECKs the counts and lists against the entries.
  void Audit() const;

 private:
  static constexpr int32_t kWarm = 0;
  static constexpr int32_t kCold = -1;
  static constexpr int32_t kNone = -1;

  struct Entry {
    int32_t references;  // or kWarm, kCold
    int32_t next;        // in the list of warm or of cold blocks
  };

  Entry& EntryAt(BlockId id) const;
  BlockId PopFree();
  bool PageIsCold(int64_t page) const;
  int64_t CountList(int32_t head, int32_t state) const;

  Bytes block_bytes_;
  int64_t stride_ = 0;  // block_bytes rounded up to 64
  BlockCount capacity_;
  BlockCount live_, warm_, used_;
  int32_t first_warm_ = kNone;
  int32_t first_cold_ = kNone;
  AddressRange memory_;
  AddressRange entries_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_BLOCK_POOL_H_
