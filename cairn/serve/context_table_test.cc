#include "cairn/serve/context_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/base/seed_for_tests.h"

namespace cairn {
namespace {

constexpr int64_t kSecond = 1'000'000;

ContextText TextOf(std::vector<int32_t> tokens, std::string salt = "") {
  ContextText text{.cache_salt = std::move(salt)};
  for (const int32_t token : tokens) text.tokens.emplace_back(token);
  return text;
}

TEST_CASE("a context is its key's alone, under an id of 128 random bits") {
  ContextTable table({});
  const std::string id = table.Add(1, TextOf({1, 2}), {.ttl_us = kSecond}, "", PinId(7), 0);
  CHECK(id.size() == 4 + 32);
  CHECK(id != table.Add(1, TextOf({1, 2}), {.ttl_us = kSecond}, "", {}, 0));
  REQUIRE(table.Find(1, id, 0) != nullptr);
  CHECK(table.Find(1, id, 0)->pin == PinId(7));
  CHECK(table.Find(2, id, 0) == nullptr);
  CHECK(table.Find(1, "ctx-", 0) == nullptr);
  CHECK(table.Begin(2, id, ContextTable::UseKind::kReads, 0).error().status() == 404);
  CHECK(table.Of(2, 0).empty());
}

TEST_CASE("what exceeds a limit is refused with the numbers") {
  ContextTable table({.contexts = 3, .contexts_per_key = 2, .text_bytes = 100});
  for (const int key : {1, 1, 2}) {
    REQUIRE(table.CheckRoom(key, 1, 4));
    table.Add(key, TextOf({1}), {.ttl_us = kSecond}, "", {}, 0);
  }
  const ApiError own = table.CheckRoom(1, 1, 0).error();
  CHECK(own.status() == 429);
  CHECK(own.message.contains("2 contexts are this key's already"));
  CHECK(table.CheckRoom(2, 1, 0).error().message.contains("there are 3 contexts"));
  CHECK(table.CheckRoom(2, 0, 89).error().message.contains("take 12 bytes"));
  CHECK(table.CheckRoom(2, 0, 88));
}

TEST_CASE("of two that change a context one waits for nobody: it is refused") {
  ContextTable table({});
  using Kind = ContextTable::UseKind;
  const std::string id = table.Add(0, TextOf({1}), {.ttl_us = kSecond}, "", PinId(1), 0);
  const ContextTable::Use first = *table.Begin(0, id, Kind::kChanges, 0);
  const ApiError second = table.Begin(0, id, Kind::kChanges, 0).error();
  CHECK(second.status() == 409);
  CHECK(OpenAiErrorJson(second).contains("conflict_error"));
  const ContextTable::Use reading = *table.Begin(0, id, Kind::kReads, 0);
  CHECK(table.Find(0, id, 0)->text.size() == 1);  // not yet
  const ContextTable::Changed changed = table.Change(first, TextOf({1, 2}), PinId(2));
  CHECK(changed.there);
  CHECK(changed.old_pin == PinId(1));
  table.End(first, 0);
  table.End(reading, 0);
  CHECK(table.Find(0, id, 0)->text.size() == 2);
  CHECK(table.Begin(0, id, Kind::kChanges, 0));
  table.Audit();
}

TEST_CASE("a use of a context that was removed ends in nothing") {
  ContextTable table({});
  const std::string id = table.Add(0, TextOf({1}), {.ttl_us = kSecond}, "", PinId(1), 0);
  const auto use = *table.Begin(0, id, ContextTable::UseKind::kChanges, 0);
  CHECK(table.Remove(id).pin == PinId(1));
  CHECK_FALSE(table.Change(use, TextOf({2}), PinId(2)).there);
  table.End(use, 0);
  table.Audit();
  CHECK(table.text_bytes() == 0);
}

TEST_CASE("what a context shares with others of its key and salt is known") {
  ContextTable table({});
  const auto add = [&](int key, ContextText text) {
    return table.Add(key, std::move(text), {.ttl_us = kSecond}, "", {}, 0);
  };
  const std::string id = add(0, TextOf({1, 2, 3, 4}, "s"));
  CHECK(table.SharedTokens(*table.Find(0, id, 0)) == TokenCount(0));
  add(0, TextOf({1, 2, 3}));
  add(1, TextOf({1, 2, 3, 4}, "s"));
  add(0, TextOf({1, 2, 5, 6, 7}, "s"));
  CHECK(table.SharedTokens(*table.Find(0, id, 0)) == TokenCount(2));
}

// ---- A naive model ----

struct Known {
  int key = 0;
  std::vector<TokenId> tokens;
  std::optional<PinId> pin = {};
  int64_t used_us = 0, ttl_us = 0;
  int reading = 0;
  bool changing = false;
  bool Alive(int64_t now_us) const { return reading > 0 || changing || now_us < used_us + ttl_us; }
};

// Random operations on a table and on a plain list of what must be there.
class RandomContexts {
 public:
  explicit RandomContexts(uint64_t seed) : random_(seed) {}

  void Step() {
    now_us_ += Draw(kSecond);
    switch (Draw(9)) {
      case 0:
      case 1:
        return Make();
      case 2:
        return Begin(ContextTable::UseKind::kChanges);
      case 3:
        return Begin(ContextTable::UseKind::kReads);
      case 4:
      case 5:
        return EndOne();
      case 6:
        return Remove();
      case 7:
        return Touch();
      case 8:
        return Expire();
    }
  }

  void Check() {
    table_.Audit();
    int64_t pins = 0;
    for (const auto& [id, known] : known_) {
      const ServedContext* found = table_.Find(known.key, id, now_us_);
      CHECK((found != nullptr) == known.Alive(now_us_));
      CHECK(table_.Find(known.key + 1, id, now_us_) == nullptr);
      pins += known.pin ? 1 : 0;
      if (found == nullptr) continue;
      CHECK(found->text.tokens == known.tokens);
      CHECK(found->pin == known.pin);
    }
    CHECK(table_.size() == static_cast<int64_t>(known_.size()));
    CHECK(table_.pinned() == pins);
    CHECK(live_pins_ == pins);  // none is lost, none is there twice
  }

  int64_t conflicts = 0, refused = 0, expired = 0, changed = 0;

 private:
  struct Going {
    ContextTable::Use use;
    bool there = true;
  };

  int64_t Draw(int64_t count) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  }
  std::vector<TokenId> DrawTokens() {
    std::vector<TokenId> tokens(static_cast<size_t>(Draw(20) + 1));
    for (TokenId& token : tokens) token = TokenId(static_cast<int32_t>(Draw(3)));
    return tokens;
  }
  std::optional<PinId> DrawPin() {
    if (Draw(2) == 0) return std::nullopt;
    ++live_pins_;
    return PinId(next_pin_++);
  }
  void Unpin(const std::optional<PinId>& pin) { live_pins_ -= pin ? 1 : 0; }
  std::string DrawId() {
    if (known_.empty()) return "ctx-none";
    return std::next(known_.begin(), Draw(static_cast<int64_t>(known_.size())))->first;
  }

  void Make() {
    const int key = static_cast<int>(Draw(3));
    Known made{.key = key, .tokens = DrawTokens(), .used_us = now_us_, .ttl_us = Draw(kSecond) * 9};
    ContextText text{.tokens = made.tokens};
    const auto own = std::ranges::count_if(known_, [&](auto& k) { return k.second.key == key; });
    const bool fits = own < kPerKey && static_cast<int64_t>(known_.size()) < kAll;
    CHECK(table_.CheckRoom(key, 1, text.Bytes()).has_value() == fits);
    if (!fits) {
      ++refused;
      return;
    }
    made.pin = DrawPin();
    const std::string id =
        table_.Add(key, std::move(text), {.ttl_us = made.ttl_us}, "", made.pin, now_us_);
    CHECK(known_.emplace(id, std::move(made)).second);
  }
  void Begin(ContextTable::UseKind kind) {
    const std::string id = DrawId();
    const auto found = known_.find(id);
    const int key = found == known_.end() ? 0 : found->second.key;
    const ApiResult<ContextTable::Use> use = table_.Begin(key, id, kind, now_us_);
    if (found == known_.end() || !found->second.Alive(now_us_)) {
      CHECK(use.error().status() == 404);
      return;
    }
    Known& known = found->second;
    if (kind == ContextTable::UseKind::kChanges && known.changing) {
      CHECK(use.error().status() == 409);
      ++conflicts;
      return;
    }
    REQUIRE(use);
    known.used_us = now_us_;
    if (kind == ContextTable::UseKind::kChanges) known.changing = true;
    known.reading += kind == ContextTable::UseKind::kReads ? 1 : 0;
    going_.push_back({*use});
  }
  void EndOne() {
    if (going_.empty()) return;
    const auto at = going_.begin() + Draw(std::ssize(going_));
    const ContextTable::Use use = at->use;
    going_.erase(at);
    const auto found = known_.find(use.id);
    const bool there = found != known_.end();
    const bool changes = use.kind == ContextTable::UseKind::kChanges;
    if (changes && Draw(3) > 0) {  // else it failed
      const std::vector<TokenId> tokens = DrawTokens();
      const std::optional<PinId> pin = DrawPin();
      const ContextTable::Changed change = table_.Change(use, {.tokens = tokens}, pin);
      CHECK(change.there == there);
      if (there) {
        ++changed;
        found->second.tokens = tokens;
        CHECK(change.old_pin == (pin ? found->second.pin : std::nullopt));
        if (pin) found->second.pin = pin;
        Unpin(change.old_pin);
      } else {
        Unpin(pin);
      }
    }
    table_.End(use, now_us_);
    if (!there) return;
    found->second.used_us = now_us_;
    if (changes) found->second.changing = false;
    found->second.reading -= changes ? 0 : 1;
  }
  void Remove() {
    const std::string id = DrawId();
    const auto found = known_.find(id);
    if (found == known_.end()) return;
    CHECK(table_.Remove(id).pin == found->second.pin);
    Unpin(found->second.pin);
    known_.erase(found);
  }
  void Touch() {
    const std::string id = DrawId();
    const auto found = known_.find(id);
    if (found == known_.end() || !found->second.Alive(now_us_)) return;
    std::optional<int64_t> ttl_us;
    if (Draw(2) == 0) ttl_us = Draw(kSecond);
    table_.Touch(id, ttl_us, now_us_);
    found->second.used_us = now_us_;
    found->second.ttl_us = ttl_us.value_or(found->second.ttl_us);
  }
  void Expire() {
    std::set<std::string> over, removed;
    for (const auto& [id, known] : known_) {
      if (!known.Alive(now_us_)) over.insert(id);
    }
    for (const ServedContext& each : table_.Expire(now_us_)) {
      removed.insert(each.id);
      Unpin(each.pin);
      known_.erase(each.id);
    }
    CHECK(over == removed);
    expired += std::ssize(over);
  }

  static constexpr int64_t kAll = 12, kPerKey = 6;
  std::mt19937_64 random_;
  ContextTable table_{{.contexts = kAll, .contexts_per_key = kPerKey}};
  std::map<std::string, Known> known_;
  std::vector<Going> going_;
  int64_t now_us_ = 0;
  int64_t next_pin_ = 1;
  int64_t live_pins_ = 0;
};

TEST_CASE("random contexts are what a plain list says, and no pin is lost") {
  const uint64_t seed = SeedForTests();
  CAPTURE(seed);
  RandomContexts contexts(seed);
  for (int i = 0; i < 20'000; ++i) {
    contexts.Step();
    contexts.Check();
  }
  CHECK(contexts.conflicts > 0);
  CHECK(contexts.refused > 0);
  CHECK(contexts.expired > 0);
  CHECK(contexts.changed > 0);
}

}  // namespace
}  // namespace cairn
