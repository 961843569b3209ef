#include "cairn/state/tier_writer.h"

#include <algorithm>
#include <ranges>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr int64_t kMostWaiting = 65'536;

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
    if (known_[tier].contains(key) || tiers_[tier].Has(key, bytes)) continue;
    if (stats_.waiting < kMostWaiting) {
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
    known_[tier].insert(key);
    waiting_.push_back({.tier = tier, .object = next_object_});
    ++added.waiting;
    ++stats_.waiting;
    stats_.waiting_bytes += added.bytes;
  }
  ++next_object_;
}

// A tier that takes no more doesn't keep the others waiting.
void TierWriter::Push() {
  std::vector<bool> full(tiers_.size());
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto found = objects_.find(at->object);
    if (found == objects_.end()) {
      at = waiting_.erase(at);
      continue;
    }
    Object& object = found->second;
    if (in_flight_bytes_ > Bytes(0) && in_flight_bytes_ + object.bytes > in_flight_max_) return;
    if (full[at->tier] || !HandOver(*at, object)) {
      full[at->tier] = true;
      if (std::ranges::find(full, false) == full.end()) return;
      ++at;
    } else {
      at = waiting_.erase(at);
    }
  }
}

// False: the store takes no more now.
bool TierWriter::HandOver(const Job& job, Object& object) {
  const Result<RequestId> request =
      tiers_[job.tier].store().Put(object.key, object.metadata, object.pieces);
  if (!request && request.error().code == ErrorCode::kExhausted) return false;
  --object.waiting;
  ++object.in_flight;
  in_flight_bytes_ += object.bytes;
  if (request) {
    in_flight_.emplace(std::pair(job.tier, *request), job.object);
  } else {
    ++stats_.failed;
    stats_.problem = request.error().message;
    Finish(job.tier, job.object);
  }
  return true;
}

void TierWriter::Finish(size_t tier, uint64_t id) {
  const auto found = objects_.find(id);
  Object& object = found->second;
  known_[tier].erase(object.key);
  --stats_.waiting;
  stats_.waiting_bytes -= object.bytes;
  in_flight_bytes_ -= object.bytes;
  if (--object.in_flight == 0 && object.waiting == 0) objects_.erase(found);
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

// Its jobs in waiting_ find nothing any more.
void TierWriter::GiveUp(uint64_t id) {
  const auto found = objects_.find(id);
  const Object& object = found->second;
  for (std::unordered_set<ObjectKey>& known : known_) known.erase(object.key);
  stats_.given_up += object.waiting;
  stats_.waiting -= object.waiting;
  stats_.waiting_bytes -= object.bytes * object.waiting;
  objects_.erase(found);
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
  std::erase_if(waiting_, [this](const Job& job) { return !objects_.contains(job.object); });
}

void TierWriter::ForEachRef(const RefVisitor& visit) const {
  for (const auto& [id, object] : objects_) std::ranges::for_each(object.blocks, visit);
}

}  // namespace cairn
