#include "cairn/state/eviction_order.h"
#include "cairn/state/eviction_policies.h"

namespace cairn {
namespace {

class LeastRecentlyUsed : public RankingPolicy {
 public:
  LeastRecentlyUsed() : RankingPolicy("lru") {}

 private:
  void Rank(EvictionEntry& entry) const override {
    entry.priority = static_cast<double>(entry.last_use_us);
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeLeastRecentlyUsed() {
  return std::make_unique<LeastRecentlyUsed>();
}

}  // namespace cairn
