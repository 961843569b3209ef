// The Redis store on a real server.
#include "cairn/state/redis_store.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/state/numbered_objects_for_tests.h"
#include "cairn/state/object_format.h"
#include "cairn/state/redis_server_for_tests.h"

namespace cairn {
namespace {

bool HasServer() {
  if (!RedisServer::IsInstalled()) MESSAGE("left out: there is no redis-server");
  return RedisServer::IsInstalled();
}

RedisStoreOptions OptionsFor(const RedisServer& server) {
  RedisStoreOptions options{.url = server.url(), .start = RedisStoreOptions::Start::kConnected};
  options.poll_interval_us = 5'000;
  options.backoff_us = 1'000;
  options.backoff_max_us = 20'000;
  return options;
}

bool Until(const std::function<bool()>& condition) {
  const int64_t deadline_us = NowMicroseconds() + 20'000'000;
  while (!condition()) {
    if (NowMicroseconds() > deadline_us) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::string NameOf(uint64_t number) {
  std::string name = "cairn:o:";
  for (const std::byte byte : NumberedKey(number).bytes) {
    name += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return name;
}

bool IsOnServer(RedisServer& server, uint64_t number) {
  return server.Command({"EXISTS", NameOf(number)}).integer == 1;
}

TEST_CASE("two stores on one server see each other's objects, arrivals and erasures") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest one(OpenRedisStore(OptionsFor(server)));
  StoreInTest two(OpenRedisStore(OptionsFor(server)));
  const std::vector<std::byte> bytes = NumberedPayload(1, 100'000);
  REQUIRE(one.Put(1, bytes) == ObjectOutcome::kDone);
  REQUIRE(Until([&] { return two.store().Contains(NumberedKey(1)); }));
  const auto arrivals = two.store().Arrivals();
  REQUIRE(arrivals.size() == 1);
  CHECK(arrivals[0].key == NumberedKey(1));
  CHECK(arrivals[0].metadata == ObjectMetadata{1, 17});
  CHECK(arrivals[0].size == Bytes(100'000));
  CHECK(two.store().Arrivals().empty());
  CHECK(one.store().Arrivals().empty());
  CHECK(two.Has(1, bytes));
  CHECK(two.Erase(1) == ObjectOutcome::kDone);
  CHECK(Until([&] { return !one.store().Contains(NumberedKey(1)); }));
  CHECK(two.Put(2, bytes) == ObjectOutcome::kDone);
  CHECK(Until([&] { return one.store().Arrivals().size() == 1; }));
  CHECK(one.Has(2, bytes));
}

TEST_CASE("a store that opens later finds what is there, and not what the server evicted") {
  if (!HasServer()) return;
  RedisServer server;
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  {
    StoreInTest one(OpenRedisStore(OptionsFor(server)));
    for (uint64_t number = 0; number < 2500; ++number) {  // more than is read at once
      REQUIRE(one.Put(number, bytes) == ObjectOutcome::kDone);
    }
  }
  REQUIRE(server.Command({"DEL", NameOf(7)}).integer == 1);
  StoreInTest two(OpenRedisStore(OptionsFor(server)));
  CHECK(two.store().List().size() == 2499);
  CHECK(two.store().Arrivals().size() == 2499);
  CHECK_FALSE(two.store().Contains(NumberedKey(7)));
  CHECK(two.Has(8, bytes));
}

TEST_CASE("what the server evicted is a miss, leaves the mirror, and can be put again") {
  if (!HasServer()) return;
  RedisServer server;
  auto options = OptionsFor(server);
  options.poll_interval_us = 3'600'000'000;  // the mirror learns of nothing but its own requests
  StoreInTest tier(OpenRedisStore(options));
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  REQUIRE(tier.Put(2, bytes) == ObjectOutcome::kDone);
  REQUIRE(server.Command({"DEL", NameOf(1), NameOf(2)}).integer == 2);
  std::vector<std::byte> got(bytes.size());
  CHECK(tier.Get(1, got) == ObjectOutcome::kAbsent);
  CHECK_FALSE(tier.store().Contains(NumberedKey(1)));
  CHECK(tier.store().Stats().evicted == 1);
  CHECK(tier.store().Stats().damaged == 0);
  CHECK(tier.store().Contains(NumberedKey(2)));  // nobody told it
  CHECK(tier.Put(2, bytes) == ObjectOutcome::kDone);
  CHECK(IsOnServer(server, 2));
  CHECK(tier.Has(2, bytes));
}

TEST_CASE("what the server evicted leaves the mirror also when nobody asks for it") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest tier(OpenRedisStore(OptionsFor(server)));
  for (uint64_t number = 0; number < 600; ++number) {
    REQUIRE(tier.Put(number, NumberedPayload(number, 100)) == ObjectOutcome::kDone);
  }
  for (uint64_t number = 0; number < 600; number += 2) server.Command({"DEL", NameOf(number)});
  CHECK(Until([&] { return tier.store().Stats().objects == 300; }));
  CHECK(tier.store().Stats().evicted == 300);
  tier.store().Audit();
}

TEST_CASE("under the server's memory limit puts go on and readers see whole objects or none") {
  if (!HasServer()) return;
  RedisServer server({"--maxmemory", "12mb", "--maxmemory-policy", "allkeys-lru"});
  StoreInTest tier(OpenRedisStore(OptionsFor(server)));
  for (uint64_t number = 0; number < 300; ++number) {
    REQUIRE(tier.Put(number, NumberedPayload(number, 100'000)) == ObjectOutcome::kDone);
  }
  // The newest first: a read takes memory for its answer, for which the server evicts the oldest.
  int found = 0;
  for (uint64_t number = 300; number-- > 0;) {
    found += tier.Has(number, NumberedPayload(number, 100'000));
  }
  CHECK(found > 10);
  CHECK(found < 120);
  CHECK(tier.store().Stats().damaged == 0);
  CHECK(tier.store().Stats().evicted >= 180);
}

TEST_CASE("a full server that does not evict makes puts fail in its words, and nothing else") {
  if (!HasServer()) return;
  RedisServer server({"--maxmemory", "4mb", "--maxmemory-policy", "noeviction"});
  StoreInTest tier(OpenRedisStore(OptionsFor(server)));
  const std::vector<std::byte> bytes = NumberedPayload(1, 500'000);
  uint64_t stored = 0;
  while (stored < 50 && tier.Put(stored, bytes) == ObjectOutcome::kDone) ++stored;
  CHECK(stored > 0);
  CHECK(stored < 10);
  CHECK_MESSAGE(tier.problem().find("OOM") != std::string::npos, tier.problem());
  CHECK_FALSE(tier.store().Contains(NumberedKey(stored)));
  CHECK_FALSE(IsOnServer(server, stored));
  for (uint64_t number = 0; number < stored; ++number) CHECK(tier.Has(number, bytes));
  CHECK(tier.store().Stats().puts_failed == 1);
}

TEST_CASE("objects live as long as they shall, counted from the last put") {
  if (!HasServer()) return;
  RedisServer server;
  auto options = OptionsFor(server);
  options.seconds_to_live = 100;
  StoreInTest tier(OpenRedisStore(options));
  const std::vector<std::byte> bytes = NumberedPayload(1, 100);
  REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  const int64_t left = server.Command({"TTL", NameOf(1)}).integer;
  CHECK(left > 90);
  CHECK(left <= 100);
  server.Command({"EXPIRE", NameOf(1), "10"});
  REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  CHECK(server.Command({"TTL", NameOf(1)}).integer > 90);
  server.Command({"PEXPIRE", NameOf(1), "1"});
  CHECK(Until([&] { return !tier.store().Contains(NumberedKey(1)); }));
}

TEST_CASE("a damaged value is a reported miss and is removed, and the object can be put again") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest one(OpenRedisStore(OptionsFor(server)));
  StoreInTest two(OpenRedisStore(OptionsFor(server)));
  const std::vector<std::byte> bytes = NumberedPayload(1, 3'000'000);
  const struct {
    const char* what;
    std::function<void(const std::string&)> damage;
  } kDamages[] = {
      {"a bit of the payload",
       [&](auto& name) {
         server.Command({"SETBIT", name, "9999999", "1"});
         server.Command({"SETBIT", name, "9999998", "0"});
         server.Command({"SETBIT", name, "9999997", "1"});
         server.Command({"SETBIT", name, "9999996", "0"});
       }},
      {"a byte of the header", [&](auto& name) { server.Command({"SETRANGE", name, "20", "x"}); }},
      {"cut",
       [&](auto& name) {
         const std::string half = server.Command({"GETRANGE", name, "0", "1500000"}).text;
         server.Command({"SET", name, half});
       }},
      {"cut within the header",
       [&](auto& name) {
         const std::string start = server.Command({"GETRANGE", name, "0", "99"}).text;
         server.Command({"SET", name, start});
       }},
      {"longer", [&](auto& name) { server.Command({"APPEND", name, "x"}); }},
      {"another object",
       [&](auto& name) {
         server.Command({"SET", name, server.Command({"GET", NameOf(99)}).text});
       }},
  };
  REQUIRE(one.Put(99, NumberedPayload(99, 3'000'000)) == ObjectOutcome::kDone);
  int64_t damaged = 0;
  for (const auto& damage : kDamages) {
    CAPTURE(damage.what);
    REQUIRE(one.Put(1, bytes) == ObjectOutcome::kDone);
    REQUIRE(Until([&] { return two.store().Contains(NumberedKey(1)); }));
    damage.damage(NameOf(1));
    std::vector<std::byte> got(bytes.size());
    CHECK(one.Get(1, got) == ObjectOutcome::kDamaged);
    CHECK(one.problem().find(NameOf(1)) != std::string::npos);
    CHECK(one.store().Stats().damaged == ++damaged);
    CHECK_FALSE(one.store().Contains(NumberedKey(1)));
    CHECK_FALSE(IsOnServer(server, 1));
    CHECK(Until([&] { return !two.store().Contains(NumberedKey(1)); }));
  }
  CHECK(one.Put(1, bytes) == ObjectOutcome::kDone);
  CHECK(one.Has(1, bytes));
}

TEST_CASE("what no object of this version is, is a reported miss and stays on the server") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest tier(OpenRedisStore(OptionsFor(server)));
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  std::string newer = "CAIRNOBJ";
  newer.resize(kObjectHeaderBytes + bytes.size());
  newer[8] = 2;
  const Sum128 sum = Checksum::Of(std::as_bytes(std::span(newer)).first(144), 0);
  std::memcpy(newer.data() + 144, &sum, sizeof(sum));
  const struct {
    std::function<void(const std::string&)> change;
    const char* says;
  } kChanges[] = {
      {[&](auto& name) { server.Command({"SET", name, newer}); }, "format version 2"},
      {[&](auto& name) { server.Command({"SET", name, "somebody else's"}); }, "is not an object"},
      // In one step: a look at what exists between the two would find nothing there.
      {[&](auto& name) {
         server.Command({"EVAL",
                         "redis.call('DEL', KEYS[1]); return redis.call('LPUSH', KEYS[1], 'x')",
                         "1", name});
       },
       "WRONGTYPE"},
  };
  for (const auto& change : kChanges) {
    CAPTURE(change.says);
    REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
    change.change(NameOf(1));
    std::vector<std::byte> got(bytes.size());
    CHECK(tier.Get(1, got) == ObjectOutcome::kDamaged);
    CHECK_MESSAGE(tier.problem().find(change.says) != std::string::npos, tier.problem());
    CHECK_FALSE(tier.store().Contains(NumberedKey(1)));
    CHECK(IsOnServer(server, 1));
  }
}

TEST_CASE("a server that is killed makes requests fail, and is used again when it is back") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest tier(OpenRedisStore(OptionsFor(server)));
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  REQUIRE(tier.Put(1, bytes) == ObjectOutcome::kDone);
  server.Kill();
  std::vector<std::byte> got(bytes.size());
  CHECK(tier.Get(1, got) == ObjectOutcome::kFailed);
  CHECK(tier.Put(2, bytes) == ObjectOutcome::kFailed);
  CHECK(tier.Erase(1) == ObjectOutcome::kFailed);
  CHECK(tier.problem().find("refused") != std::string::npos);
  server.Start();  // and has forgotten all
  CHECK(Until([&] { return tier.Put(2, bytes) == ObjectOutcome::kDone; }));
  CHECK(tier.Has(2, bytes));
  CHECK(Until([&] { return !tier.store().Contains(NumberedKey(1)); }));
  CHECK(tier.store().Stats().damaged == 0);
  tier.store().Audit();
}

TEST_CASE("a server that hangs makes one request wait for the timeout and the others not at all") {
  if (!HasServer()) return;
  RedisServer server;
  auto options = OptionsFor(server);
  options.command_timeout_us = 1'000'000;
  options.connect_timeout_us = 1'000'000;
  options.backoff_us = 60'000'000;
  options.backoff_max_us = 60'000'000;
  StoreInTest tier(OpenRedisStore(options));
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  const std::span<const std::byte> all(bytes);
  for (uint64_t number = 0; number < 10; ++number) {
    REQUIRE(tier.Put(number, bytes) == ObjectOutcome::kDone);
  }
  server.process().Pause();
  int64_t begin_us = NowMicroseconds();
  for (uint64_t number = 100; number < 200; ++number) {
    REQUIRE(tier.store().Put(NumberedKey(number), {}, std::span(&all, 1)));
  }
  CHECK(NowMicroseconds() - begin_us < 500'000);  // the calls themselves
  tier.store().Flush();
  CHECK(NowMicroseconds() - begin_us < 5'000'000);
  const auto completions = tier.store().Poll();
  CHECK(completions.size() == 100);
  for (const ObjectCompletion& completion : completions) {
    CHECK(completion.outcome == ObjectOutcome::kFailed);
    CHECK(completion.problem.find("no answer in time") != std::string::npos);
  }
  begin_us = NowMicroseconds();
  std::vector<std::byte> got(bytes.size());
  CHECK(tier.Get(1, got) == ObjectOutcome::kFailed);
  CHECK(NowMicroseconds() - begin_us < 500'000);
  server.process().Resume();
}

TEST_CASE("connections that the server closed when they were idle cost nothing") {
  if (!HasServer()) return;
  RedisServer server;
  auto options = OptionsFor(server);
  options.poll_interval_us = 3'600'000'000;  // or it might connect at the very moment
  StoreInTest tier(OpenRedisStore(options));
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  for (uint64_t number = 0; number < 20; ++number) {
    server.Command({"CLIENT", "KILL", "TYPE", "normal"});
    CHECK(tier.Put(number, bytes) == ObjectOutcome::kDone);
    server.Command({"CLIENT", "KILL", "TYPE", "normal"});
    CHECK(tier.Has(number, bytes));
  }
}

TEST_CASE("after everything on the server was removed the mirror is empty and fills again") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest one(OpenRedisStore(OptionsFor(server)));
  StoreInTest two(OpenRedisStore(OptionsFor(server)));
  const std::vector<std::byte> bytes = NumberedPayload(1, 1000);
  for (uint64_t number = 0; number < 50; ++number) {
    REQUIRE(one.Put(number, bytes) == ObjectOutcome::kDone);
  }
  CHECK(Until([&] { return two.store().Stats().objects == 50; }));
  server.Command({"FLUSHALL"});
  CHECK(Until([&] { return one.store().Stats().objects + two.store().Stats().objects == 0; }));
  CHECK(one.Put(3, bytes) == ObjectOutcome::kDone);
  CHECK(Until([&] { return two.Has(3, bytes); }));
}

TEST_CASE("a key for the index that holds something else fails puts and is left alone") {
  if (!HasServer()) return;
  RedisServer server;
  server.Command({"SET", "cairn:index", "mine"});
  auto options = OptionsFor(server);
  const auto opened = OpenRedisStore(options);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message.find("WRONGTYPE") != std::string::npos);
  options.start = RedisStoreOptions::Start::kInBackground;
  StoreInTest tier(OpenRedisStore(options));
  CHECK(tier.Put(1, NumberedPayload(1, 10)) == ObjectOutcome::kFailed);
  CHECK(tier.problem().find("WRONGTYPE") != std::string::npos);
  CHECK(server.Command({"GET", "cairn:index"}).text == "mine");
}

TEST_CASE("the index on the server and the mirror stay bounded") {
  if (!HasServer()) return;
  RedisServer server({"--stream-node-max-entries", "10"});
  auto options = OptionsFor(server);
  options.objects_max = 50;
  StoreInTest one(OpenRedisStore(options));
  StoreInTest two(OpenRedisStore(options));
  for (uint64_t number = 0; number < 300; ++number) {
    REQUIRE(one.Put(number, NumberedPayload(number, 10)) == ObjectOutcome::kDone);
  }
  CHECK(one.store().Stats().objects == 50);
  CHECK(Until([&] { return two.store().Contains(NumberedKey(299)); }));
  CHECK(two.store().Stats().objects == 50);
  CHECK(server.Command({"XLEN", "cairn:index"}).integer <= 60);
  one.store().Audit();
  two.store().Audit();
}

TEST_CASE("stores of different prefixes, or databases, have nothing in common") {
  if (!HasServer()) return;
  RedisServer server;
  StoreInTest one(OpenRedisStore(OptionsFor(server)));
  auto options = OptionsFor(server);
  options.prefix = "other:";
  StoreInTest two(OpenRedisStore(options));
  options = OptionsFor(server);
  options.url += "/1";
  StoreInTest three(OpenRedisStore(options));
  REQUIRE(one.Put(1, NumberedPayload(1, 10)) == ObjectOutcome::kDone);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // many looks
  CHECK(two.store().List().empty());
  CHECK(three.store().List().empty());
}

TEST_CASE("a password is needed where the server has one") {
  if (!HasServer()) return;
  RedisServer server;
  auto options = OptionsFor(server);
  server.Command({"CONFIG", "SET", "requirepass", "se cret"});
  const auto refused = OpenRedisStore(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("NOAUTH") != std::string::npos);
  options.url = "redis://:se%20cret@" + server.url().substr(8);
  StoreInTest tier(OpenRedisStore(options));
  CHECK(tier.Put(1, NumberedPayload(1, 10)) == ObjectOutcome::kDone);
}

TEST_CASE("options that can't be are refused; an absent server only where one must be there") {
  RedisStoreOptions options{.url = "redis://127.0.0.1:1"};
  {
    StoreInTest tier(OpenRedisStore(options));
    CHECK(tier.Put(1, NumberedPayload(1, 10)) == ObjectOutcome::kFailed);
  }
  options.start = RedisStoreOptions::Start::kConnected;
  CHECK(OpenRedisStore(options).error().code == ErrorCode::kIo);
  options.start = RedisStoreOptions::Start::kInBackground;
  for (const auto& spoil : std::vector<std::function<void(RedisStoreOptions&)>>{
           [](auto& o) { o.url = "http://host"; }, [](auto& o) { o.prefix = ""; },
           [](auto& o) { o.object_max = Bytes(0); },
           [](auto& o) { o.object_max = kRedisObjectBytesMax + Bytes(1); },
           [](auto& o) { o.command_timeout_us = 0; }, [](auto& o) { o.seconds_to_live = -1; }}) {
    RedisStoreOptions spoilt = options;
    spoil(spoilt);
    CHECK(OpenRedisStore(spoilt).error().code == ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace cairn
