#include "cairn/state/eviction_order.h"
#include "cairn/state/eviction_policies.h"

namespace cairn {
namespace {

class LeastFrequentlyUsed : public RankingPolicy {
 public:
  LeastFrequentlyUsed() : RankingPolicy("lfu") {}

 private:
  void Rank(EvictionEntry& entry) const override {
    entry.priority = static_cast<double>(entry.uses);
    entry.order = entry.last_use_us;
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeLeastFrequentlyUsed() {
  return std::make_unique<LeastFrequentlyUsed>();
}

}  // namespace cairn
