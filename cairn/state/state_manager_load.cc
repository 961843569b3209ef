// How StateManager takes state back from the tiers.
#include <algorithm>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/state/state_manager.h"

namespace cairn {
namespace {

// A read must be expected to take at most this share of computing: expectations are not exact, and
// a tier must never be a loss.
constexpr double kWorthShare = 0.7;
// A read that takes longer than this many times what was expected is given up, unless even then
// computing would have taken longer.
constexpr double kPatience = 3;
constexpr double kLeastPatienceUs = 20'000;

}  // namespace

bool StateManager::IsWorthIt(const LoadPlan& plan, TokenCount resumable) const {
  if (!compute_cost_.known()) return true;  // nothing was computed yet: after a restart
  return plan.expected_us <= kWorthShare * compute_cost_.ExpectedUs(resumable, plan.tokens);
}

// False: the lease begins with what memory has.
bool StateManager::BeginLoad(Lease& lease, std::span<const TokenId> tokens, TokenCount resumable,
                             int64_t now_us) {
  const TokenCount most(std::max<int64_t>(static_cast<int64_t>(tokens.size()) - 1, 0));
  if (tiers_.empty() || lease.tries_left == 0 || resumable >= most) return false;
  const PrefixChain chain(lease.key, tokens, run_tokens_);
  const PrefixTree::Path path = tree_->RowsOf(lease.key, tokens);
  const std::optional<LoadPlan> plan = reader_.Plan(chain, path.tokens, resumable, most, now_us);
  if (!plan) return false;
  lease.origin.why = MissReason::kNotLoaded;
  if (reader_.AbandonedBytes() > in_slow_hands_) return false;
  if (!IsWorthIt(*plan, resumable)) {
    ++stats_.loads_declined;
    for (const size_t tier : plan->Tiers()) tiers_[tier].NoteDeclined();
    return false;
  }
  Result<SequenceId> sequence = store_.BeginLoad(path.rows, plan->shared, plan->tokens);
  if (!sequence && MakeRoom(store_.BytesToLoad(plan->shared, plan->tokens))) {
    // What made room may have been on the path.
    const PrefixTree::Path left = tree_->RowsOf(lease.key, tokens);
    if (left.tokens < plan->shared) return false;
    sequence = store_.BeginLoad(left.rows, plan->shared, plan->tokens);
  }
  if (!sequence) return false;
  --lease.tries_left;
  lease.phase = Phase::kReading;
  lease.tokens.assign(tokens.begin(), tokens.end());
  lease.load = reader_.Start(*plan, *sequence);
  lease.load_tokens = plan->tokens;
  lease.load_shared = plan->shared;
  lease.load_tier = plan->objects.empty() ? "" : tiers_[plan->objects.back().tier].name();
  lease.load_began_us = now_us;
  lease.load_expected_us = plan->expected_us;
  const double patience = std::max(kPatience * plan->expected_us, kLeastPatienceUs);
  const double computing = compute_cost_.ExpectedUs(resumable, plan->tokens);
  lease.give_up_us = now_us + static_cast<int64_t>(std::max(patience, computing));
  return true;
}

void StateManager::Poll(int64_t now_us) {
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    for (const ObjectCompletion& completion : tiers_[tier].store().Poll()) {
      const bool known = writer_.Take(tier, completion) || reader_.Take(tier, completion, now_us);
      CAIRN_CHECK(known);
    }
    tiers_[tier].LearnArrivals();
  }
  writer_.Push();
  for (auto& [id, lease] : leases_) {
    if (lease.phase != Phase::kReady) Advance(lease, now_us);
  }
  polled_us_ = now_us;
}

void StateManager::Advance(Lease& lease, int64_t now_us) {
  if (lease.phase == Phase::kReading) {
    const LoadState state = reader_.StateOf(lease.load);
    if (state == LoadState::kDone) return EndLoad(lease, now_us);
    if (state == LoadState::kReading && now_us < lease.give_up_us) return;
    if (state == LoadState::kFailed) {
      ++stats_.loads_failed;
      stats_.problem = reader_.ProblemOf(lease.load);
    } else {
      ++stats_.loads_late;
      lease.tries_left = 0;
      NoteReadTime(lease, {.earliest_us = now_us, .latest_us = now_us});
    }
    reader_.Abandon(lease.load);
    lease.phase = Phase::kToBegin;
  }
  // Without room it is tried again at the next Poll.
  const std::vector<TokenId> tokens = lease.tokens;
  (void)Begin(lease, tokens, now_us);
}

// What the engine did between two looks is not the tier's doing.
void StateManager::NoteReadTime(const Lease& lease, const ReadEnd& end) {
  const auto earliest = static_cast<double>(end.earliest_us - lease.load_began_us);
  const auto latest = static_cast<double>(end.latest_us - lease.load_began_us);
  const double took = std::min(std::max({lease.load_expected_us, earliest, 0.0}), latest);
  for (Tier& tier : tiers_) {
    if (tier.name() == lease.load_tier) tier.NoteRead(lease.load_expected_us, took);
  }
}

void StateManager::EndLoad(Lease& lease, int64_t now_us) {
  NoteReadTime(lease, {.earliest_us = polled_us_, .latest_us = now_us});
  lease.sequence = reader_.Finish(lease.load);
  store_.EndLoad(lease.sequence);
  lease.phase = Phase::kReady;
  const std::vector<TokenId> tokens = std::exchange(lease.tokens, {});
  const auto read = std::span(tokens).first(static_cast<size_t>(lease.load_tokens.value()));
  tree_->Keep(lease.key, read, lease.sequence, now_us, lease.lock);
  const TokenCount most(static_cast<int64_t>(tokens.size()) - 1);
  lease.origin = {.memory = lease.load_shared,
                  .loaded = lease.load_tokens - lease.load_shared,
                  .tier = lease.load_tier};
  if (lease.load_tokens != most) lease.origin.why = WhyNoMore(lease, tokens, most);
  ++stats_.loads;
  stats_.memory_tokens += lease.origin.memory.value();
  stats_.loaded_tokens += lease.origin.loaded.value();
  stats_.tier_tokens.resize(tiers_.size());
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_[tier].name() != lease.load_tier) continue;
    stats_.tier_tokens[tier] += lease.origin.loaded.value();
  }
}

MissReason StateManager::WhyNoMore(const Lease& lease, std::span<const TokenId> tokens,
                                   TokenCount most) const {
  if (lease.origin.why == MissReason::kNotLoaded) return MissReason::kNotLoaded;
  const PrefixTree::Path path = tree_->RowsOf(lease.key, tokens);
  const TokenCount resumable = tree_->Match(lease.key, tokens, most);
  const PrefixChain chain(lease.key, tokens, run_tokens_);
  const int64_t next_run = path.tokens.value() / run_tokens_.value() + 1;
  if (next_run <= chain.whole_runs() && recent_.Contains(chain.Tag(next_run))) {
    return MissReason::kEvicted;
  }
  if (resumable < std::min(path.tokens, most)) return MissReason::kNoPoint;
  return path.goes_on ? MissReason::kDiverged : MissReason::kNew;
}

}  // namespace cairn
