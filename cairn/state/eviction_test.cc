#include "cairn/state/eviction.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// The order in which a policy lets entries go.
std::vector<size_t> OrderOf(EvictionPolicy& policy, std::span<EvictionEntry> entries) {
  std::vector<size_t> order;
  while (EvictionEntry* victim = policy.Victim()) {
    order.push_back(static_cast<size_t>(victim - entries.data()));
    policy.Remove(*victim);
  }
  return order;
}

}  // namespace

TEST_CASE(
    "every policy lets each entry go once, in the same order every time, and none it gave back") {
  for (const std::string_view name : EvictionPolicyNames()) {
    CAPTURE(name);
    std::vector<size_t> before;
    for (int run = 0; run < 2; ++run) {
      const auto policy = *MakeEvictionPolicy(name);
      CHECK(policy->name() == name);
      CHECK(policy->Victim() == nullptr);
      std::array<EvictionEntry, 40> entries;
      for (size_t i = 0; i < entries.size(); ++i) {
        entries[i].last_use_us = static_cast<int64_t>(i * 7 % 11);
        entries[i].uses = static_cast<int64_t>(i % 3);
        entries[i].to = TokenCount(16);
        entries[i].bytes = Bytes(512);
        policy->Add(entries[i]);
      }
      policy->Remove(entries[5]);
      const std::vector<size_t> order = OrderOf(*policy, entries);
      CHECK(order.size() == entries.size() - 1);
      for (const size_t i : order) CHECK(i != 5);
      if (run == 1) CHECK(order == before);
      before = order;
    }
  }
}

TEST_CASE("lru goes by the last use, lfu by how often") {
  std::array<EvictionEntry, 3> entries;
  constexpr std::array<std::pair<int64_t, int64_t>, 3> kFacts = {{{30, 1}, {10, 9}, {20, 1}}};
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].last_use_us = kFacts[i].first;
    entries[i].uses = kFacts[i].second;
  }
  const auto lru = *MakeEvictionPolicy("lru");
  for (EvictionEntry& entry : entries) lru->Add(entry);
  CHECK(OrderOf(*lru, entries) == std::vector<size_t>{1, 2, 0});
  const auto lfu = *MakeEvictionPolicy("lfu");
  for (EvictionEntry& entry : entries) lfu->Add(entry);
  CHECK(OrderOf(*lfu, entries) == std::vector<size_t>{2, 0, 1});
}

TEST_CASE("a policy that doesn't exist is refused with the names of those that do") {
  const auto none = MakeEvictionPolicy("mru");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().message.find("lru, lfu") != std::string::npos);
}

}  // namespace cairn
