// Entries in the order of numbers that each keeps as long as it is held.
#ifndef CAIRN_STATE_EVICTION_ORDER_H_
#define CAIRN_STATE_EVICTION_ORDER_H_

#include <set>

#include "cairn/base/check.h"
#include "cairn/state/eviction.h"

namespace cairn {

// By priority, then by order, then as they came. O(log n).
class EvictionOrder {
 public:
  void Add(EvictionEntry& entry) {
    CAIRN_CHECK(!entry.held);
    entry.held = true;
    entry.sequence = ++added_;
    CAIRN_CHECK(entries_.insert(&entry).second);
  }
  void Remove(EvictionEntry& entry) {
    CAIRN_CHECK(entry.held && entries_.erase(&entry) == 1);
    entry.held = false;
  }
  EvictionEntry* First() const { return entries_.empty() ? nullptr : *entries_.begin(); }

 private:
  struct Before {
    bool operator()(const EvictionEntry* a, const EvictionEntry* b) const {
      if (a->priority != b->priority) return a->priority < b->priority;
      return a->order != b->order ? a->order < b->order : a->sequence < b->sequence;
    }
  };
  std::set<EvictionEntry*, Before> entries_;
  int64_t added_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STATE_EVICTION_ORDER_H_
