// PrefixTree: the state of token sequences seen before, kept for those that begin alike.
//
// A radix tree over token ids, one root for each key (state_key.h). A node is a run of tokens: it
// owns their rows (KeptRows) and the points among them (KeptPoint), and shares blocks with the
// sequences that made them. A sequence resumes from the longest prefix for which everything is
// there: rows of all its tokens and, where the model has windows or Fixed components, a point.
//
// Invariants (Audit CHECKs them):
//   1. children of a node begin with different tokens; no node but a root is empty;
//      a root has children or is locked
//   2. a node's rows are exactly those of its tokens; its points lie within, in order
//   3. a node is locked as often as live paths end in it or below it, those that are pinned among
//      them
//   4. the policy holds exactly what may go: ends of unlocked leaves where rows alone are enough,
//      else the points of unlocked nodes; a leaf then ends at a point unless it is locked
// Same thread as the store, which must outlive the tree. Times come from the caller.
#ifndef CAIRN_STATE_PREFIX_TREE_H_
#define CAIRN_STATE_PREFIX_TREE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/eviction.h"
#include "cairn/state/kept_state.h"
#include "cairn/state/state_key.h"
#include "cairn/state/state_store.h"

namespace cairn {

// What computing a token again costs, at position p: fixed + position * p. In a unit that all
// trees of a policy share.
struct RecomputeCost {
  double fixed = 1;
  double position = 0;
  double Of(TokenCount from, TokenCount to) const;
};

class PrefixTree {
 public:
  struct Stats {
    int64_t nodes = 0;  // roots aside
    int64_t points = 0;
    int64_t evictions = 0;
    int64_t evicted_tokens = 0;  // whose rows were dropped
  };
  class Lock;
  struct Resumed {
    SequenceId id;
    TokenCount tokens;  // that needn't be computed
  };

  PrefixTree(StateStore& store, std::unique_ptr<EvictionPolicy> policy, RecomputeCost cost = {});
  // A policy that trees of other models use, too: what one of them wants may go from any of them.
  // It outlives the trees.
  PrefixTree(StateStore& store, EvictionPolicy& policy, RecomputeCost cost = {});
  ~PrefixTree();

  // The longest prefix, of at most `most` tokens, that a sequence could resume from.
  TokenCount Match(const StateKey& key, std::span<const TokenId> tokens, TokenCount most) const;
  // The rows of the tokens that are here, from position 0 on, whether one can resume there or not;
  // valid until the tree changes.
  struct Path {
    TokenCount tokens;
    std::vector<const KeptRows*> rows;
    bool goes_on = false;  // something else follows them; not of no tokens at all
  };
  Path RowsOf(const StateKey& key, std::span<const TokenId> tokens) const;
  // Makes a sequence of that prefix, perhaps of no tokens, and locks its path; makes room by
  // eviction. A caller that needs logits asks for one token less than it has.
  // kExhausted: too many sequences, or nothing is left that could go.
  Result<Resumed> Resume(const StateKey& key, std::span<const TokenId> tokens, TokenCount most,
                         int64_t now_us, Lock& lock);
  // Keeps the state of a sequence at rest, which has read `tokens`: rows that aren't there yet,
  // and a point where its length ends. The lock moves to that path. Adds no bytes; the sequence's
  // next token will copy what is partly written. `turn` helps the policy, no more.
  void Keep(const StateKey& key, std::span<const TokenId> tokens, SequenceId id, int64_t now_us,
            Lock& lock, const Turn& turn = {});
  // Locks what is here of the tokens, so that it stays, and marks it as pinned; returns how many.
  // REQUIRES the lock is free.
  TokenCount PinPath(const StateKey& key, std::span<const TokenId> tokens, Lock& lock);
  // Drops the end of a path that was kept and that nothing continues or has locked, up to where
  // another path parts from it. Returns the bytes that it has freed.
  Bytes Forget(const StateKey& key, std::span<const TokenId> tokens);
  // Drops all that begins with the tokens, and of their path what Forget would, but nothing of the
  // first `keep` tokens and nothing that is locked. Returns the bytes that it has freed.
  Bytes ForgetAll(const StateKey& key, std::span<const TokenId> tokens, TokenCount keep);
  // `to` locks the same path as well.
  void ShareLock(const Lock& from, Lock& to);
  void Unlock(Lock& lock);

  // Drops what the policy says until the store has so many bytes free. False: all that may go is
  // gone, and it isn't enough.
  bool MakeRoom(Bytes bytes);
  // Drops the policy's next choice, or of a long end as much as frees `wanted` bytes. False:
  // nothing may go.
  bool EvictOne(Bytes wanted);

  const Stats& stats() const { return stats_; }
  // A picture of the tree, without tokens and keys.
  struct NodeSummary {
    int64_t parent = -1;  // in Summary's list; -1: it begins where sequences begin
    int64_t tokens = 0;
    Bytes bytes;  // of its rows and points, blocks shared with others included
    int64_t points = 0;
    int64_t children = 0;
    bool locked = false;  // a live path ends in it or below it
  };
  // The nodes nearest to the roots, at most so many; parents come before their children.
  std::vector<NodeSummary> Summary(size_t max_nodes) const;
  // The same nodes, each with its key and all tokens up to its end: for those who look up what else
  // there is of them. Once paths of so many tokens in all have been shown the others are empty.
  using NodeVisitor = std::function<void(const NodeSummary& node, const StateKey& key,
                                         std::span<const TokenId> path)>;
  void ForEachShown(size_t max_nodes, TokenCount most_tokens, const NodeVisitor& visit) const;
  enum class Part : uint8_t { kPinned, kLockedRows, kRows, kPoints };
  // Every reference that the tree holds; the parts in this order. Pinned are rows and points.
  void ForEachRef(const std::function<void(Part, const BlockRef&)>& visit) const;
  // Those of kPinned alone.
  void ForEachPinnedRef(const RefVisitor& visit) const;
  // Those that a pinned path holds, what other pins hold as well first.
  void ForEachRefOf(const Lock& pinned,
                    const std::function<void(bool shared, const BlockRef&)>& visit) const;
  // CHECKs the invariants, and the store's with the tree's references and `others`.
  void Audit(const KeptVisitor& others = {}) const;

 private:
  struct Point {
    KeptPoint state;
    EvictionEntry entry;
  };
  struct Node {
    PrefixTree* tree = nullptr;
    Node* parent = nullptr;
    const StateKey* root_key = nullptr;  // of a root
    std::vector<TokenId> tokens;
    KeptRows rows;
    std::vector<std::unique_ptr<Point>> points;                   // by length
    std::unordered_map<TokenId, std::unique_ptr<Node>> children;  // by first token
    int64_t locks = 0;
    int64_t pins = 0;                    // of these, those of PinPath
    uint64_t hash_before = 0;            // of the key and all tokens before the node's own
    std::optional<uint64_t> hash_after;  // and of these, too, once somebody wanted it
    EvictionEntry tail;  // what is known of the node's own tokens; held if they may go

    TokenCount from() const { return rows.from; }
    TokenCount to() const { return rows.to; }
  };
  // Where a walk along some tokens ends: so many of them match, the last of them in `node`.
  struct Place {
    Node* node = nullptr;
    TokenCount tokens;
  };
  // What Resume restores: tokens that end in `node` or above it, from a point in it if need be.
  struct Choice {
    TokenCount tokens;
    Node* node = nullptr;
    Point* point = nullptr;
  };

  Node* FindRoot(const StateKey& key) const;
  Node& RootFor(const StateKey& key);
  static Place Walk(Node& root, std::span<const TokenId> tokens);
  Choice Choose(const Place& place, TokenCount most) const;
  static bool IsMost(const Node& node, TokenCount to);
  void Return(const Place& place, int64_t now_us);
  void Touch(Node& node, Point* point, int64_t now_us);
  static void Use(EvictionEntry& entry, int64_t now_us);
  Node& SplitAt(Node& node, TokenCount at);
  Node& AddLeaf(Node& parent, std::span<const TokenId> tokens, SequenceId id, int64_t now_us);
  void AddBranchPoint(Node& upper, const Node& lower);
  void AddPoint(Node& node, SequenceId id, int64_t now_us);
  static uint64_t HashTo(const Node& node, TokenCount to);
  static void Identify(Node& node);
  void EndTurn(Node& node, const Turn& turn, int64_t now_us);
  void MoveLock(Lock& lock, Node* to);

  void Evict(Node& node, const EvictionEntry& victim, Bytes wanted);
  void EvictTail(Node& node, Bytes bytes);
  void EvictPoint(Node& node, const EvictionEntry& entry);
  Node* Prune(Node* node);
  Node* DropEnd(Node* node, TokenCount keep);
  void DropBelow(Node& node);
  Node* DropRootIfEmpty(Node* node);
  void RemoveLeaf(Node& node);
  void DropLeaf(Node& node);
  void Truncate(Node& node, TokenCount to);
  double RowBytesPerToken() const;

  void Offer(Node& node);
  void Withdraw(Node& node);
  void OfferPoint(Node& node, Point& point, TokenCount before);
  static bool IsSuperseded(const Node& node, size_t point);
  static TokenCount LastPointAbove(const Node& node);

  std::vector<std::pair<const Node*, NodeSummary>> Shown(size_t max_nodes) const;
  std::vector<const Node*> AllNodes() const;
  void AuditNode(const Node& node) const;

  StateStore& store_;
  const std::unique_ptr<EvictionPolicy> own_policy_;  // null: policy_ is shared
  EvictionPolicy* const policy_;
  const RecomputeCost cost_;
  std::unordered_map<StateKey, std::unique_ptr<Node>> roots_;
  Stats stats_;
};

// A live path: what lies on it isn't evicted. Must be unlocked before it is destroyed.
class PrefixTree::Lock {
 public:
  Lock() = default;
  ~Lock();
  Lock(Lock&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)), pins_(std::exchange(other.pins_, false)) {}
  Lock& operator=(Lock&& other) noexcept {
    std::swap(node_, other.node_);
    std::swap(pins_, other.pins_);
    return *this;
  }
  bool held() const { return node_ != nullptr; }

 private:
  friend class PrefixTree;
  Node* node_ = nullptr;
  bool pins_ = false;
};

}  // namespace cairn

#endif  // CAIRN_STATE_PREFIX_TREE_H_
