#include "cairn/state/state_manager.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// A part of the budget that slow stores may hold for writes, and for reads that were given up.
constexpr int64_t kInFlightShare = 8;
constexpr Bytes kInFlightLeast{int64_t{1} << 20};
// 16 bytes each: with runs of 256 tokens this remembers 16 million tokens.
constexpr size_t kRecentRuns = 65'536;
// Snapshots on the way through a long prompt: where they cost a quarter of the rows between them,
// within these bounds.
constexpr int64_t kSnapshotShare = 4;
constexpr int64_t kLeastSpacing = 1024;
constexpr int64_t kMostSpacing = 8192;

TokenCount SizeOf(std::span<const TokenId> tokens) {
  return TokenCount(static_cast<int64_t>(tokens.size()));
}

TokenCount AllButTheLast(std::span<const TokenId> tokens) {
  return TokenCount(std::max<int64_t>(SizeOf(tokens).value() - 1, 0));
}

}  // namespace

std::string_view NameOf(MissReason reason) {
  switch (reason) {
    case MissReason::kNone:
      return "none";
    case MissReason::kNew:
      return "new";
    case MissReason::kDiverged:
      return "diverged";
    case MissReason::kNoPoint:
      return "no_point";
    case MissReason::kEvicted:
      return "evicted";
    case MissReason::kNotLoaded:
      return "not_loaded";
  }
  return "unknown";
}

Result<std::unique_ptr<StateManager>> StateManager::Make(StateStore& store,
                                                         const Options& options) {
  std::unique_ptr<PrefixTree> tree;
  if (options.shared_policy != nullptr) {
    tree = std::make_unique<PrefixTree>(store, *options.shared_policy, options.recompute);
  } else {
    CAIRN_ASSIGN(std::unique_ptr<EvictionPolicy> policy, MakeEvictionPolicy(options.policy));
    tree = std::make_unique<PrefixTree>(store, std::move(policy), options.recompute);
  }
  return std::unique_ptr<StateManager>(new StateManager(store, std::move(tree), options));
}

StateManager::StateManager(StateStore& store, std::unique_ptr<PrefixTree> tree,
                           const Options& options)
    : store_(store),
      tree_(std::move(tree)),
      run_tokens_(options.run_tokens > TokenCount(0) ? options.run_tokens
                                                     : RunTokensFor(store.layout())),
      in_slow_hands_(
          std::max(Bytes(store.stats().budget.value() / kInFlightShare), kInFlightLeast)),
      tiers_(TiersOf(options)),
      writer_(store, tiers_, in_slow_hands_),
      reader_(store, tiers_),
      recent_(kRecentRuns) {}

std::vector<Tier> StateManager::TiersOf(const Options& options) {
  std::vector<Tier> tiers;
  for (const TierOptions& tier : options.tiers) tiers.emplace_back(tier.name, *tier.objects);
  return tiers;
}

// Stores that still write to blocks, or read them, are let finish.
StateManager::~StateManager() {
  while (!leases_.empty()) Drop(leases_.begin()->first);
  while (!pins_.empty()) Unpin(pins_.begin()->first);
  writer_.GiveUpAll();
  while (!idle()) {
    for (Tier& tier : tiers_) tier.store().Flush();
    Poll(0);
  }
}

void StateManager::Flush(int64_t now_us) {
  while (!writer_.idle()) {
    for (Tier& tier : tiers_) tier.store().Flush();
    Poll(now_us);
  }
}

const StateManager::Lease& StateManager::At(LeaseId id) const {
  const auto found = leases_.find(id);
  CAIRN_CHECK(found != leases_.end());
  return found->second;
}

StateManager::Lease& StateManager::At(LeaseId id) {
  return const_cast<Lease&>(std::as_const(*this).At(id));
}

const StateManager::Lease& StateManager::ReadyAt(LeaseId id) const {
  const Lease& lease = At(id);
  CAIRN_CHECK(lease.phase == Phase::kReady);
  return lease;
}

StateManager::Lease& StateManager::ReadyAt(LeaseId id) {
  return const_cast<Lease&>(std::as_const(*this).ReadyAt(id));
}

LeaseId StateManager::Insert(Lease lease) {
  const LeaseId id(next_lease_++);
  leases_.emplace(id, std::move(lease));
  return id;
}

bool StateManager::Ready(LeaseId id) const { return At(id).phase == Phase::kReady; }
const StateOrigin& StateManager::Origin(LeaseId id) const { return At(id).origin; }
SequenceId StateManager::Sequence(LeaseId id) const { return ReadyAt(id).sequence; }

int64_t StateManager::loading() const {
  return std::ranges::count_if(
      leases_, [](const auto& lease) { return lease.second.phase != Phase::kReady; });
}

void StateManager::NoteCompute(TokenCount from, TokenCount count, int64_t took_us) {
  compute_cost_.Note(from, count, took_us);
}

// ---- Room ----

// What was evicted while it waits to be written is given up at once: else its bytes stay taken.
bool StateManager::MakeRoom(Bytes bytes) {
  while (store_.available() < bytes) {
    if (!tree_->EvictOne(bytes - store_.available())) {
      return writer_.GiveUp(bytes - store_.available()) > Bytes(0) && store_.available() >= bytes;
    }
    if (store_.available() < bytes && !writer_.idle()) {
      writer_.GiveUp(bytes - store_.available());
    }
  }
  return true;
}

Status StateManager::Prepare(LeaseId id, TokenCount added) {
  const SequenceId sequence = ReadyAt(id).sequence;
  MakeRoom(store_.BytesToPrepare(sequence, added));
  Status status = store_.Prepare(sequence, added);
  if (!status) ++stats_.refused;
  return status;
}

// ---- Beginning ----

Result<LeaseId> StateManager::Open(const StateKey& key, std::span<const TokenId> tokens,
                                   int64_t now_us) {
  Lease lease;
  lease.key = key;
  lease.tries_left = kLoadTries;
  CAIRN_TRY(Begin(lease, tokens, now_us));
  ++stats_.opened;
  stats_.opened_tokens += SizeOf(tokens).value();
  return Insert(std::move(lease));
}

Status StateManager::Begin(Lease& lease, std::span<const TokenId> tokens, int64_t now_us) {
  const TokenCount most = AllButTheLast(tokens);
  const TokenCount resumable = tree_->Match(lease.key, tokens, most);
  if (BeginLoad(lease, tokens, resumable, now_us)) return {};
  MakeRoom(store_.BytesToResume(resumable));
  const MissReason why = WhyNoMore(lease, tokens, most);
  CAIRN_ASSIGN(const PrefixTree::Resumed resumed,
               tree_->Resume(lease.key, tokens, most, now_us, lease.lock));
  lease.sequence = resumed.id;
  lease.phase = Phase::kReady;
  lease.tokens.clear();
  lease.origin.memory = resumed.tokens;
  lease.origin.why = resumed.tokens == most ? MissReason::kNone : why;
  stats_.memory_tokens += resumed.tokens.value();
  return {};
}

// ---- Keeping and giving back ----

TokenCount StateManager::NextKeep(LeaseId id, TokenCount prompt) const {
  return NextKeepAfter(store_.Length(ReadyAt(id).sequence), prompt);
}

TokenCount StateManager::NextKeepAfter(TokenCount length, TokenCount prompt) const {
  if (!store_.NeedsPoints()) return prompt;
  // Who asks the same again resumes one token before the end.
  const TokenCount before_end = std::max(prompt - TokenCount(1), TokenCount(0));
  if (length >= before_end) return prompt;
  const int64_t spacing = SnapshotSpacing();
  return std::min(before_end, TokenCount((length.value() / spacing + 1) * spacing));
}

int64_t StateManager::SnapshotSpacing() const {
  const StateLayout& layout = store_.layout();
  const Bytes snapshot =
      EndBlocks(layout, TokenCount(kLeastSpacing), TokenCount(kMostSpacing)).bytes;
  const int64_t per_token = std::max<int64_t>(layout.MarginalBytesPerToken().value(), 1);
  const int64_t tokens = snapshot.value() / per_token * kSnapshotShare;
  return std::clamp(tokens - tokens % kLeastSpacing, kLeastSpacing, kMostSpacing);
}

void StateManager::KeepAndWrite(const StateKey& key, std::span<const TokenId> tokens, SequenceId id,
                                PrefixTree::Lock& lock, int64_t now_us, bool with_end,
                                const Turn& turn) {
  tree_->Keep(key, tokens, id, now_us, lock, turn);
  const PrefixChain chain(key, tokens, run_tokens_);
  for (int64_t runs = 1; runs <= chain.whole_runs(); ++runs) recent_.Add(chain.Tag(runs));
  if (!tiers_.empty()) writer_.Write(chain, id, with_end);
}

void StateManager::KeepSequence(const StateKey& key, std::span<const TokenId> tokens, SequenceId id,
                                int64_t now_us) {
  PrefixTree::Lock lock;
  KeepAndWrite(key, tokens, id, lock, now_us, /*with_end=*/true, {});
  tree_->Unlock(lock);
}

// A point right behind another would take bytes and save one token.
void StateManager::Keep(LeaseId id, std::span<const TokenId> tokens, int64_t now_us,
                        const Turn& turn) {
  Lease& lease = ReadyAt(id);
  const bool spares_one = SizeOf(tokens) - lease.kept == TokenCount(1);
  if (store_.NeedsPoints() && lease.kept > TokenCount(0) && spares_one) return;
  KeepAndWrite(lease.key, tokens, lease.sequence, lease.lock, now_us, store_.NeedsPoints(), turn);
  lease.kept = SizeOf(tokens);
}

Status StateManager::DropRows(LeaseId id, const RowsToKeep& keep) {
  Lease& lease = ReadyAt(id);
  MakeRoom(store_.BytesToDrop(lease.sequence, keep));
  CAIRN_TRY(store_.DropRows(lease.sequence, keep));
  tree_->Unlock(lease.lock);
  return {};
}

Result<LeaseId> StateManager::Fork(LeaseId id) {
  const Lease& from = ReadyAt(id);
  Lease lease;
  lease.key = from.key;
  CAIRN_ASSIGN(lease.sequence, store_.Fork(from.sequence));
  lease.phase = Phase::kReady;
  lease.origin = from.origin;
  tree_->ShareLock(from.lock, lease.lock);
  return Insert(std::move(lease));
}

void StateManager::Close(LeaseId id, std::span<const TokenId> tokens, int64_t now_us,
                         const Turn& turn) {
  Lease& lease = ReadyAt(id);
  KeepAndWrite(lease.key, tokens, lease.sequence, lease.lock, now_us, /*with_end=*/true, turn);
  Drop(id);
}

void StateManager::Drop(LeaseId id) {
  Lease& lease = At(id);
  if (lease.phase == Phase::kReady) store_.Release(lease.sequence);
  if (lease.phase == Phase::kReading) reader_.Abandon(lease.load);
  tree_->Unlock(lease.lock);
  leases_.erase(id);
}

// ---- Pins ----

PinId StateManager::Pin(const StateKey& key, std::span<const TokenId> tokens) {
  const PinId id(next_pin_++);
  Pinned& pinned = pins_[id];
  pinned.tokens = tree_->PinPath(key, tokens, pinned.lock);
  return id;
}

TokenCount StateManager::PinnedTokens(PinId id) const {
  const auto found = pins_.find(id);
  CAIRN_CHECK(found != pins_.end());
  return found->second.tokens;
}

void StateManager::Unpin(PinId id) {
  const auto found = pins_.find(id);
  CAIRN_CHECK(found != pins_.end());
  tree_->Unlock(found->second.lock);
  pins_.erase(found);
}

Bytes StateManager::Forget(const StateKey& key, std::span<const TokenId> tokens) {
  return tree_->Forget(key, tokens);
}

Bytes StateManager::ForgetAll(const StateKey& key, std::span<const TokenId> tokens,
                              TokenCount keep) {
  return tree_->ForgetAll(key, tokens, keep);
}

void StateManager::Audit() const {
  tree_->Audit([this](const RefVisitor& visit) {
    writer_.ForEachRef(visit);
    reader_.ForEachRef(visit);
  });
}

}  // namespace cairn
