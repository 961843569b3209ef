// Flags for the tiers below memory, and the stores that they open.
#ifndef CAIRN_TOOLS_TIER_ARGS_H_
#define CAIRN_TOOLS_TIER_ARGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/state/object_store.h"
#include "cairn/state/state_manager.h"

namespace CLI {
class App;
}

namespace cairn {

struct TierArgs {
  std::string disk_tier;                   // a folder; empty: none
  int64_t disk_bytes = int64_t{20} << 30;  // that its files may take
  std::string store;                       // redis://...; empty: none
  std::string store_prefix = "cairn:";     // of keys there

  void AddFlags(CLI::App& command);
  bool any() const { return !disk_tier.empty() || !store.empty(); }
};

struct OpenedTiers {
  std::vector<std::unique_ptr<ObjectStore>> stores;  // outlive the manager
  std::vector<StateManager::TierOptions> options;    // of them, the fastest first
};

// The disk first. A shared store that can't be reached is no error: it is tried again and again.
Result<OpenedTiers> OpenTiers(const TierArgs& args);

}  // namespace cairn

#endif  // CAIRN_TOOLS_TIER_ARGS_H_
