// SegmentLog's part that begins, finishes and gives up segments, and finds them again on opening.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/base/env.h"
#include "cairn/state/segment_log.h"

namespace cairn {
namespace {

constexpr size_t kFilesMax = 1'000'000;

uint64_t SegmentBytesFor(uint64_t payload_bytes) {
  return kBlockBytes + RecordSpan(payload_bytes) + IndexSpan(1);
}

}  // namespace

bool SegmentLog::HasRoomFor(uint64_t payload_bytes) const {
  if (!open_) return false;
  const ObjectIndex::Segment& segment = *index_.FindSegment(*open_);
  if (segment.state != ObjectIndex::SegmentState::kOpen) return false;
  const uint64_t needed = RecordSpan(payload_bytes) + IndexSpan(segment.records.size() + 1);
  return segment.end + needed <= segment.file_bytes;
}

Status SegmentLog::BeginSegment(uint64_t payload_bytes) {
  FinishSegment();
  const uint64_t bytes = std::max(options_.segment_bytes, SegmentBytesFor(payload_bytes));
  const auto next_victim = [this](uint64_t over, uint64_t copied_max) -> std::optional<SegmentId> {
    const std::lock_guard lock(mutex_);
    if (index_.file_bytes() <= over) return std::nullopt;
    return index_.Victim(copied_max);
  };
  while (const auto victim = next_victim(options_.bound_bytes - bytes, 0)) {
    CAIRN_TRY(GiveUp(*victim));
  }
  CAIRN_CHECK(index_.file_bytes() + bytes <= options_.bound_bytes);  // every segment was a victim
  const SegmentIdentity identity{next_id_, RandomSeed()};
  next_id_ = SegmentId(next_id_.value() + 1);
  CAIRN_ASSIGN(open_file_, CreateSegment(identity, bytes));
  {
    const std::lock_guard lock(mutex_);
    index_.AddSegment(identity, bytes, ObjectIndex::SegmentState::kOpen);
    open_ = identity.id;
  }
  // Half of what the first record leaves may be filled with what is saved from old segments.
  uint64_t copied_max = (bytes - SegmentBytesFor(payload_bytes)) / 2;
  while (const auto victim =
             next_victim(options_.bound_bytes - options_.segment_bytes, copied_max)) {
    CAIRN_ASSIGN(const uint64_t copied, CopyLive(*victim, copied_max));
    copied_max -= std::min(copied_max, copied);
    CAIRN_TRY(GiveUp(*victim));
  }
  return {};
}

Result<std::unique_ptr<File>> SegmentLog::CreateSegment(const SegmentIdentity& identity,
                                                        uint64_t bytes) {
  const std::string path = PathOf(identity.id);
  CAIRN_ASSIGN(std::unique_ptr<File> file, options_.files->OpenDirect(path, FileOpening::kCreate));
  Status status = file->Reserve(bytes);
  if (status) status = file->WriteAt(0, EncodeSegmentHeader(identity));
  if (status) status = file->Sync();
  if (status) status = options_.files->SyncFolder(options_.folder);
  if (status) return file;
  if (!options_.files->Remove(path)) {  // it counts, then, until it can be given up
    const std::lock_guard lock(mutex_);
    index_.AddSegment(identity, bytes, ObjectIndex::SegmentState::kSealed);
  }
  return std::unexpected(status.error());
}

void SegmentLog::FinishSegment() {
  std::unique_lock lock(mutex_);
  if (!open_) return;
  ObjectIndex::Segment* segment = index_.FindSegment(*open_);
  segment->state = ObjectIndex::SegmentState::kFull;
  written_.wait(lock, [&] { return segment->pending == 0; });
  lock.unlock();
  Seal(*open_file_, *open_);
  open_file_.reset();
  lock.lock();
  open_.reset();
}

void SegmentLog::Seal(File& file, SegmentId id) {
  SegmentIdentity identity;
  std::vector<Record> records;
  uint64_t end = 0;
  {
    const std::lock_guard lock(mutex_);
    const ObjectIndex::Segment& segment = *index_.FindSegment(id);
    identity = segment.identity;
    end = segment.end;
    for (size_t i = 0; i < segment.records.size(); ++i) {
      if (segment.published[i]) records.push_back(segment.records[i]);
    }
  }
  BlockBuffers::Loan buffer(buffers_);
  BlockWriter writer(file, end, buffer.bytes());
  const std::vector<std::byte> index = EncodeIndex(identity, records, end);
  Status status = writer.Append(index);
  if (status) status = writer.Finish();
  if (status) status = file.Truncate(end + index.size());
  if (status) status = file.Sync();
  const Result<uint64_t> size = file.Size();
  const std::lock_guard lock(mutex_);
  // Without an index the next Open reads the segment instead: slower, not worse.
  index_.FindSegment(id)->state = ObjectIndex::SegmentState::kSealed;
  if (size) index_.SetFileBytes(id, *size);
}

Status SegmentLog::GiveUp(SegmentId victim) {
  {
    const std::lock_guard lock(mutex_);
    counters_.evicted += index_.EvictAll(victim);
  }
  const Status removed = options_.files->Remove(PathOf(victim));
  if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
  // A tombstone may be dropped only when what it hides can't come back.
  CAIRN_TRY(options_.files->SyncFolder(options_.folder));
  const std::lock_guard lock(mutex_);
  index_.DropSegment(victim);
  return {};
}

Result<uint64_t> SegmentLog::CopyLive(SegmentId victim, uint64_t bytes) {
  std::vector<Place> places;
  Reservation copies;
  {
    const std::lock_guard lock(mutex_);
    places = index_.WorthKeeping(victim, bytes);
    copies.segment = index_.FindSegment(*open_)->identity;
  }
  if (places.empty()) return 0;
  const auto from = options_.files->OpenDirect(PathOf(victim), FileOpening::kRead);
  if (!from && from.error().code != ErrorCode::kNotFound) return std::unexpected(from.error());
  if (!from) {
    const std::lock_guard lock(mutex_);
    LoseSegment(victim);
    return 0;
  }
  Status status;
  for (const Place place : places) {
    const Result<bool> copied = CopyRecord(**from, place, copies);
    if (!copied) status = std::unexpected(copied.error());
    if (!status) break;
  }
  if (status && !copies.places.empty()) status = open_file_->Sync();
  const std::lock_guard lock(mutex_);
  uint64_t copied_bytes = 0;
  for (size_t i = 0; i < copies.places.size(); ++i) {
    if (!status) {
      index_.Abandon(copies.places[i]);
      continue;
    }
    index_.Publish(copies.places[i], copies.records[i].payload_sum);
    copied_bytes += copies.records[i].end() - copies.records[i].offset;
  }
  counters_.written_bytes += copied_bytes;
  counters_.compacted_bytes += copied_bytes;
  if (status) return copied_bytes;
  index_.FindSegment(*open_)->state = ObjectIndex::SegmentState::kFull;
  return std::unexpected(status.error());
}

// False where the record is not needed any more, or damaged.
Result<bool> SegmentLog::CopyRecord(const File& from, Place place, Reservation& copies) {
  Record record;
  SegmentIdentity identity;
  {
    const std::lock_guard lock(mutex_);
    record = index_.RecordAt(place);
    identity = index_.FindSegment(place.segment)->identity;
  }
  BlockBuffers::Loan buffer(buffers_);
  const auto check = CheckRecord(from, identity, record, copies.segment, buffer.bytes());
  const bool intact = check && check->reading == RecordReading::kIntact;
  Record copy;
  {
    const std::lock_guard lock(mutex_);
    if (!index_.IsCurrent(place)) return false;
    if (!intact && record.kind == RecordKind::kObject) return LoseRecord(place);
    if (!HasRoomFor(record.payload_bytes)) {
      if (record.kind == RecordKind::kObject) return false;
      return Fail(ErrorCode::kExhausted, "{}: no room to compact into", options_.folder);
    }
    copies.places.push_back(index_.Reserve(*open_, record));
    copy = index_.RecordAt(copies.places.back());
  }
  // A tombstone counts even where its bytes are damaged: it has no payload.
  copy.payload_sum = intact ? check->sum_there : PayloadSum(copies.segment, {});
  copies.records.push_back(copy);
  BlockBuffers::Loan to_buffer(buffers_);
  BlockWriter writer(*open_file_, copy.offset, to_buffer.bytes());
  CAIRN_ASSIGN(const RecordReading reading,
               WriteCopy(from, record, buffer.bytes(), writer, copies.segment, copy));
  if (reading == RecordReading::kIntact) return true;
  const std::lock_guard lock(mutex_);
  index_.Abandon(copies.places.back());
  copies.places.pop_back();
  copies.records.pop_back();
  return LoseRecord(place);
}

// Always false: there is nothing to copy any more.
bool SegmentLog::LoseRecord(Place place) {
  if (index_.RemoveAt(index_.RecordAt(place).key, place)) ++counters_.damaged;
  return false;
}

Result<std::unique_ptr<SegmentLog>> SegmentLog::Open(const Options& options) {
  CAIRN_CHECK(options.files != nullptr);
  CAIRN_CHECK(options.segment_bytes % kBlockBytes == 0);
  CAIRN_CHECK(options.segment_bytes >= 4 * kBlockBytes);
  CAIRN_CHECK(options.segment_bytes <= options.bound_bytes / 4);
  CAIRN_TRY(options.files->MakeFolder(options.folder));
  // The constructor is private: make_unique can't be used.
  std::unique_ptr<SegmentLog> log(new SegmentLog(options));
  CAIRN_ASSIGN(log->lock_, options.files->Lock(options.folder + "/lock"));
  CAIRN_TRY(log->Recover());
  return log;
}

Status SegmentLog::Recover() {
  CAIRN_ASSIGN(const auto names, options_.files->List(options_.folder, kFilesMax));
  for (const std::string& name : names) {
    // Sorted by name is sorted by number: all names have equally many digits.
    if (const auto id = ParseSegmentFileName(name)) CAIRN_TRY(LoadSegment(*id));
  }
  while (index_.file_bytes() > options_.bound_bytes - options_.segment_bytes) {
    CAIRN_TRY(GiveUp(*index_.Victim(0)));
  }
  return ResumeLast();
}

Status SegmentLog::LoadSegment(SegmentId id) {
  next_id_ = SegmentId(id.value() + 1);
  const std::string path = PathOf(id);
  CAIRN_ASSIGN(const auto file, options_.files->OpenDirect(path, FileOpening::kWrite));
  BlockBuffers::Loan buffer(buffers_);
  const Result<SegmentContents> contents = ReadSegment(*file, id, buffer.bytes());
  if (!contents && contents.error().code == ErrorCode::kUnsupported) {
    return Fail(ErrorCode::kUnsupported, "{} {}", path, contents.error().message);
  }
  CAIRN_ASSIGN(const uint64_t size, file->Size());
  if (!contents) {  // nothing in it can be trusted
    // The header is the first write to a file of zeros: a crash may come before it.
    const std::span<const std::byte> first = buffer.bytes().first(std::min(size, kBlockBytes));
    const bool blank = std::ranges::all_of(first, [](std::byte b) { return b == std::byte{0}; });
    ++(blank ? counters_.torn : counters_.damaged);
    CAIRN_TRY(options_.files->Remove(path));
    return options_.files->SyncFolder(options_.folder);
  }
  index_.AddSegment(contents->identity, size, ObjectIndex::SegmentState::kFull);
  for (const Record& record : contents->records) index_.Restore(id, record);
  counters_.torn += contents->torn;
  if (contents->sealed) {
    index_.FindSegment(id)->state = ObjectIndex::SegmentState::kSealed;
  } else {
    Seal(*file, id);
  }
  return {};
}

// Goes on where the last process stopped, so that many short runs don't leave many short files.
Status SegmentLog::ResumeLast() {
  if (index_.segments().empty()) return {};
  const ObjectIndex::Segment& last = index_.segments().rbegin()->second;
  const SegmentId id = last.identity.id;
  const uint64_t bytes = options_.segment_bytes;
  const uint64_t total = index_.file_bytes() - last.file_bytes + bytes;
  if (last.file_bytes > bytes / 4 * 3 || total > options_.bound_bytes - bytes) return {};
  CAIRN_ASSIGN(auto file, options_.files->OpenDirect(PathOf(id), FileOpening::kWrite));
  if (!file->Reserve(bytes)) return {};  // it stays as short as it is
  open_file_ = std::move(file);
  open_ = id;
  index_.FindSegment(id)->state = ObjectIndex::SegmentState::kOpen;
  index_.SetFileBytes(id, bytes);
  return {};
}

}  // namespace cairn
