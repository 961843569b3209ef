// StateManager: the state of many requests in one budget of bytes: live, kept, and on lower tiers.
//
// A lease is one request's sequence. Open finds the longest prefix of its tokens whose state is at
// hand: in memory (prefix_tree.h), or on a tier below if reading it is expected to be faster than
// computing it; then the lease is ready only when it has been read. Keep and Close leave what was
// read to others; what is kept is also written to the tiers, behind the requests' backs. When bytes
// are short, what is kept goes first, as the policy says; what is live never goes.
//
// Nothing here waits for a disk or a network; Poll moves what is on its way.
// Same thread as the store. Times come from the caller and may be virtual.
#ifndef CAIRN_STATE_STATE_MANAGER_H_
#define CAIRN_STATE_STATE_MANAGER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/eviction.h"
#include "cairn/state/prefix_tree.h"
#include "cairn/state/state_key.h"
#include "cairn/state/state_store.h"

namespace cairn {

using LeaseId = Id<struct LeaseTag, int64_t>;

// Why tokens of a prefix had to be computed.
enum class MissReason : uint8_t {
  kNone,       // all but the last token were there
  kNew,        // nothing that begins so was seen, or it was long ago
  kDiverged,   // what was seen goes on otherwise
  kNoPoint,    // its rows are there, but nothing to resume from at this length
  kEvicted,    // it was there, and had to go
  kNotLoaded,  // a tier has more, but computing it was expected to be faster, or reading failed
};
std::string_view NameOf(MissReason reason);

// Where the state of a lease's tokens came from.
struct StateOrigin {
  TokenCount memory;                   // resumed from the tree
  TokenCount loaded;                   // read from a tier
  std::string tier;                    // its name, if so
  MissReason why = MissReason::kNone;  // why no more
  TokenCount resumed() const { return memory + loaded; }
};

class StateManager {
 public:
  struct Options {
    std::string policy = "lru";
  };
  static Result<std::unique_ptr<StateManager>> Make(StateStore& store, Options options);
  ~StateManager();
  StateManager(const StateManager&) = delete;
  StateManager& operator=(const StateManager&) = delete;

  StateStore& store() { return store_; }
  const PrefixTree& tree() const { return *tree_; }

  // A sequence that has read as many of the tokens as can be had, at most all but one.
  // kExhausted: too many sequences, or no bytes, and nothing is left that could go.
  Result<LeaseId> Open(const StateKey& key, std::span<const TokenId> tokens, int64_t now_us);
  // Whether reading has ended. All calls below but Origin and Drop REQUIRE it.
  bool Ready(LeaseId id) const;
  const StateOrigin& Origin(LeaseId id) const;
  SequenceId Sequence(LeaseId id) const;

  // As StateStore::Prepare, after dropping what is kept and in the way.
  Status Prepare(LeaseId id, TokenCount added);
  // The next length, above the present one, at which a prompt of so many tokens should be kept on
  // its way: snapshots of models that can't resume anywhere else. The prompt's end at the latest.
  TokenCount NextKeep(LeaseId id, TokenCount prompt) const;
  // Others may resume here from now on. `tokens` are what the sequence has read.
  void Keep(LeaseId id, std::span<const TokenId> tokens, int64_t now_us);
  // One more lease of the same tokens; takes no bytes. kExhausted: too many sequences.
  Result<LeaseId> Fork(LeaseId id);
  // Keeps and gives back.
  void Close(LeaseId id, std::span<const TokenId> tokens, int64_t now_us);
  // Gives back without keeping.
  void Drop(LeaseId id);

  // Ends what has arrived.
  void Poll(int64_t now_us);
  // What leases and what is kept hold; CHECKs the invariants of all parts.
  void Audit() const;

 private:
  struct Lease {
    StateKey key;
    SequenceId sequence;
    PrefixTree::Lock lock;
    StateOrigin origin;
  };
  StateManager(StateStore& store, std::unique_ptr<EvictionPolicy> policy);
  Lease& At(LeaseId id);
  const Lease& At(LeaseId id) const;

  StateStore& store_;
  std::unique_ptr<PrefixTree> tree_;
  std::unordered_map<LeaseId, Lease> leases_;
  int64_t next_lease_ = 1;
};

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_MANAGER_H_
