#include "cairn/state/state_manager.h"

#include <algorithm>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {

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

Result<std::unique_ptr<StateManager>> StateManager::Make(StateStore& store, Options options) {
  CAIRN_ASSIGN(std::unique_ptr<EvictionPolicy> policy, MakeEvictionPolicy(options.policy));
  return std::unique_ptr<StateManager>(new StateManager(store, std::move(policy)));
}

StateManager::StateManager(StateStore& store, std::unique_ptr<EvictionPolicy> policy)
    : store_(store), tree_(std::make_unique<PrefixTree>(store, std::move(policy))) {}

StateManager::~StateManager() {
  while (!leases_.empty()) Drop(leases_.begin()->first);
}

const StateManager::Lease& StateManager::At(LeaseId id) const {
  const auto found = leases_.find(id);
  CAIRN_CHECK(found != leases_.end());
  return found->second;
}

StateManager::Lease& StateManager::At(LeaseId id) {
  return const_cast<Lease&>(std::as_const(*this).At(id));
}

Result<LeaseId> StateManager::Open(const StateKey& key, std::span<const TokenId> tokens,
                                   int64_t now_us) {
  const TokenCount most(std::max<int64_t>(static_cast<int64_t>(tokens.size()) - 1, 0));
  Lease lease{.key = key, .sequence = {}, .lock = {}, .origin = {}};
  CAIRN_ASSIGN(const PrefixTree::Resumed resumed,
               tree_->Resume(key, tokens, most, now_us, lease.lock));
  lease.sequence = resumed.id;
  lease.origin.memory = resumed.tokens;
  lease.origin.why = resumed.tokens == most ? MissReason::kNone : MissReason::kNew;
  const LeaseId id(next_lease_++);
  leases_.emplace(id, std::move(lease));
  return id;
}

bool StateManager::Ready(LeaseId id) const {
  At(id);
  return true;
}

const StateOrigin& StateManager::Origin(LeaseId id) const { return At(id).origin; }

SequenceId StateManager::Sequence(LeaseId id) const { return At(id).sequence; }

Status StateManager::Prepare(LeaseId id, TokenCount added) {
  const SequenceId sequence = At(id).sequence;
  tree_->MakeRoom(store_.BytesToPrepare(sequence, added));
  return store_.Prepare(sequence, added);
}

TokenCount StateManager::NextKeep(LeaseId id, TokenCount prompt) const {
  At(id);
  return prompt;
}

void StateManager::Keep(LeaseId id, std::span<const TokenId> tokens, int64_t now_us) {
  Lease& lease = At(id);
  tree_->Keep(lease.key, tokens, lease.sequence, now_us, lease.lock);
}

Result<LeaseId> StateManager::Fork(LeaseId id) {
  const Lease& from = At(id);
  Lease lease{.key = from.key, .sequence = {}, .lock = {}, .origin = from.origin};
  CAIRN_ASSIGN(lease.sequence, store_.Fork(from.sequence));
  tree_->ShareLock(from.lock, lease.lock);
  const LeaseId fork(next_lease_++);
  leases_.emplace(fork, std::move(lease));
  return fork;
}

void StateManager::Close(LeaseId id, std::span<const TokenId> tokens, int64_t now_us) {
  Keep(id, tokens, now_us);
  Drop(id);
}

void StateManager::Drop(LeaseId id) {
  Lease& lease = At(id);
  store_.Release(lease.sequence);
  tree_->Unlock(lease.lock);
  leases_.erase(id);
}

void StateManager::Poll(int64_t /*now_us*/) {}

void StateManager::Audit() const { tree_->Audit(); }

}  // namespace cairn
