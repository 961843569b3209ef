// The policies of eviction.cc's table, one file each.
#ifndef CAIRN_STATE_EVICTION_POLICIES_H_
#define CAIRN_STATE_EVICTION_POLICIES_H_

#include <memory>

#include "cairn/state/eviction.h"

namespace cairn {

// What was used longest ago goes first.
std::unique_ptr<EvictionPolicy> MakeLeastRecentlyUsed();
// What was used the fewest times goes first, of equals the least recently used.
std::unique_ptr<EvictionPolicy> MakeLeastFrequentlyUsed();

}  // namespace cairn

#endif  // CAIRN_STATE_EVICTION_POLICIES_H_
