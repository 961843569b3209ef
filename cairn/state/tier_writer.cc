#include "cairn/state/tier_writer.h"

#include <algorithm>
#include <ranges>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr size_t kMostWaiting = 65'536;  // of a tier
constexpr size_t kGivenUpLeast = 1024;   // fewer of them in a queue do no harm

}  // namespace

void TierWriter::Write(const PrefixChain& chain, SequenceId id, bool with_end) {
  const StateLayout& layout = store_.layout();
  CAIRN_CHECK(store_.Length(id) == chain.tokens());
  for (int64_t run = 0; run < chain.whole_runs(); ++run) {
    Add(chain, chain.RunKey(run), chain.Run(run), RunBlocks(layout, chain.run_tokens(), run), id);
  }
  if (with_end && chain.tokens() > TokenCount(0)) {
    Add(chain, chain.EndKey(chain.tokens()), chain.End(chain.tokens()),
        EndBlocks(layout, chain.run_tokens(), chain.tokens()), id);
  }
  Push();
}

void TierWriter::Add(const PrefixChain& chain, const ObjectKey& key, const TierObject& object,
                     const TierBlocks& blocks, SequenceId id) {
  const Bytes bytes = blocks.bytes + object.TokenBytes();
  if (object.kind == TierObjectKind::kEnd && blocks.bytes == Bytes(0)) return;
  std::vector<size_t> lack;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (queues_[tier].known.contains(key)) continue;
    if (tiers_[tier].Has(key, bytes)) {
      // Perhaps somebody else's, or one whose acknowledgement was lost.
      if (object.kind == TierObjectKind::kEnd) tiers_[tier].Learn(MetadataOf(object));
      continue;
    }
    if (queues_[tier].known.size() < kMostWaiting) {
      lack.push_back(tier);
    } else {
      ++stats_.given_up;
    }
  }
  if (lack.empty()) return;
  Object& added = objects_[next_object_];
  added.key = key;
  added.metadata = MetadataOf(object);
  added.bytes = bytes;
  added.blocks = store_.ShareBlocks(id, blocks.ranges, blocks.fixed);
  for (const BlockRef& block : added.blocks) added.pieces.emplace_back(store_.BytesOf(block));
  const std::span<const TokenId> tokens = chain.TokensOf(object);
  added.tokens.assign(tokens.begin(), tokens.end());
  added.pieces.push_back(std::as_bytes(std::span(added.tokens)));
  for (const size_t tier : lack) {
    queues_[tier].known.insert(key);
    queues_[tier].waiting.push_back(next_object_);
    added.waiting.push_back(tier);
    ++stats_.waiting;
    stats_.waiting_bytes += added.bytes;
  }
  ++next_object_;
}

void TierWriter::Push() {
  for (size_t tier = 0; tier < tiers_.size(); ++tier) Push(tier);
}

void TierWriter::Push(size_t tier) {
  Queue& queue = queues_[tier];
  while (!queue.waiting.empty()) {
    const uint64_t id = queue.waiting.front();
    const auto found = objects_.find(id);
    if (found == objects_.end()) {
      --queue.given_up;
    } else {
      const Bytes after = queue.in_flight_bytes + found->second.bytes;
      if (queue.in_flight_bytes > Bytes(0) && after > in_flight_share_) return;
      if (!HandOver(tier, id, found->second)) return;
    }
    queue.waiting.pop_front();
  }
}

// False: the store takes no more now.
bool TierWriter::HandOver(size_t tier, uint64_t id, Object& object) {
  const Result<RequestId> request =
      tiers_[tier].store().Put(object.key, object.metadata, object.pieces);
  if (!request && request.error().code == ErrorCode::kExhausted) return false;
  std::erase(object.waiting, tier);
  ++object.in_flight;
  queues_[tier].in_flight_bytes += object.bytes;
  if (request) {
    in_flight_.emplace(std::pair(tier, *request), id);
  } else {
    ++stats_.failed;
    stats_.problem = request.error().message;
    Finish(tier, id);
  }
  return true;
}

void TierWriter::Finish(size_t tier, uint64_t id) {
  const auto found = objects_.find(id);
  Object& object = found->second;
  queues_[tier].known.erase(object.key);
  queues_[tier].in_flight_bytes -= object.bytes;
  --stats_.waiting;
  stats_.waiting_bytes -= object.bytes;
  if (--object.in_flight == 0 && object.waiting.empty()) objects_.erase(found);
}

bool TierWriter::Take(size_t tier, const ObjectCompletion& completion) {
  const auto found = in_flight_.find({tier, completion.request});
  if (found == in_flight_.end()) return false;
  const uint64_t id = found->second;
  const Object& object = objects_.at(id);
  if (completion.outcome == ObjectOutcome::kDone) {
    ++stats_.written;
    stats_.written_bytes += object.bytes;
    tiers_[tier].Learn(object.metadata);
  } else {
    ++stats_.failed;
    stats_.problem = completion.problem;
  }
  in_flight_.erase(found);
  Finish(tier, id);
  return true;
}

// Queues find nothing of it any more.
void TierWriter::GiveUp(uint64_t id) {
  const auto found = objects_.find(id);
  const Object& object = found->second;
  for (const size_t tier : object.waiting) {
    Queue& queue = queues_[tier];
    queue.known.erase(object.key);
    ++queue.given_up;
    ++stats_.given_up;
    --stats_.waiting;
    stats_.waiting_bytes -= object.bytes;
  }
  objects_.erase(found);
  // A tier that hangs doesn't come to what was given up.
  for (Queue& queue : queues_) {
    if (queue.given_up < kGivenUpLeast || queue.given_up * 2 < queue.waiting.size()) continue;
    std::erase_if(queue.waiting, [this](uint64_t waits) { return !objects_.contains(waits); });
    queue.given_up = 0;
  }
}

Bytes TierWriter::GiveUp(Bytes wanted) {
  const Bytes before = store_.available();
  std::vector<uint64_t> ids;
  for (const auto& [id, object] : objects_ | std::views::reverse) {
    const bool frees =
        object.in_flight == 0 && !std::ranges::all_of(object.blocks, &BlockRef::shared);
    if (frees) ids.push_back(id);
  }
  for (const uint64_t id : ids) {
    if (store_.available() - before >= wanted) break;
    GiveUp(id);
  }
  return store_.available() - before;
}

void TierWriter::GiveUpAll() {
  std::vector<uint64_t> ids;
  for (const auto& [id, object] : objects_) {
    if (object.in_flight == 0) ids.push_back(id);
  }
  for (const uint64_t id : ids) GiveUp(id);
}

void TierWriter::ForEachRef(const RefVisitor& visit) const {
  for (const auto& [id, object] : objects_) std::ranges::for_each(object.blocks, visit);
}

}  // namespace cairn
