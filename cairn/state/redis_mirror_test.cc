#include "cairn/state/redis_mirror.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "cairn/state/numbered_objects_for_tests.h"

namespace cairn {
namespace {

constexpr uint64_t kOwn = 1;
constexpr uint64_t kOther = 2;

ObjectInfo Info(uint64_t number) {
  return {NumberedKey(number), {number}, Bytes(static_cast<int64_t>(number) + 1)};
}

RedisMirror::Event PutEvent(uint64_t id, uint64_t number, uint64_t source) {
  return {.id = {0, id},
          .entry = {.source = source,
                    .key = NumberedKey(number),
                    .metadata = {number},
                    .payload_bytes = number + 1},
          .exists = true};
}

RedisMirror::Event EraseEvent(uint64_t id, uint64_t number) {
  return {
      .id = {0, id},
      .entry = {.kind = IndexEntry::Kind::kErase, .source = kOther, .key = NumberedKey(number)}};
}

TEST_CASE("stream ids are read strictly and ordered by both numbers") {
  CHECK(StreamId::Parse("12-3") == StreamId{12, 3});
  CHECK(StreamId::Parse("18446744073709551615-0") == StreamId{UINT64_MAX, 0});
  CHECK(StreamId{12, 3}.Text() == "12-3");
  for (const char* wrong : {"", "-", "1", "1-", "-1", "1-2-3", "a-1", "1-a", " 1-1", "1-1 ", "+1-1",
                            "18446744073709551616-0"}) {
    CHECK_FALSE(StreamId::Parse(wrong));
  }
  CHECK(StreamId{1, 9} < StreamId{2, 0});
}

TEST_CASE("what others put arrives once, what this store put does not") {
  RedisMirror mirror(10, kOwn);
  mirror.Follow(PutEvent(1, 7, kOther));
  mirror.Follow(PutEvent(2, 8, kOwn));
  mirror.PutHere(Info(9), {0, 3});
  mirror.Follow(PutEvent(3, 9, kOwn));
  mirror.Follow(PutEvent(4, 9, kOther));  // again: it was there
  const auto arrivals = mirror.TakeArrivals();
  REQUIRE(arrivals.size() == 1);
  CHECK(arrivals[0].key == NumberedKey(7));
  CHECK(arrivals[0].size == Bytes(8));
  CHECK(mirror.TakeArrivals().empty());
  CHECK(mirror.objects() == 3);
  mirror.Audit();
}

TEST_CASE("what arrived and went again before anyone asked is no arrival") {
  RedisMirror mirror(10, kOwn);
  mirror.Follow(PutEvent(1, 7, kOther));
  mirror.Follow(PutEvent(2, 8, kOther));
  mirror.Follow(PutEvent(3, 9, kOther));
  mirror.Follow(EraseEvent(4, 7));
  CHECK(mirror.Gone(NumberedKey(8), {0, 2}));
  CHECK(mirror.TakeArrivals().size() == 1);
}

TEST_CASE("older news never undo this store's own changes") {
  RedisMirror mirror(10, kOwn);
  mirror.ErasedHere(NumberedKey(1), {0, 7});
  mirror.PutHere(Info(2), {0, 8});
  mirror.Follow(PutEvent(5, 1, kOther));  // before the erasure
  mirror.Follow(EraseEvent(6, 2));        // before the put
  CHECK_FALSE(mirror.Find(NumberedKey(1)));
  CHECK(mirror.Find(NumberedKey(2)));
  mirror.Follow(EraseEvent(7, 1));
  mirror.Follow(PutEvent(8, 2, kOwn));
  mirror.Follow(PutEvent(9, 1, kOther));  // after the erasure
  CHECK(mirror.Find(NumberedKey(1)));
}

TEST_CASE("an answer that comes after later news changes nothing") {
  RedisMirror mirror(10, kOwn);
  mirror.Follow(PutEvent(5, 1, kOwn));
  mirror.Follow(EraseEvent(6, 1));
  mirror.PutHere(Info(1), {0, 5});
  CHECK_FALSE(mirror.Find(NumberedKey(1)));
  mirror.Follow(EraseEvent(7, 2));
  mirror.Follow(PutEvent(8, 2, kOther));
  mirror.ErasedHere(NumberedKey(2), {0, 7});
  CHECK(mirror.Find(NumberedKey(2)));
}

TEST_CASE("an object that was put anew is not gone because its former value was") {
  RedisMirror mirror(10, kOwn);
  mirror.Follow(PutEvent(1, 1, kOther));
  const StreamId before = mirror.Find(NumberedKey(1))->as_of;
  mirror.Follow(PutEvent(2, 1, kOther));
  CHECK_FALSE(mirror.Gone(NumberedKey(1), before));
  CHECK(mirror.Find(NumberedKey(1)));
}

TEST_CASE("hidden objects are neither found, listed nor arrive until all erasures have ended") {
  RedisMirror mirror(10, kOwn);
  mirror.Follow(PutEvent(1, 1, kOther));
  mirror.Hide(NumberedKey(1));
  mirror.Hide(NumberedKey(1));
  mirror.Unhide(NumberedKey(1));
  CHECK_FALSE(mirror.Find(NumberedKey(1)));
  CHECK(mirror.List().empty());
  CHECK(mirror.TakeArrivals().empty());
  mirror.Unhide(NumberedKey(1));
  CHECK(mirror.Find(NumberedKey(1)));
  CHECK(mirror.TakeArrivals().size() == 1);
}

TEST_CASE("the newest objects stay when there are more than the mirror holds") {
  RedisMirror mirror(3, kOwn);
  for (uint64_t i = 1; i <= 6; ++i) mirror.Follow(PutEvent(i, i, kOther));
  mirror.Follow(PutEvent(7, 4, kOther));
  CHECK(mirror.objects() == 3);
  for (uint64_t i = 1; i <= 6; ++i) CHECK(mirror.Find(NumberedKey(i)).has_value() == (i >= 4));
  mirror.PutHere(Info(9), {0, 9});
  CHECK_FALSE(mirror.Find(NumberedKey(5)));  // known by the oldest event
  mirror.Audit();
}

TEST_CASE("every object is looked after in turn") {
  RedisMirror mirror(100, kOwn);
  for (uint64_t i = 1; i <= 10; ++i) mirror.Follow(PutEvent(i, i, kOther));
  std::map<ObjectKey, int> times;
  for (int round = 0; round < 8; ++round) {  // 3 + 3 + 3 + 1, twice
    for (const auto& [key, as_of] : mirror.NextToCheck(3)) ++times[key];
  }
  CHECK(times.size() == 10);
  for (const auto& [key, count] : times) CHECK(count == 2);
}

TEST_CASE("marks of erasures don't grow without bound under ids that never come") {
  RedisMirror mirror(5, kOwn);
  for (uint64_t i = 1; i <= 100; ++i) {
    mirror.ErasedHere(NumberedKey(i), {UINT64_MAX, i});
    mirror.Audit();
  }
  for (uint64_t i = 1; i <= 100; ++i) mirror.PutHere(Info(i), {7, 7});  // one id for all
  CHECK(mirror.objects() == 5);
  mirror.Audit();
}

// Several stores' mirrors follow one stream at different speeds, each with its own answers early or
// late: all end with what the stream says.
TEST_CASE("whatever the order in which news and answers come, the stream decides") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<RedisMirror::Event> stream;
    std::map<uint64_t, bool> truth;
    RedisMirror mirror(1000, kOwn);
    std::vector<RedisMirror::Event> answers;
    size_t followed = 0;
    const auto follow = [&] { mirror.Follow(stream[followed++]); };
    for (uint64_t id = 1; id <= 60; ++id) {
      const uint64_t number = random() % 4;
      const uint64_t source = random() % 2 == 0 ? kOwn : kOther;
      RedisMirror::Event event =
          random() % 2 == 0 ? PutEvent(id, number, source) : EraseEvent(id, number);
      event.entry.source = source;
      truth[number] = event.entry.kind == IndexEntry::Kind::kPut;
      stream.push_back(event);
      if (source == kOwn) answers.push_back(event);
      while (followed < stream.size() && random() % 2 == 0) follow();
      while (!answers.empty() && random() % 2 == 0) {
        const RedisMirror::Event& answer = answers.front();
        if (answer.entry.kind == IndexEntry::Kind::kPut) {
          mirror.PutHere(Info(answer.entry.payload_bytes - 1), answer.id);
        } else {
          mirror.ErasedHere(answer.entry.key, answer.id);
        }
        answers.erase(answers.begin());
      }
      mirror.Audit();
    }
    while (followed < stream.size()) follow();
    for (const auto& [number, there] : truth) {
      CHECK(mirror.Find(NumberedKey(number)).has_value() == there);
    }
    // Answers that come last of all change nothing.
    for (const RedisMirror::Event& answer : answers) mirror.ErasedHere(answer.entry.key, answer.id);
    for (const auto& [number, there] : truth) {
      CHECK(mirror.Find(NumberedKey(number)).has_value() == there);
    }
  }
}

}  // namespace
}  // namespace cairn
