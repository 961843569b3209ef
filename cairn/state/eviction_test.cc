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

// ---- cost ----

namespace {

constexpr int64_t kSecond = 1'000'000;

// An entry of 1,000 tokens that was used, and kept, at `now_us`.
EvictionEntry Kept(EvictionPolicy& policy, int64_t now_us, const Turn& turn, uint64_t id) {
  EvictionEntry entry;
  entry.last_use_us = now_us;
  entry.to = TokenCount(1000);
  entry.cost = 1000;
  entry.bytes = Bytes(1000);
  entry.id = id;
  entry.path.turn = turn;
  policy.Kept(entry, now_us);
  entry.path.kept_us = now_us;
  return entry;
}

constexpr Turn kTool{.end = TurnEnd::kToolCall, .answer = TokenCount(100)};
constexpr Turn kPerson{.end = TurnEnd::kEndOfTurn, .answer = TokenCount(100)};

// Tools come back after 5 s, people after 500. Returns the time.
int64_t Teach(EvictionPolicy& policy) {
  int64_t now_us = 0;
  for (uint64_t i = 0; i < 200; ++i, now_us += 600 * kSecond) {
    EvictionEntry tool = Kept(policy, now_us, kTool, 1 + 2 * i);
    EvictionEntry person = Kept(policy, now_us, kPerson, 2 + 2 * i);
    policy.Returned(tool, now_us + 5 * kSecond);
    policy.Returned(person, now_us + 500 * kSecond);
  }
  return now_us;
}

}  // namespace

TEST_CASE("cost without knowledge is lru, among entries of equal cost per byte") {
  std::array<EvictionEntry, 40> entries;
  const auto cost = *MakeEvictionPolicy("cost");
  const auto lru = *MakeEvictionPolicy("lru");
  std::vector<size_t> orders[2];
  for (int i = 0; i < 2; ++i) {
    EvictionPolicy& policy = i == 0 ? *cost : *lru;
    for (size_t k = 0; k < entries.size(); ++k) {
      entries[k] = {};
      entries[k].last_use_us = static_cast<int64_t>(k * 17 % 41) * kSecond;
      entries[k].cost = 100;
      entries[k].bytes = Bytes(50);
      policy.Add(entries[k]);
    }
    orders[i] = OrderOf(policy, entries);
  }
  CHECK(orders[0] == orders[1]);
}

TEST_CASE("cost drops what waits for a person before what waits for a tool, though used later") {
  const auto policy = *MakeEvictionPolicy("cost");
  const int64_t now_us = Teach(*policy);
  EvictionEntry tool = Kept(*policy, now_us, kTool, 1001);
  EvictionEntry person = Kept(*policy, now_us + kSecond, kPerson, 1002);
  policy->Add(tool);
  policy->Add(person);
  CHECK(policy->Victim() == &person);
  // When the tool's time is long over, its path has been left.
  Kept(*policy, now_us + 400 * kSecond, kPerson, 1003);
  CHECK(policy->Victim() == &tool);
  policy->Remove(tool);
  policy->Remove(person);
}

TEST_CASE("cost drops what is cheap to compute for its bytes, and points that were superseded") {
  const auto policy = *MakeEvictionPolicy("cost");
  std::array<EvictionEntry, 3> entries;
  for (EvictionEntry& entry : entries) {
    entry = Kept(*policy, 0, kTool, 1);
    entry.last_use_us = 100;
  }
  entries[0].cost = 50'000;  // as many bytes, much to compute
  entries[2].superseded = true;
  entries[2].last_use_us = 200;
  for (EvictionEntry& entry : entries) policy->Add(entry);
  CHECK(OrderOf(*policy, entries) == std::vector<size_t>{2, 1, 0});
}

TEST_CASE("cost learns from paths that were evicted before they came back") {
  // Once with ghosts' ids, and once with others: then they seem to be lost for good.
  std::array<bool, 2> person_goes_first{};
  for (const bool known : {true, false}) {
    const auto policy = *MakeEvictionPolicy("cost");
    int64_t now_us = 0;
    for (uint64_t i = 1; i < 200; ++i, now_us += 600 * kSecond) {
      EvictionEntry tool = Kept(*policy, now_us, kTool, 2 * i);
      policy->Gone(tool, nullptr);
      Kept(*policy, now_us + 5 * kSecond, kPerson, known ? 2 * i : 2 * i + 1);
    }
    EvictionEntry tool = Kept(*policy, now_us, kTool, 1 << 20);
    EvictionEntry person = Kept(*policy, now_us, kPerson, (1 << 20) + 1);
    policy->Add(tool);
    policy->Add(person);
    person_goes_first[known ? 0 : 1] = policy->Victim() == &person;
    policy->Remove(tool);
    policy->Remove(person);
  }
  CHECK(person_goes_first[0]);
  CHECK_FALSE(person_goes_first[1]);
}

TEST_CASE("cost waits for what is left of a path that was evicted in part") {
  const auto policy = *MakeEvictionPolicy("cost");
  EvictionEntry end = Kept(*policy, 0, kTool, 1);
  EvictionEntry rest;
  policy->Gone(end, &rest);
  CHECK(end.path.watch == -1);
  CHECK(rest.path.watch >= 0);
  policy->Returned(rest, 64 * kSecond);
  CHECK(rest.path.watch == -1);
  CHECK(rest.path.has_paused);
  CHECK(rest.path.log2_pause_s == doctest::Approx(6));
}

// ---- s3fifo ----

namespace {

// `count` entries of 100 bytes with ids from `first` on.
std::vector<EvictionEntry> Entries(size_t count, uint64_t first) {
  std::vector<EvictionEntry> entries(count);
  for (size_t i = 0; i < count; ++i) {
    entries[i].id = first + i;
    entries[i].bytes = Bytes(100);
  }
  return entries;
}

void Evict(EvictionPolicy& policy, EvictionEntry& entry) {
  policy.Remove(entry);
  policy.Gone(entry, nullptr);
}

}  // namespace

TEST_CASE("s3fifo drops in order of arrival what was used less than twice, then what stayed") {
  const auto policy = *MakeEvictionPolicy("s3fifo");
  std::vector<EvictionEntry> entries = Entries(6, 1);
  for (EvictionEntry& entry : entries) policy->Add(entry);
  // A use happens while an entry is locked; it keeps its place.
  for (const size_t i : {0, 3, 4}) {
    policy->Remove(entries[i]);
    entries[i].uses += i == 4 ? 1 : 2;
    policy->Add(entries[i]);
  }
  CHECK(OrderOf(*policy, entries) == std::vector<size_t>{1, 2, 4, 5, 0, 3});
}

TEST_CASE("s3fifo: a scan doesn't drive out what stayed, and who comes back stays at once") {
  const auto policy = *MakeEvictionPolicy("s3fifo");
  std::vector<EvictionEntry> used = Entries(20, 1);
  for (EvictionEntry& entry : used) {
    policy->Add(entry);
    policy->Remove(entry);
    entry.uses = 2;
    policy->Add(entry);
  }
  std::vector<EvictionEntry> scan = Entries(200, 100);
  for (size_t i = 0; i < scan.size(); ++i) {
    policy->Add(scan[i]);
    // The used ones have moved on; what was scanned goes, but for a tenth.
    if (i < 5) continue;
    EvictionEntry* const victim = policy->Victim();
    REQUIRE(victim != nullptr);
    REQUIRE(victim >= scan.data());
    REQUIRE(victim < scan.data() + scan.size());
    Evict(*policy, *victim);
  }
  // The first of the scan is back, under the same id: then the small queue goes before it.
  EvictionEntry back = scan[0];
  REQUIRE_FALSE(scan[0].held);
  back = {};
  back.id = 100;
  back.bytes = Bytes(100);
  policy->Add(back);
  EvictionEntry fresh;
  fresh.id = 1 << 20;
  fresh.bytes = Bytes(400);
  policy->Add(fresh);
  while (true) {
    EvictionEntry* const victim = policy->Victim();
    REQUIRE(victim != &back);
    Evict(*policy, *victim);
    if (victim == &fresh) break;
  }
  CHECK(back.held);
  while (EvictionEntry* const victim = policy->Victim()) policy->Remove(*victim);
}

TEST_CASE("a policy that doesn't exist is refused with the names of those that do") {
  const auto none = MakeEvictionPolicy("mru");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().message.find("cost, lru, lfu, s3fifo") != std::string::npos);
}

}  // namespace cairn
