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
// What saves the least for its bytes goes first, by what it learned of how paths come back.
std::unique_ptr<EvictionPolicy> MakeCostAware();
// What wasn't used again soon after it came goes first.
std::unique_ptr<EvictionPolicy> MakeS3Fifo();

}  // namespace cairn

#endif  // CAIRN_STATE_EVICTION_POLICIES_H_
