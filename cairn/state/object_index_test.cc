#include "cairn/state/object_index.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace cairn {
namespace {

using Place = ObjectIndex::Place;
using SegmentState = ObjectIndex::SegmentState;

ObjectKey Key(int number) {
  ObjectKey key;
  key.bytes[0] = static_cast<std::byte>(number);
  return key;
}

// Records of one block each, in segments of nine blocks: eight records.
class Segments {
 public:
  explicit Segments(ObjectIndex& index) : index_(index) {}
  SegmentId Begin() {
    const SegmentId id{++last_};
    index_.AddSegment({id, 0}, 9 * kBlockBytes, SegmentState::kOpen);
    return id;
  }
  Place Reserve(SegmentId id, int key) {
    return index_.Reserve(id, {.key = Key(key), .payload_bytes = 100});
  }
  Place ReserveTombstone(SegmentId id, int key) {
    return index_.Reserve(id, {.kind = RecordKind::kTombstone, .key = Key(key)});
  }
  Place Add(SegmentId id, int key) { return Published(Reserve(id, key)); }
  Place AddTombstone(SegmentId id, int key) { return Published(ReserveTombstone(id, key)); }
  void Seal(SegmentId id) { index_.FindSegment(id)->state = SegmentState::kSealed; }

 private:
  Place Published(Place place) {
    index_.Publish(place, {});
    index_.Audit();
    return place;
  }
  ObjectIndex& index_;
  uint64_t last_ = 0;
};

TEST_CASE("an object is found once it is published, and the later one of a key counts") {
  ObjectIndex index;
  Segments segments(index);
  const SegmentId a = segments.Begin();
  const Place first = segments.Reserve(a, 1);
  CHECK_FALSE(index.Find(Key(1)));
  index.Publish(first, {5, 6});
  CHECK(index.Find(Key(1)) == first);
  CHECK(index.RecordAt(first).payload_sum == Sum128{5, 6});
  const Place second = segments.Reserve(a, 1);
  const Place third = segments.Reserve(a, 1);
  index.Publish(third, {});
  index.Publish(second, {});  // writes end in any order
  CHECK(index.Find(Key(1)) == third);
  CHECK(index.objects() == 1);
  CHECK(index.object_bytes() == 100);
  CHECK(index.FindSegment(a)->live_bytes == kBlockBytes);
  index.Audit();
}

TEST_CASE("a tombstone hides what lies before it, whenever that is published") {
  ObjectIndex index;
  Segments segments(index);
  const SegmentId a = segments.Begin();
  segments.Add(a, 1);
  const Place slow = segments.Reserve(a, 1);
  segments.AddTombstone(a, 1);
  CHECK_FALSE(index.Find(Key(1)));
  index.Publish(slow, {});
  CHECK_FALSE(index.Find(Key(1)));
  const Place again = segments.Add(a, 1);
  CHECK(index.Find(Key(1)) == again);
}

TEST_CASE("a record whose writing failed is never found and holds nothing up") {
  ObjectIndex index;
  Segments segments(index);
  const SegmentId a = segments.Begin();
  const Place place = segments.Reserve(a, 1);
  CHECK(index.FindSegment(a)->pending == 1);
  index.Abandon(place);
  CHECK(index.FindSegment(a)->pending == 0);
  CHECK_FALSE(index.Find(Key(1)));
  CHECK_FALSE(index.IsCurrent(place));
}

TEST_CASE("the victim is the emptiest of those that are mostly dead, else the oldest") {
  ObjectIndex index;
  Segments segments(index);
  CHECK_FALSE(index.Victim(UINT64_MAX));
  const SegmentId a = segments.Begin();
  for (int key = 0; key < 8; ++key) segments.Add(a, key);
  CHECK_FALSE(index.Victim(UINT64_MAX));  // it is not sealed
  segments.Seal(a);
  const SegmentId b = segments.Begin();
  for (int key = 10; key < 18; ++key) segments.Add(b, key);
  segments.Seal(b);
  CHECK(index.Victim(UINT64_MAX) == a);
  for (int key = 10; key < 14; ++key) index.Remove(Key(key));
  CHECK(index.Victim(4 * kBlockBytes) == b);
  CHECK(index.Victim(4 * kBlockBytes - 1) == a);  // there is no room for what lives
  for (int key = 0; key < 8; ++key) index.Remove(Key(key));
  CHECK(index.Victim(UINT64_MAX) == a);
}

TEST_CASE("of a full segment what was read is worth keeping, the latest first") {
  ObjectIndex index;
  Segments segments(index);
  const SegmentId a = segments.Begin();
  std::vector<Place> places;
  for (int key = 0; key < 8; ++key) places.push_back(segments.Add(a, key));
  segments.Seal(a);
  CHECK(index.WorthKeeping(a, UINT64_MAX).empty());
  index.Touch(Key(2));
  index.Touch(Key(6));
  index.Touch(Key(4));
  index.Touch(Key(2));
  CHECK(index.WorthKeeping(a, UINT64_MAX) == std::vector<Place>{places[2], places[4], places[6]});
  CHECK(index.WorthKeeping(a, 2 * kBlockBytes) == std::vector<Place>{places[2], places[4]});
  for (int key = 0; key < 4; ++key) index.Remove(Key(key));
  CHECK(index.WorthKeeping(a, UINT64_MAX).size() == 4);  // mostly dead: all of it
}

TEST_CASE("a tombstone is kept while an older segment may have what it hides") {
  ObjectIndex index;
  Segments segments(index);
  const SegmentId a = segments.Begin();
  segments.Add(a, 1);
  segments.Seal(a);
  const SegmentId b = segments.Begin();
  const Place tombstone = segments.AddTombstone(b, 1);
  segments.AddTombstone(b, 2);
  segments.Add(b, 2);  // put again: its tombstone has done its work
  segments.Seal(b);
  CHECK(index.WorthKeeping(b, UINT64_MAX).front() == tombstone);
  CHECK(index.WorthKeeping(b, UINT64_MAX).size() == 2);
  index.DropSegment(a);
  CHECK(index.WorthKeeping(b, UINT64_MAX).size() == 1);
  CHECK(index.IsCurrent(tombstone));
  index.DropSegment(b);
  CHECK(index.objects() == 0);
  CHECK(index.file_bytes() == 0);
  index.Audit();
}

TEST_CASE("whatever happens in whatever order, the latest published record of each key counts") {
  std::mt19937_64 random(3);
  ObjectIndex index;
  Segments segments(index);
  struct Known {
    Place place;
    bool tombstone;
  };
  std::map<int, Known> latest;
  std::vector<std::pair<int, Known>> pending;
  SegmentId open = segments.Begin();
  for (int step = 0; step < 20'000; ++step) {
    const int key = static_cast<int>(random() % 20);
    if (index.FindSegment(open)->end < 9 * kBlockBytes && random() % 2 == 0) {
      const bool tombstone = random() % 4 == 0;
      pending.push_back(
          {key,
           {tombstone ? segments.ReserveTombstone(open, key) : segments.Reserve(open, key),
            tombstone}});
    } else if (!pending.empty()) {
      std::swap(pending[random() % pending.size()], pending.back());
      const auto [done, known] = pending.back();
      pending.pop_back();
      if (random() % 10 == 0) {
        index.Abandon(known.place);
      } else {
        index.Publish(known.place, {});
        const auto there = latest.find(done);
        if (there == latest.end() || there->second.place < known.place) latest[done] = known;
      }
    } else if (random() % 4 == 0) {
      segments.Seal(open);
      open = segments.Begin();
      if (index.segments().size() > 6) {
        const SegmentId victim = *index.Victim(UINT64_MAX);
        std::erase_if(latest, [&](auto& entry) { return entry.second.place.segment == victim; });
        index.DropSegment(victim);
      }
    }
    const auto there = latest.find(key);
    const bool findable = there != latest.end() && !there->second.tombstone;
    REQUIRE(index.Find(Key(key)).has_value() == findable);
    if (findable) REQUIRE(index.Find(Key(key)) == there->second.place);
    if (step % 100 == 0) index.Audit();
  }
}

}  // namespace
}  // namespace cairn
