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
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/compute_cost.h"
#include "cairn/state/object_store.h"
#include "cairn/state/prefix_tree.h"
#include "cairn/state/recent_tags.h"
#include "cairn/state/state_key.h"
#include "cairn/state/state_store.h"
#include "cairn/state/tier.h"
#include "cairn/state/tier_objects.h"
#include "cairn/state/tier_reader.h"
#include "cairn/state/tier_writer.h"

namespace cairn {

using LeaseId = Id<struct LeaseTag, int64_t>;
using PinId = Id<struct PinTag, int64_t>;

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
  struct TierOptions {
    std::string name;      // as usage and metrics call it: "disk", "store"
    ObjectStore* objects;  // outlives the manager, which alone polls it
  };
  struct Options {
    std::string policy{kDefaultEvictionPolicy};
    // A policy that the managers of other models use, too, in place of `policy`: for stores that
    // share a ByteAccount. It outlives the manager.
    EvictionPolicy* shared_policy = nullptr;
    RecomputeCost recompute;         // in a unit that all who share a policy take
    std::vector<TierOptions> tiers;  // the fastest first
    TokenCount run_tokens{0};        // of a tier's objects; 0: RunTokensFor
  };
  struct Stats {
    int64_t opened = 0;
    int64_t opened_tokens = 0;         // that were asked for
    int64_t memory_tokens = 0;         // resumed from memory
    int64_t loaded_tokens = 0;         // read from tiers
    std::vector<int64_t> tier_tokens;  // of these, by the tier that usage names
    int64_t loads = 0;                 // that ended well
    int64_t loads_failed = 0;          // an object was absent, damaged or unreadable
    int64_t loads_late = 0;            // given up: computing had been faster
    int64_t loads_declined = 0;        // never begun for that reason
    int64_t refused = 0;               // Prepare found no bytes
    std::string problem;               // the last load's that failed
  };
  static Result<std::unique_ptr<StateManager>> Make(StateStore& store, const Options& options);
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
  TokenCount NextKeepAfter(TokenCount length, TokenCount prompt) const;
  // Others may resume here from now on. `tokens` are what the sequence has read; `turn` helps the
  // policy, no more.
  void Keep(LeaseId id, std::span<const TokenId> tokens, int64_t now_us, const Turn& turn = {});
  // Keeps a sequence at rest that is not leased; with its end, as Close does.
  void KeepSequence(const StateKey& key, std::span<const TokenId> tokens, SequenceId id,
                    int64_t now_us);
  // As StateStore::DropRows, after dropping what is kept and in the way. What the lease began with
  // may go from then on, and nothing of the sequence can be kept: it is given back with Drop.
  Status DropRows(LeaseId id, const RowsToKeep& keep);
  // One more lease of the same tokens; takes no bytes. kExhausted: too many sequences.
  Result<LeaseId> Fork(LeaseId id);
  // Keeps and gives back.
  void Close(LeaseId id, std::span<const TokenId> tokens, int64_t now_us, const Turn& turn = {});
  // Gives back without keeping.
  void Drop(LeaseId id);

  // The tokens [from, from + count) of a sequence took so long to compute; loads are weighed
  // against it.
  void NoteCompute(TokenCount from, TokenCount count, int64_t took_us);

  // What is kept of these tokens stays until it is unpinned, whatever the policy says.
  PinId Pin(const StateKey& key, std::span<const TokenId> tokens);
  TokenCount PinnedTokens(PinId id) const;
  struct PinUse {
    TokenCount tokens;
    Bytes bytes;  // each block once
    Bytes alone;  // of these, what no other pin holds
  };
  PinUse UseOf(PinId id) const;
  // Of all pins, each block once.
  Bytes PinnedBytes() const;
  void Unpin(PinId id);
  // Drops from memory what of these tokens nobody else uses; returns the bytes that it has freed.
  Bytes Forget(const StateKey& key, std::span<const TokenId> tokens);
  // Likewise all that begins with them, but nothing of the first `keep` tokens.
  Bytes ForgetAll(const StateKey& key, std::span<const TokenId> tokens, TokenCount keep);

  // Drops kept state until so many bytes are free. False: all that may go is gone.
  bool MakeRoom(Bytes bytes);

  // Ends what has arrived, hands on what waits.
  void Poll(int64_t now_us);
  // Waits until all that was kept is on the tiers: for an orderly end.
  void Flush(int64_t now_us);
  // Whether Poll has anything to wait for.
  bool idle() const { return writer_.idle() && reader_.idle(); }
  // How many leases are not ready.
  int64_t loading() const;

  const Stats& stats() const { return stats_; }
  const TierWriter::Stats& writes() const { return writer_.stats(); }
  std::span<const Tier> tiers() const { return tiers_; }
  // What the live bytes are for: each block counts once, where it is named first.
  struct Use {
    Bytes pinned;     // rows and points that pins hold
    Bytes in_use;     // other rows that are kept and that live sequences go on from
    Bytes kept;       // rows that may go
    Bytes snapshots;  // points
    Bytes waiting;    // kept for nobody but the tiers' writer
    Bytes running;    // of live sequences alone, or on its way from a tier
  };
  // Nothing, where more than so many blocks would have to be looked at.
  std::optional<Use> UseOfBytes(BlockCount max_blocks) const;
  // A picture of the tree, and of its tokens how many lie on each tier, too, each in an object that
  // can be read. Absent: looking would have taken too long, for paths of more than `most_tokens` in
  // all.
  struct ShownNode {
    PrefixTree::NodeSummary node;
    std::optional<std::vector<TokenCount>> on_tiers;
  };
  std::vector<ShownNode> Picture(size_t max_nodes, TokenCount most_tokens) const;
  // CHECKs the invariants of all parts, and that every block is somebody's.
  void Audit() const;

 private:
  // A load that fails is tried anew, with what is left; so often.
  static constexpr int kLoadTries = 3;
  enum class Phase : uint8_t {
    kReady,
    kReading,  // `load` is on its way
    kToBegin,  // there was no room yet
  };
  struct Lease {
    StateKey key;
    Phase phase = Phase::kToBegin;
    SequenceId sequence;  // if ready
    PrefixTree::Lock lock;
    StateOrigin origin;
    TokenCount kept;  // length when it was last kept
    // While it isn't ready:
    std::vector<TokenId> tokens;
    LoadId load;
    TokenCount load_tokens, load_shared;
    std::string load_tier;
    int64_t load_began_us = 0;
    double load_expected_us = 0;
    int64_t give_up_us = 0;
    int tries_left = 0;
  };

  StateManager(StateStore& store, std::unique_ptr<PrefixTree> tree, const Options& options);
  Lease& At(LeaseId id);
  const Lease& At(LeaseId id) const;
  const Lease& ReadyAt(LeaseId id) const;
  Lease& ReadyAt(LeaseId id);
  LeaseId Insert(Lease lease);

  static std::vector<Tier> TiersOf(const Options& options);
  int64_t SnapshotSpacing() const;
  Status Begin(Lease& lease, std::span<const TokenId> tokens, int64_t now_us);
  bool BeginLoad(Lease& lease, std::span<const TokenId> tokens, TokenCount resumable,
                 int64_t now_us);
  bool IsWorthIt(const LoadPlan& plan, TokenCount resumable) const;
  void EndLoad(Lease& lease, int64_t now_us);
  MissReason WhyNoMore(const Lease& lease, std::span<const TokenId> tokens, TokenCount most) const;
  void KeepAndWrite(const StateKey& key, std::span<const TokenId> tokens, SequenceId id,
                    PrefixTree::Lock& lock, int64_t now_us, bool with_end, const Turn& turn);
  void Advance(Lease& lease, int64_t now_us);
  struct ReadEnd {
    int64_t earliest_us, latest_us;
  };
  void NoteReadTime(const Lease& lease, const ReadEnd& end);

  StateStore& store_;
  std::unique_ptr<PrefixTree> tree_;
  const TokenCount run_tokens_;
  const Bytes in_slow_hands_;  // at most, of what nobody waits for
  std::vector<Tier> tiers_;
  TierWriter writer_;
  TierReader reader_;
  ComputeCost compute_cost_;
  RecentTags recent_;  // of what was kept, by whole runs
  struct Pinned {
    PrefixTree::Lock lock;
    TokenCount tokens;
  };
  std::unordered_map<LeaseId, Lease> leases_;
  std::unordered_map<PinId, Pinned> pins_;
  int64_t next_pin_ = 1;
  int64_t next_lease_ = 1;
  int64_t polled_us_ = 0;
  Stats stats_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_STATE_MANAGER_H_
