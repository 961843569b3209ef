#include "cairn/state/eviction_order.h"
#include "cairn/state/eviction_policies.h"

namespace cairn {
namespace {

class LeastFrequentlyUsed : public EvictionPolicy {
 public:
  std::string_view name() const override { return "lfu"; }
  void Add(EvictionEntry& entry) override {
    entry.priority = static_cast<double>(entry.uses);
    entry.order = entry.last_use_us;
    entries_.Add(entry);
  }
  void Remove(EvictionEntry& entry) override { entries_.Remove(entry); }
  EvictionEntry* Victim() override { return entries_.First(); }

 private:
  EvictionOrder entries_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeLeastFrequentlyUsed() {
  return std::make_unique<LeastFrequentlyUsed>();
}

}  // namespace cairn
