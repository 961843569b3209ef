// The instruction sets that a test goes through.
#ifndef CAIRN_KERNELS_TARGETS_FOR_TESTS_H_
#define CAIRN_KERNELS_TARGETS_FOR_TESTS_H_

#include <cstdint>
#include <vector>

#include "cairn/kernels/targets.h"
#include "hwy/targets.h"

namespace cairn {

// Those that are built here and run on this machine; one at least. A build for this machine alone
// has one, and Highway may not count it among the processor's: it knows Zen 4's set by the maker,
// and other makers' processors have it, too.
inline std::vector<int64_t> TargetsForTests() {
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  if (targets.empty()) targets.push_back(HWY_STATIC_TARGET);
  return targets;
}

}  // namespace cairn

#endif  // CAIRN_KERNELS_TARGETS_FOR_TESTS_H_
