#include "cairn/state/object_index.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

uint64_t SpanOf(const Record& record) { return RecordSpan(record.payload_bytes); }

}  // namespace

void ObjectIndex::AddSegment(const SegmentIdentity& identity, uint64_t file_bytes,
                             SegmentState state) {
  CAIRN_CHECK(segments_.empty() || segments_.rbegin()->first < identity.id);
  Segment segment{.identity = identity, .state = state};
  segments_.emplace(identity.id, std::move(segment));
  SetFileBytes(identity.id, file_bytes);
}

ObjectIndex::Segment* ObjectIndex::FindSegment(SegmentId id) {
  const auto found = segments_.find(id);
  return found == segments_.end() ? nullptr : &found->second;
}

const ObjectIndex::Segment* ObjectIndex::FindSegment(SegmentId id) const {
  const auto found = segments_.find(id);
  return found == segments_.end() ? nullptr : &found->second;
}

void ObjectIndex::SetFileBytes(SegmentId id, uint64_t bytes) {
  Segment& segment = segments_.at(id);
  file_bytes_ = file_bytes_ - segment.file_bytes + bytes;
  segment.file_bytes = bytes;
}

int64_t ObjectIndex::EvictAll(SegmentId id) {
  const Segment& segment = segments_.at(id);
  int64_t evicted = 0;
  for (size_t i = 0; i < segment.records.size(); ++i) {
    if (RemoveAt(segment.records[i].key, {id, i})) ++evicted;
  }
  return evicted;
}

void ObjectIndex::DropSegment(SegmentId id) {
  EvictAll(id);
  const Segment& segment = segments_.at(id);
  CAIRN_CHECK(segment.pending == 0);
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const auto tombstone = tombstones_.find(segment.records[i].key);
    if (tombstone != tombstones_.end() && tombstone->second == Place{id, i}) {
      ForgetTombstone(tombstone);
    }
  }
  file_bytes_ -= segment.file_bytes;
  segments_.erase(id);
}

ObjectIndex::Place ObjectIndex::Reserve(SegmentId id, Record record) {
  Segment& segment = segments_.at(id);
  CAIRN_CHECK(segment.state == SegmentState::kOpen);
  record.offset = segment.end;
  segment.end = record.end();
  segment.records.push_back(record);
  segment.published.push_back(false);
  ++segment.pending;
  return {id, segment.records.size() - 1};
}

void ObjectIndex::Restore(SegmentId id, const Record& record) {
  Segment& segment = segments_.at(id);
  CAIRN_CHECK(record.offset >= segment.end);
  segment.end = record.end();
  segment.records.push_back(record);
  segment.published.push_back(false);
  ++segment.pending;
  Publish({id, segment.records.size() - 1}, record.payload_sum);
}

void ObjectIndex::Publish(Place place, const Sum128& payload_sum) {
  Segment& segment = segments_.at(place.segment);
  Record& record = segment.records[place.record];
  CAIRN_CHECK(!segment.published[place.record]);
  segment.published[place.record] = true;
  record.payload_sum = payload_sum;
  --segment.pending;

  const auto tombstone = tombstones_.find(record.key);
  const auto entry = entries_.find(record.key);
  if (tombstone != tombstones_.end() && place < tombstone->second) return;
  if (entry != entries_.end() && place < entry->second.place) return;
  if (tombstone != tombstones_.end()) ForgetTombstone(tombstone);
  if (entry != entries_.end()) Forget(entry);
  segment.live_bytes += SpanOf(record);
  if (record.kind == RecordKind::kTombstone) {
    tombstones_[record.key] = place;
  } else {
    entries_[record.key] = {place};
    object_bytes_ += record.payload_bytes;
  }
}

void ObjectIndex::Abandon(Place place) {
  Segment& segment = segments_.at(place.segment);
  CAIRN_CHECK(!segment.published[place.record]);
  --segment.pending;
}

std::optional<ObjectIndex::Place> ObjectIndex::Find(const ObjectKey& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second.place;
}

const Record& ObjectIndex::RecordAt(Place place) const {
  return segments_.at(place.segment).records[place.record];
}

void ObjectIndex::Touch(const ObjectKey& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) found->second.used = ++ticks_;
}

void ObjectIndex::Forget(std::unordered_map<ObjectKey, Entry>::iterator entry) {
  const Place place = entry->second.place;
  const Record& record = RecordAt(place);
  segments_.at(place.segment).live_bytes -= SpanOf(record);
  object_bytes_ -= record.payload_bytes;
  entries_.erase(entry);
}

void ObjectIndex::ForgetTombstone(std::unordered_map<ObjectKey, Place>::iterator tombstone) {
  segments_.at(tombstone->second.segment).live_bytes -= SpanOf(RecordAt(tombstone->second));
  tombstones_.erase(tombstone);
}

bool ObjectIndex::Remove(const ObjectKey& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  Forget(found);
  return true;
}

bool ObjectIndex::RemoveAt(const ObjectKey& key, Place place) {
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.place == place && Remove(key);
}

bool ObjectIndex::IsMostlyDead(const Segment& segment) const {
  return segment.live_bytes <= segment.file_bytes / 2;
}

std::optional<SegmentId> ObjectIndex::Victim(uint64_t bytes) const {
  const Segment* best = nullptr;
  for (const auto& [id, segment] : segments_) {
    if (segment.state != SegmentState::kSealed) continue;
    if (best == nullptr) best = &segment;  // the oldest
    if (!IsMostlyDead(segment) || segment.live_bytes > bytes) continue;
    if (!IsMostlyDead(*best) || segment.live_bytes < best->live_bytes) best = &segment;
  }
  if (best == nullptr) return std::nullopt;
  return best->identity.id;
}

std::vector<ObjectIndex::Place> ObjectIndex::WorthKeeping(SegmentId victim, uint64_t bytes) const {
  const Segment& segment = segments_.at(victim);
  const bool is_oldest = segments_.begin()->first == victim;
  const bool keeps_all = IsMostlyDead(segment) && segment.live_bytes <= bytes;
  std::vector<Place> kept;
  std::vector<std::pair<uint64_t, Place>> objects;  // by last use
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const Place place{victim, i};
    const Record& record = segment.records[i];
    if (!IsCurrent(place)) continue;
    if (record.kind == RecordKind::kTombstone) {
      if (!is_oldest) kept.push_back(place);
      continue;
    }
    const uint64_t used = entries_.at(record.key).used;
    if (used > 0 || keeps_all) objects.emplace_back(used, place);
  }
  std::ranges::sort(objects, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  uint64_t left = bytes - std::min<uint64_t>(bytes, kept.size() * kBlockBytes);
  for (const auto& [used, place] : objects) {
    const uint64_t span = SpanOf(RecordAt(place));
    if (span > left) continue;
    left -= span;
    kept.push_back(place);
  }
  return kept;
}

bool ObjectIndex::IsCurrent(Place place) const {
  const Segment& segment = segments_.at(place.segment);
  if (!segment.published[place.record]) return false;
  const Record& record = segment.records[place.record];
  if (record.kind == RecordKind::kObject) return Find(record.key) == place;
  const auto tombstone = tombstones_.find(record.key);
  return tombstone != tombstones_.end() && tombstone->second == place;
}

std::vector<ObjectInfo> ObjectIndex::List() const {
  std::vector<ObjectInfo> all;
  all.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    const Record& record = RecordAt(entry.place);
    all.push_back({key, record.metadata, Bytes(static_cast<int64_t>(record.payload_bytes))});
  }
  return all;
}

void ObjectIndex::Audit() const {
  std::map<SegmentId, uint64_t> live;
  uint64_t object_bytes = 0;
  for (const auto& [key, entry] : entries_) {
    const Segment& segment = segments_.at(entry.place.segment);
    const Record& record = segment.records.at(entry.place.record);
    CAIRN_CHECK(record.key == key && record.kind == RecordKind::kObject);
    CAIRN_CHECK(segment.published[entry.place.record]);
    CAIRN_CHECK(!tombstones_.contains(key));
    live[entry.place.segment] += SpanOf(record);
    object_bytes += record.payload_bytes;
  }
  for (const auto& [key, place] : tombstones_) {
    const Record& record = RecordAt(place);
    CAIRN_CHECK(record.key == key && record.kind == RecordKind::kTombstone);
    live[place.segment] += SpanOf(record);
  }
  CAIRN_CHECK(object_bytes == object_bytes_);
  uint64_t file_bytes = 0;
  for (const auto& [id, segment] : segments_) {
    CAIRN_CHECK(segment.live_bytes == live[id]);
    CAIRN_CHECK(segment.records.size() == segment.published.size());
    CAIRN_CHECK(segment.pending >= 0);
    file_bytes += segment.file_bytes;
  }
  CAIRN_CHECK(file_bytes == file_bytes_);
}

}  // namespace cairn
