#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/state/redis_store_internal.h"

namespace cairn {
namespace {

// Index entries read at once, and objects looked after at each look.
constexpr size_t kIndexPart = 1000;
constexpr size_t kCheckedAtOnce = 256;

}  // namespace

RequestId RedisStore::NextRequest() {
  ++unfinished_;
  return RequestId(++requests_);
}

RequestId RedisStore::Complete(RequestId request, ObjectOutcome outcome, std::string problem) {
  --unfinished_;
  completions_.push_back({request, outcome, std::move(problem)});
  changed_.notify_all();
  return request;
}

Status RedisStore::CheckRequests(size_t waiting) const {
  if (waiting < static_cast<size_t>(options_.requests_max)) return {};
  return Fail(ErrorCode::kExhausted, "{}: {} requests wait already", name_, waiting);
}

RequestId RedisStore::Enqueue(Change change) {
  change.request = NextRequest();
  const RequestId request = change.request;
  ++queued_changes_;
  Writer& writer = writers_[std::hash<ObjectKey>()(change.key) % writers_.size()];
  writer.queue.push_back(std::move(change));
  StartWriter(writer);
  return request;
}

void RedisStore::StartLane(Lane& lane, std::function<void()> work, std::function<void()> start) {
  lane.busy = true;
  options_.executor->Run([this, &lane, work = std::move(work), start = std::move(start),
                          ticket = JobTicket(mutex_, changed_, jobs_)]() mutable {
    work();
    // In one step, or a request between them would find the lane busy and none would see it.
    const std::lock_guard lock(mutex_);
    lane.busy = false;
    start();
    ticket.Return();
  });
}

void RedisStore::StartWriter(Writer& writer) {
  if (closing_ || writer.busy || writer.queue.empty()) return;
  StartLane(
      writer, [this, &writer] { ChangeOne(writer); }, [this, &writer] { StartWriter(writer); });
}

void RedisStore::StartReader() {
  if (closing_ || gets_.empty()) return;
  const auto idle = std::ranges::find(readers_, false, &Lane::busy);
  if (idle == readers_.end()) return;
  Lane& reader = *idle;
  StartLane(reader, [this, &reader] { ReadOne(reader); }, [this] { StartReader(); });
}

void RedisStore::LookAtIndexWhenDue() {
  if (closing_ || index_.busy || NowMicroseconds() < index_due_us_) return;
  StartLane(
      index_, [this] { LookAtIndex(); },
      [this] {
        // On an executor of others it might be the only thing that ever runs.
        if (threads_ != nullptr) LookAtIndexWhenDue();
      });
}

bool RedisStore::MayTry(std::string& problem) {
  if (outage_.MayTry(NowMicroseconds())) return true;
  problem = outage_.problem();
  return false;
}

void RedisStore::Note(const Status& status) {
  if (status || status.error().code != ErrorCode::kIo) {
    outage_.Succeeded();
  } else {
    outage_.Failed(NowMicroseconds(), status.error().message);
  }
}

Result<std::optional<StreamId>> RedisStore::Do(RedisObjects& objects, const Change& change,
                                               bool is_known) {
  if (change.bytes == 0) {
    CAIRN_ASSIGN(const StreamId id, objects.Erase(change.key));
    return std::optional(id);
  }
  if (is_known) {
    // The mirror may be behind: the server evicts without a word.
    CAIRN_ASSIGN(const bool exists, objects.Touch(change.key));
    if (exists) return std::optional<StreamId>();
  }
  CAIRN_ASSIGN(const StreamId id, objects.Put(change.key, change.metadata, change.pieces));
  return std::optional(id);
}

void RedisStore::ChangeOne(Writer& writer) {
  Change change;
  bool is_known = false;
  bool may_try = false;
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || writer.queue.empty()) return;
    change = std::move(writer.queue.front());
    writer.queue.pop_front();
    --queued_changes_;
    is_known = mirror_.Find(change.key).has_value();
    may_try = MayTry(problem);
  }
  if (!may_try) {
    const std::lock_guard lock(mutex_);
    return FinishChange(change, Fail(ErrorCode::kIo, "{}", problem));
  }
  const int64_t begin_us = NowMicroseconds();
  const Result<std::optional<StreamId>> result = Do(writer.objects, change, is_known);
  const int64_t elapsed_us = NowMicroseconds() - begin_us;

  const std::lock_guard lock(mutex_);
  Note(result ? Status() : std::unexpected(result.error()));
  if (result && *result && change.bytes > 0) {
    write_rate_.Add(change.bytes, elapsed_us);
    stats_.written_bytes +=
        Bytes(static_cast<int64_t>(change.bytes + kObjectHeaderBytes + kIndexEntryBytes));
  }
  FinishChange(change, result);
}

void RedisStore::FinishChange(const Change& change, const Result<std::optional<StreamId>>& result) {
  if (change.bytes > 0) {
    queued_bytes_ -= change.bytes;
    --queued_puts_;
    ++(result ? stats_.puts : stats_.puts_failed);
    if (result && *result) {
      const Bytes size(static_cast<int64_t>(change.bytes));
      mirror_.PutHere({change.key, change.metadata, size}, **result);
    }
  } else {
    if (result) {
      mirror_.ErasedHere(change.key, **result);
      ++stats_.erased;
    }
    mirror_.Unhide(change.key);
  }
  Complete(change.request, result ? ObjectOutcome::kDone : ObjectOutcome::kFailed,
           result ? "" : result.error().message);
}

void RedisStore::ReadOne(Lane& reader) {
  PendingGet get;
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || gets_.empty()) return;
    get = std::move(gets_.front());
    gets_.pop_front();
    std::string problem;
    if (!MayTry(problem)) {
      Complete(get.request, ObjectOutcome::kFailed, std::move(problem));
      return;
    }
  }
  const int64_t begin_us = NowMicroseconds();
  auto reading = reader.objects.Get(get.key, get.pieces);
  const int64_t elapsed_us = NowMicroseconds() - begin_us;

  const std::lock_guard lock(mutex_);
  Note(reading ? Status() : std::unexpected(reading.error()));
  if (!reading) {
    Complete(get.request, ObjectOutcome::kFailed, reading.error().message);
    return;
  }
  if (reading->outcome == ObjectOutcome::kDone) {
    const uint64_t bytes = TotalBytes(get.pieces);
    ++stats_.gets_found;
    stats_.read_bytes += Bytes(static_cast<int64_t>(bytes));
    read_rate_.Add(bytes, elapsed_us);
  } else {
    const bool was_known = mirror_.Gone(get.key, get.as_of);
    // Of what was damaged the index may have told already: this very read removed it.
    if (reading->outcome == ObjectOutcome::kDamaged) {
      ++stats_.damaged;
    } else {
      ++stats_.gets_absent;
      stats_.evicted += was_known;
    }
  }
  Complete(get.request, reading->outcome, std::move(reading->problem));
}

void RedisStore::LookAtIndex() {
  StreamId cursor;
  {
    const std::lock_guard lock(mutex_);
    index_due_us_ = NowMicroseconds() + options_.poll_interval_us;
    std::string problem;
    if (closing_ || !MayTry(problem)) return;
    cursor = mirror_.cursor();
  }
  auto part = index_.objects.ReadIndex(cursor, kIndexPart);
  bool is_behind = false;
  {
    const std::lock_guard lock(mutex_);
    Note(part ? Status() : std::unexpected(part.error()));
    index_problem_ = part ? "" : part.error().message;
    changed_.notify_all();
    if (!part) return;
    if (part->began_anew) {
      stats_.evicted += static_cast<int64_t>(mirror_.objects());
      mirror_.Reset();
    } else {
      for (const RedisMirror::Event& event : part->events) mirror_.Follow(event);
      mirror_.Pass(part->last);
      stats_.damaged += part->damaged;
    }
    is_behind = part->began_anew || !part->whole;
    has_index_ = has_index_ || !is_behind;
    if (is_behind) index_due_us_ = 0;
  }
  if (!is_behind) LookAfterObjects();
}

void RedisStore::LookAfterObjects() {
  std::vector<std::pair<ObjectKey, StreamId>> known;
  {
    const std::lock_guard lock(mutex_);
    known = mirror_.NextToCheck(kCheckedAtOnce);
  }
  std::vector<ObjectKey> keys;
  keys.reserve(known.size());
  for (const auto& [key, as_of] : known) keys.push_back(key);
  const auto exist = index_.objects.Exist(keys);
  const std::lock_guard lock(mutex_);
  if (!exist) return;  // the next look will say it
  for (size_t i = 0; i < known.size(); ++i) {
    if (!(*exist)[i] && mirror_.Gone(known[i].first, known[i].second)) ++stats_.evicted;
  }
}

}  // namespace cairn
