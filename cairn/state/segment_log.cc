#include "cairn/state/segment_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {

std::string SegmentLog::PathOf(SegmentId id) const {
  return fmt::format("{}/{}", options_.folder, SegmentFileName(id));
}

uint64_t SegmentLog::payload_bytes_max() const {
  // A segment of this object alone, beside one that is copied from, within the bound.
  return options_.bound_bytes / 4 - 4 * kBlockBytes;
}

SegmentLog::~SegmentLog() { FinishSegment(); }

Result<SegmentLog::Reservation> SegmentLog::Reserve(std::span<const NewRecord> records) {
  CAIRN_CHECK(!records.empty());
  std::unique_lock lock(mutex_);
  if (!HasRoomFor(records[0].payload_bytes)) {
    lock.unlock();
    CAIRN_TRY(BeginSegment(records[0].payload_bytes));
    lock.lock();
  }
  Reservation reservation{.segment = index_.FindSegment(*open_)->identity};
  for (const NewRecord& record : records) {
    if (!HasRoomFor(record.payload_bytes)) break;
    const Place place = index_.Reserve(*open_, {.kind = record.kind,
                                                .key = record.key,
                                                .metadata = record.metadata,
                                                .payload_bytes = record.payload_bytes});
    reservation.places.push_back(place);
    reservation.records.push_back(index_.RecordAt(place));
    if (record.kind == RecordKind::kTombstone) {
      const auto hidden = hidden_.find(record.key);
      if (hidden != hidden_.end()) hidden->second.tombstone = place;
    }
  }
  return reservation;
}

Status SegmentLog::Write(Reservation reservation, std::span<const Pieces> payloads) {
  CAIRN_CHECK(payloads.size() == reservation.records.size());
  Status status;
  {
    BlockBuffers::Loan buffer(buffers_);
    BlockWriter writer(*open_file_, reservation.records.front().offset, buffer.bytes());
    for (size_t i = 0; i < payloads.size() && status; ++i) {
      Record& record = reservation.records[i];
      record.payload_sum = PayloadSum(reservation.segment, payloads[i]);
      status = writer.AppendRecord(reservation.segment, record, payloads[i]);
    }
    if (status) status = writer.Finish();
    if (status) status = open_file_->Sync();
  }
  const std::lock_guard lock(mutex_);
  ObjectIndex::Segment* segment = index_.FindSegment(reservation.segment.id);
  // After an error the system may have dropped what it could not write: nothing more goes there.
  if (!status) segment->state = ObjectIndex::SegmentState::kFull;
  for (size_t i = 0; i < reservation.places.size(); ++i) {
    const Place place = reservation.places[i];
    const Record& record = reservation.records[i];
    // A tombstone that failed may be on the disk all the same. It counts, so that a later Put of
    // its key is written behind it and not taken for done.
    if (status || record.kind == RecordKind::kTombstone) {
      index_.Publish(place, record.payload_sum);
    } else {
      index_.Abandon(place);
    }
    if (status) {
      counters_.written_bytes += record.end() - record.offset;
    }
    const auto hidden = hidden_.find(record.key);
    if (hidden != hidden_.end() && hidden->second.tombstone == place) hidden_.erase(hidden);
  }
  if (segment->pending == 0) written_.notify_all();
  return status;
}

std::optional<SegmentLog::Place> SegmentLog::FindVisible(const ObjectKey& key) const {
  const std::optional<Place> place = index_.Find(key);
  if (!place) return std::nullopt;
  const auto hidden = hidden_.find(key);
  if (hidden == hidden_.end()) return place;
  const std::optional<Place> tombstone = hidden->second.tombstone;
  return tombstone && *tombstone < *place ? place : std::nullopt;
}

SegmentLog::Reading SegmentLog::Read(const ObjectKey& key,
                                     std::span<const std::span<std::byte>> pieces) {
  uint64_t wanted = 0;
  for (const std::span<std::byte> piece : pieces) wanted += piece.size();
  std::optional<Place> missing;  // where its file was not there
  while (true) {
    std::unique_lock lock(mutex_);
    const std::optional<Place> place = FindVisible(key);
    if (!place) return {ObjectOutcome::kAbsent, ""};
    const Record record = index_.RecordAt(*place);
    if (record.payload_bytes != wanted) return {ObjectOutcome::kAbsent, ""};
    const SegmentIdentity identity = index_.FindSegment(place->segment)->identity;
    const std::string path = PathOf(place->segment);
    if (missing == place) {
      LoseSegment(place->segment);
      return {ObjectOutcome::kDamaged, fmt::format("{}: the file is gone", path)};
    }
    index_.Touch(key);
    lock.unlock();

    const auto file = options_.files->OpenDirect(path, FileOpening::kRead);
    if (!file && file.error().code == ErrorCode::kNotFound) {
      missing = place;  // compaction moves objects, then removes the file; or somebody else did
      continue;
    }
    if (!file) return {ObjectOutcome::kFailed, file.error().message};
    BlockBuffers::Loan buffer(buffers_);
    const auto reading = ReadRecord(**file, identity, record, pieces, buffer.bytes());
    if (reading && *reading == RecordReading::kIntact) return {};
    lock.lock();
    if (index_.RemoveAt(key, *place)) ++counters_.damaged;
    const std::string why =
        reading ? "its bytes are not those that were put" : reading.error().message;
    return {ObjectOutcome::kDamaged, fmt::format("{}: object at {}: {}", path, record.offset, why)};
  }
}

void SegmentLog::LoseSegment(SegmentId id) {
  counters_.damaged += index_.EvictAll(id);
  ObjectIndex::Segment* segment = index_.FindSegment(id);
  // What were written there now would be lost with the last handle to it.
  if (open_ == id) segment->state = ObjectIndex::SegmentState::kFull;
}

void SegmentLog::Hide(const ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  hidden_[key] = {};
}

void SegmentLog::Unhide(const ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  const auto hidden = hidden_.find(key);
  if (hidden != hidden_.end() && !hidden->second.tombstone) hidden_.erase(hidden);
}

std::optional<ObjectInfo> SegmentLog::Find(const ObjectKey& key) const {
  const std::lock_guard lock(mutex_);
  const std::optional<Place> place = FindVisible(key);
  if (!place) return std::nullopt;
  const Record& record = index_.RecordAt(*place);
  return ObjectInfo{key, record.metadata, Bytes(static_cast<int64_t>(record.payload_bytes))};
}

std::vector<ObjectInfo> SegmentLog::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<ObjectInfo> all = index_.List();
  std::erase_if(all, [this](const ObjectInfo& info) { return !FindVisible(info.key); });
  return all;
}

ObjectStoreStats SegmentLog::Stats() const {
  const std::lock_guard lock(mutex_);
  ObjectStoreStats stats;
  stats.objects = static_cast<int64_t>(index_.objects());
  stats.object_bytes = Bytes(static_cast<int64_t>(index_.object_bytes()));
  stats.stored_bytes = Bytes(static_cast<int64_t>(index_.file_bytes()));
  stats.bound_bytes = Bytes(static_cast<int64_t>(options_.bound_bytes));
  stats.evicted = counters_.evicted;
  stats.damaged = counters_.damaged;
  stats.torn = counters_.torn;
  stats.written_bytes = Bytes(static_cast<int64_t>(counters_.written_bytes));
  stats.compacted_bytes = Bytes(static_cast<int64_t>(counters_.compacted_bytes));
  return stats;
}

void SegmentLog::Audit() const {
  const std::lock_guard lock(mutex_);
  index_.Audit();
  CAIRN_CHECK(index_.file_bytes() <= options_.bound_bytes);
}

}  // namespace cairn
