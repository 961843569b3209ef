// How a sequence's state is cut into the objects that lie on tiers below memory.
//
// Tokens are cut into runs of equal length, counted from position 0. A run object holds, of each
// class that keeps all rows, the blocks that are full with the run's last token and were not with
// the token before the run. An end object holds the rest of what a sequence of n tokens is made of:
// blocks beyond its last whole run, windows, chunks, Fixed components. So the runs before n and the
// end at n bring a sequence of n tokens back, and conversations with one beginning share its runs.
//
// Behind the blocks an object has its tokens, [from, to), so that it can be checked against what
// was asked for, and recomputed. A run that fills no block is tokens alone; nobody needs to read
// it. The bytes of an object are those of a sequence at rest: a function of its key, like its size.
// Keys go on over tokens as state_key.h's do. Thread safety: pure functions; PrefixChain is
// immutable.
#ifndef CAIRN_STATE_TIER_OBJECTS_H_
#define CAIRN_STATE_TIER_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/sha256.h"
#include "cairn/spec/state_layout.h"
#include "cairn/state/object_store.h"
#include "cairn/state/state_key.h"

namespace cairn {

enum class TierObjectKind : uint64_t { kRun = 1, kEnd = 2 };

// What an object says of itself beside its bytes; as numbers in ObjectMetadata, in this order.
// The tags are the first 8 bytes of digests: enough to group and to look things up, and they tell
// nobody the tokens.
struct TierObject {
  TierObjectKind kind = TierObjectKind::kRun;
  TokenCount from, to;     // [from, to); an end begins where its last whole run ends
  uint64_t state_key = 0;  // tag of the StateKey
  uint64_t before = 0;     // tag of the tokens [0, from): ends are found by it
  uint64_t after = 0;      // tag of the tokens [0, to)
  Bytes TokenBytes() const { return Bytes(sizeof(TokenId)) * (to - from).value(); }
  bool operator==(const TierObject&) const = default;
};
ObjectMetadata MetadataOf(const TierObject& object);
// Nothing if the numbers are not such an object's.
std::optional<TierObject> TierObjectOf(const ObjectMetadata& metadata);

uint64_t TagOf(const StateKey& key);

// Tokens of a run: as many as make objects that are worth a read of their own and no longer.
TokenCount RunTokensFor(const StateLayout& layout);

// Blocks that make up an object, by ClassIndex.
struct TierBlocks {
  std::vector<BlockRange> ranges;
  bool fixed = false;
  Bytes bytes;  // of the blocks
};
TierBlocks RunBlocks(const StateLayout& layout, TokenCount run_tokens, int64_t run);
// Of no bytes where a sequence of so many tokens is made of whole runs alone.
TierBlocks EndBlocks(const StateLayout& layout, TokenCount run_tokens, TokenCount tokens);

// The keys of all objects along some tokens.
class PrefixChain {
 public:
  // Keeps a reference to the tokens.
  PrefixChain(const StateKey& key, std::span<const TokenId> tokens, TokenCount run_tokens);

  TokenCount run_tokens() const { return run_tokens_; }
  TokenCount tokens() const { return TokenCount(static_cast<int64_t>(tokens_.size())); }
  int64_t whole_runs() const { return static_cast<int64_t>(chain_.size()) - 1; }
  // REQUIRES 0 <= run < whole_runs().
  ObjectKey RunKey(int64_t run) const;
  TierObject Run(int64_t run) const;
  // REQUIRES 0 < n <= tokens().
  ObjectKey EndKey(TokenCount n) const;
  TierObject End(TokenCount n) const;
  // Of the tokens of the first `runs` runs.
  uint64_t Tag(int64_t runs) const;
  std::span<const TokenId> TokensOf(const TierObject& object) const;

 private:
  Sha256 ChainAt(TokenCount n) const;

  std::span<const TokenId> tokens_;
  TokenCount run_tokens_;
  uint64_t state_key_;
  std::vector<Sha256> chain_;  // after 0, 1, 2, ... runs
};

}  // namespace cairn

#endif  // CAIRN_STATE_TIER_OBJECTS_H_
