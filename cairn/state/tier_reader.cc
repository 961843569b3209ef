#include "cairn/state/tier_reader.h"

#include <algorithm>
#include <iterator>

#include "cairn/base/check.h"

namespace cairn {
namespace {

LoadPlan::Object ObjectOf(const PrefixChain& chain, const ObjectKey& key, const TierObject& object,
                          TierBlocks blocks) {
  const std::span<const TokenId> tokens = chain.TokensOf(object);
  return {
      .tier = 0, .key = key, .blocks = std::move(blocks), .tokens = {tokens.begin(), tokens.end()}};
}

}  // namespace

std::vector<size_t> LoadPlan::Tiers() const {
  std::vector<size_t> tiers;
  for (const Object& object : objects) {
    if (std::ranges::find(tiers, object.tier) == tiers.end()) tiers.push_back(object.tier);
  }
  return tiers;
}

TierReader::~TierReader() = default;

// ---- What could be read ----

std::optional<size_t> TierReader::TierOf(const ObjectKey& key, Bytes size, int64_t now_us) const {
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_[tier].Readable(now_us) && tiers_[tier].Has(key, size)) return tier;
  }
  return std::nullopt;
}

std::vector<LoadPlan::Object> TierReader::RunsFrom(const PrefixChain& chain, int64_t first,
                                                   TokenCount most, int64_t now_us) const {
  std::vector<LoadPlan::Object> objects;
  const int64_t end = std::min(chain.whole_runs(), most.value() / chain.run_tokens().value());
  for (int64_t run = first; run < end; ++run) {
    LoadPlan::Object object = ObjectOf(chain, chain.RunKey(run), chain.Run(run),
                                       RunBlocks(store_.layout(), chain.run_tokens(), run));
    if (object.blocks.bytes > Bytes(0)) {
      const std::optional<size_t> tier = TierOf(object.key, object.bytes(), now_us);
      if (!tier) break;
      object.tier = *tier;
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

std::optional<TierReader::Tail> TierReader::TailBehind(const PrefixChain& chain, int64_t runs,
                                                       TokenCount above, TokenCount most,
                                                       int64_t now_us) const {
  const StateLayout& layout = store_.layout();
  std::vector<TokenCount> ends;
  for (const Tier& tier : tiers_) {
    if (!tier.Readable(now_us)) continue;
    std::ranges::copy(tier.EndsBehind(chain.Tag(runs), most), std::back_inserter(ends));
  }
  std::ranges::sort(ends, std::greater());
  for (const TokenCount n : ends) {
    if (n <= above || n.value() / chain.run_tokens().value() != runs) continue;
    LoadPlan::Object end =
        ObjectOf(chain, chain.EndKey(n), chain.End(n), EndBlocks(layout, chain.run_tokens(), n));
    const std::optional<size_t> tier = TierOf(end.key, end.bytes(), now_us);
    if (!tier) continue;
    end.tier = *tier;
    Tail tail{.tokens = n, .objects = {}};
    tail.objects.push_back(std::move(end));
    return tail;
  }
  // Lengths at which the runs are all there is; Fixed components are in no run.
  if (layout.fixed_bytes() > Bytes(0)) return std::nullopt;
  const TokenCount last = chain.run_tokens() * (runs + 1) - TokenCount(1);
  for (TokenCount n = std::min(most, last); n > above && n >= chain.run_tokens() * runs;
       n -= TokenCount(1)) {
    if (n > TokenCount(0) && EndBlocks(layout, chain.run_tokens(), n).bytes == Bytes(0)) {
      return Tail{.tokens = n, .objects = {}};
    }
  }
  return std::nullopt;
}

std::optional<LoadPlan> TierReader::Plan(const PrefixChain& chain, TokenCount in_memory,
                                         TokenCount resumable, TokenCount most,
                                         int64_t now_us) const {
  const int64_t run = chain.run_tokens().value();
  const int64_t remembered = std::min(in_memory, most).value() / run;
  std::vector<LoadPlan::Object> objects = RunsFrom(chain, remembered, most, now_us);
  const auto found = static_cast<int64_t>(objects.size());
  for (int64_t runs = remembered + found; runs >= resumable.value() / run; --runs) {
    std::optional<Tail> tail = TailBehind(chain, runs, resumable, most, now_us);
    if (!tail) continue;
    objects.resize(static_cast<size_t>(std::max<int64_t>(runs - remembered, 0)));
    std::erase_if(objects, [](const auto& object) { return object.blocks.bytes == Bytes(0); });
    LoadPlan plan{.tokens = tail->tokens,
                  .shared = chain.run_tokens() * std::min(runs, remembered),
                  .bytes = {},
                  .objects = std::move(objects)};
    std::ranges::move(tail->objects, std::back_inserter(plan.objects));
    ExpectTime(plan);
    return plan;
  }
  return std::nullopt;
}

// Stores work side by side, but the engine can't count on that.
void TierReader::ExpectTime(LoadPlan& plan) const {
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    Bytes bytes;
    int64_t objects = 0;
    for (const LoadPlan::Object& object : plan.objects) {
      if (object.tier != tier) continue;
      bytes += object.bytes();
      ++objects;
    }
    if (objects > 0) plan.expected_us += tiers_[tier].ReadTimeUs(bytes, objects);
    plan.bytes += bytes;
  }
}

// ---- Reading ----

LoadId TierReader::Start(const LoadPlan& plan, SequenceId id) {
  const LoadId load_id(next_load_++);
  Load& load = loads_[load_id];
  load.sequence = id;
  load.bytes = plan.bytes;
  for (const LoadPlan::Object& object : plan.objects) {
    std::vector<BlockRef> blocks =
        store_.LoadingBlocks(id, object.blocks.ranges, object.blocks.fixed);
    std::vector<std::span<std::byte>> pieces;
    for (const BlockRef& block : blocks) pieces.push_back(store_.BytesOf(block));
    std::vector<TokenId> found(object.tokens.size());
    pieces.push_back(std::as_writable_bytes(std::span(found)));
    const Result<RequestId> request = tiers_[object.tier].store().Get(object.key, pieces);
    if (!request) {
      load.failed = true;
      load.problem = request.error().message;
      break;
    }
    ++load.outstanding;
    requests_.emplace(std::pair(object.tier, *request), Request{.load = load_id,
                                                                .key = object.key,
                                                                .expected = object.tokens,
                                                                .found = std::move(found)});
    std::ranges::move(blocks, std::back_inserter(load.blocks));
  }
  return load_id;
}

bool TierReader::Take(size_t tier, const ObjectCompletion& completion, int64_t now_us) {
  if (erasures_.erase({tier, completion.request}) > 0) return true;
  const auto found = requests_.find({tier, completion.request});
  if (found == requests_.end()) return false;
  const Request request = std::move(found->second);
  requests_.erase(found);
  const LoadId id = request.load;
  Load& load = loads_.at(id);
  --load.outstanding;
  if (completion.outcome != ObjectOutcome::kDone) {
    load.failed = true;
    load.problem = completion.problem;
    if (completion.outcome == ObjectOutcome::kFailed) tiers_[tier].ReadFailed(now_us);
  } else if (request.found != request.expected) {
    load.failed = true;
    load.problem = tiers_[tier].name() + ": an object of other tokens under this key";
    tiers_[tier].ReadFailed(now_us);
    // Where it stays the right one is never written.
    const Result<RequestId> erasure = tiers_[tier].store().Erase(request.key);
    if (erasure) erasures_.emplace(tier, *erasure);
  }
  DropIfOver(id);
  return true;
}

LoadState TierReader::StateOf(LoadId id) const {
  const Load& load = loads_.at(id);
  if (load.outstanding > 0) return LoadState::kReading;
  return load.failed ? LoadState::kFailed : LoadState::kDone;
}

SequenceId TierReader::Finish(LoadId id) {
  CAIRN_CHECK(StateOf(id) == LoadState::kDone);
  const SequenceId sequence = loads_.at(id).sequence;
  loads_.erase(id);
  return sequence;
}

// The references keep the blocks where stores still write to them.
void TierReader::Abandon(LoadId id) {
  Load& load = loads_.at(id);
  store_.Release(load.sequence);
  load.abandoned = true;
  DropIfOver(id);
}

Bytes TierReader::AbandonedBytes() const {
  Bytes bytes;
  for (const auto& [id, load] : loads_) {
    if (load.abandoned) bytes += load.bytes;
  }
  return bytes;
}

void TierReader::DropIfOver(LoadId id) {
  const Load& load = loads_.at(id);
  if (load.abandoned && load.outstanding == 0) loads_.erase(id);
}

void TierReader::ForEachRef(const RefVisitor& visit) const {
  for (const auto& [id, load] : loads_) std::ranges::for_each(load.blocks, visit);
}

}  // namespace cairn
