// Entries in the order of numbers that each keeps as long as it is held, and what policies that
// need no more than such an order are made of.
#ifndef CAIRN_STATE_EVICTION_ORDER_H_
#define CAIRN_STATE_EVICTION_ORDER_H_

#include <set>
#include <string_view>

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

// A policy that ranks an entry by its facts when it is given it.
class RankingPolicy : public EvictionPolicy {
 public:
  explicit RankingPolicy(std::string_view name) : name_(name) {}

  std::string_view name() const override { return name_; }
  void Add(EvictionEntry& entry) override {
    Rank(entry);
    entries_.Add(entry);
  }
  void Remove(EvictionEntry& entry) override { entries_.Remove(entry); }
  EvictionEntry* Victim() override { return entries_.First(); }

 private:
  // Sets priority and order.
  virtual void Rank(EvictionEntry& entry) const = 0;

  const std::string_view name_;
  EvictionOrder entries_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_EVICTION_ORDER_H_
