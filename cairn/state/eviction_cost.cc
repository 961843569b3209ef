// The policy "cost": what saves the least recomputation for the bytes and the time it takes goes
// first.
//
// An entry's value is what computing it again would cost, times how soon its path is expected back
// (return_model.h), per byte. Entries of a kind that cost about the same per byte stand in one
// queue, least recently used first: a longer idle one is rarely worth more. So only the heads of
// the queues are compared. And only if the gain is clear: else it is LRU.
//
// Remembers kMostGhosts paths that are gone. Add and Remove take O(log n), Victim O(queues): at
// most one for each kind and factor of kCostStep in cost per byte that is held.
#include <algorithm>
#include <cmath>
#include <map>

#include "cairn/base/check.h"
#include "cairn/state/eviction_order.h"
#include "cairn/state/eviction_policies.h"
#include "cairn/state/ghost_list.h"
#include "cairn/state/return_model.h"

namespace cairn {
namespace {

// As many as there are watches: older ones have none.
constexpr size_t kMostGhosts = ReturnModel::kWatches;
// Of agents' requests 2.7 in a hundred don't go on where the path ended but further up (traces of
// coding agents, 49,334 requests), and then at any of the points there are.
constexpr double kSupersededWorth = 1.0 / 32;
// Going first instead of the least recently used takes a value that is lower by this factor: what
// is learned from few paths is noise.
constexpr double kClearGain = 1.2;
// Of the mean pause: the last three or so count most.
constexpr double kPauseWeight = 0.3;
// Cost per byte within a queue differs by less, in powers of two.
constexpr int kCostStepLog2 = 2;
constexpr int kMostCostSteps = 16;  // to either side; what is beyond stands with the outermost

class CostAware : public EvictionPolicy {
 public:
  CostAware() : ghosts_(kMostGhosts) {}

  std::string_view name() const override { return "cost"; }

  void Add(EvictionEntry& entry) override {
    now_us_ = std::max(now_us_, entry.last_use_us);
    entry.queue = QueueOf(entry);
    entry.priority = static_cast<double>(entry.last_use_us);
    queues_[entry.queue].Add(entry);
  }

  void Remove(EvictionEntry& entry) override {
    const auto queue = queues_.find(entry.queue);
    CAIRN_CHECK(queue != queues_.end());
    queue->second.Remove(entry);
    if (queue->second.First() == nullptr) queues_.erase(queue);
  }

  EvictionEntry* Victim() override {
    struct {
      EvictionEntry* entry = nullptr;
      double value = 0;
    } least, oldest;
    for (const auto& [key, queue] : queues_) {
      EvictionEntry* const entry = queue.First();
      const double value = ValueOf(*entry);
      if (least.entry == nullptr || value < least.value) least = {entry, value};
      if (oldest.entry == nullptr || entry->last_use_us < oldest.entry->last_use_us) {
        oldest = {entry, value};
      }
    }
    return oldest.value < least.value * kClearGain ? oldest.entry : least.entry;
  }

  void Returned(EvictionEntry& path, int64_t now_us) override {
    now_us_ = std::max(now_us_, now_us);
    EndPause(path.path);
  }

  void Kept(EvictionEntry& path, int64_t now_us) override {
    now_us_ = std::max(now_us_, now_us);
    if (const auto ghost = ghosts_.Take(path.id)) {
      const Turn turn = path.path.turn;
      path.path = *ghost;
      EndPause(path.path);
      path.path.turn = turn;
    }
    model_.Drop(path.path.watch);  // the turn goes on
    path.path.watch = model_.Watch(ReturnModel::KindOf(path.path), now_us_);
  }

  void Gone(EvictionEntry& entry, EvictionEntry* rest) override {
    PathUse& path = entry.path;
    if (path.watch < 0) return;
    if (rest != nullptr) {
      rest->path = path;
    } else {
      ghosts_.Add(entry.id, path);
    }
    path.watch = -1;
  }

 private:
  void EndPause(PathUse& path) {
    if (path.watch < 0) return;
    model_.Returned(path.watch, now_us_);
    path.watch = -1;
    const double pause_s = std::max(0.5, static_cast<double>(now_us_ - path.kept_us) * 1e-6);
    const double weight = path.has_paused ? kPauseWeight : 1;
    path.log2_pause_s += weight * (std::log2(pause_s) - path.log2_pause_s);
    path.has_paused = true;
  }

  static double CostPerByte(const EvictionEntry& entry) {
    return entry.cost / static_cast<double>(std::max<int64_t>(entry.bytes.value(), 1));
  }

  static int QueueOf(const EvictionEntry& entry) {
    const int exponent = std::ilogb(std::max(CostPerByte(entry), 1e-30));
    const int step = std::clamp(exponent >> kCostStepLog2, -kMostCostSteps, kMostCostSteps);
    const int kind = ReturnModel::KindOf(entry.path) * 2 + (entry.superseded ? 1 : 0);
    return kind * (2 * kMostCostSteps + 1) + step + kMostCostSteps;
  }

  double ValueOf(const EvictionEntry& entry) {
    const int64_t idle_us = std::max<int64_t>(now_us_ - entry.last_use_us, 0);
    const double worth = model_.Worth(ReturnModel::KindOf(entry.path), idle_us, now_us_);
    return worth * CostPerByte(entry) * (entry.superseded ? kSupersededWorth : 1);
  }

  ReturnModel model_;
  GhostList<PathUse> ghosts_;
  std::map<int, EvictionOrder> queues_;
  int64_t now_us_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeCostAware() { return std::make_unique<CostAware>(); }

}  // namespace cairn
