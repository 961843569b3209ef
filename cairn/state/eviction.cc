#include "cairn/state/eviction.h"

#include <array>

#include "fmt/format.h"

#include "cairn/state/eviction_policies.h"

namespace cairn {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<EvictionPolicy> (*make)();
};

constexpr std::array kPolicies = {
    Row{"cost", MakeCostAware},
    Row{"lru", MakeLeastRecentlyUsed},
    Row{"lfu", MakeLeastFrequentlyUsed},
    Row{"s3fifo", MakeS3Fifo},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kPolicies.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kPolicies[i].name;
  return names;
}();

}  // namespace

Result<std::unique_ptr<EvictionPolicy>> MakeEvictionPolicy(std::string_view name) {
  for (const Row& row : kPolicies) {
    if (row.name == name) return row.make();
  }
  return Fail(ErrorCode::kInvalidArgument, "no eviction policy {}; there are {}", name,
              fmt::join(kNames, ", "));
}

std::span<const std::string_view> EvictionPolicyNames() { return kNames; }

}  // namespace cairn
