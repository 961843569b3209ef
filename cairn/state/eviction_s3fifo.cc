// The policy "s3fifo": S3-FIFO (Yang et al., SOSP 2023) for entries of unequal bytes.
//
// Two queues in order of arrival. New entries go to the small one, a tenth of the bytes; who was
// used there often enough moves on to the main one, who wasn't goes and is remembered for a while:
// if it comes back, it goes to the main queue at once. In the main queue an entry goes round once
// for each of its last uses. An entry keeps its place while it is locked.
//
// Remembers kMostGhosts ids. Add and Remove take O(log n), Victim O(log n) on average: each turn of
// its loop uses up something that Add or a use has put there.
#include <algorithm>
#include <array>

#include "cairn/base/check.h"
#include "cairn/state/eviction_order.h"
#include "cairn/state/eviction_policies.h"
#include "cairn/state/ghost_list.h"

namespace cairn {
namespace {

// All from the paper, but for the number of ghosts: there it is that of the main queue's entries.
constexpr int64_t kSmallShare = 10;  // one in so many bytes
constexpr int64_t kMostUses = 3;     // that are counted
constexpr int64_t kUsesToStay = 2;
constexpr size_t kMostGhosts = 4096;

class S3Fifo : public EvictionPolicy {
 public:
  S3Fifo() : ghosts_(kMostGhosts) {}

  std::string_view name() const override { return "s3fifo"; }

  void Add(EvictionEntry& entry) override {
    if (entry.order == 0) {
      entry.order = ++arrivals_;
      entry.queue = ghosts_.Take(entry.id) ? kMain : kSmall;
      entry.counted = entry.uses;
    }
    Insert(entry);
  }

  void Remove(EvictionEntry& entry) override {
    Queue& queue = queues_[static_cast<size_t>(entry.queue)];
    queue.entries.Remove(entry);
    queue.bytes -= entry.bytes;
  }

  EvictionEntry* Victim() override {
    while (true) {
      EvictionEntry* const small = queues_[kSmall].entries.First();
      EvictionEntry* const main = queues_[kMain].entries.First();
      const Bytes all = queues_[kSmall].bytes + queues_[kMain].bytes;
      const bool from_small = main == nullptr || queues_[kSmall].bytes * kSmallShare > all;
      EvictionEntry* const next = from_small && small != nullptr ? small : main;
      if (next == nullptr) return small;
      const int64_t uses = std::min(next->uses - next->counted, kMostUses);
      if (uses < (next->queue == kSmall ? kUsesToStay : 1)) return next;
      Remove(*next);
      next->counted = next->queue == kSmall ? next->uses : next->uses - (uses - 1);
      next->queue = kMain;
      next->order = ++arrivals_;
      Insert(*next);
    }
  }

  void Gone(EvictionEntry& entry, EvictionEntry* /*rest*/) override {
    if (entry.order > 0 && entry.queue == kSmall) ghosts_.Add(entry.id, {});
  }

 private:
  enum : int { kSmall, kMain };
  struct Queue {
    EvictionOrder entries;
    Bytes bytes;
  };
  struct Seen {};

  void Insert(EvictionEntry& entry) {
    Queue& queue = queues_[static_cast<size_t>(entry.queue)];
    queue.entries.Add(entry);
    queue.bytes += entry.bytes;
  }

  std::array<Queue, 2> queues_;
  GhostList<Seen> ghosts_;
  int64_t arrivals_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeS3Fifo() { return std::make_unique<S3Fifo>(); }

}  // namespace cairn
