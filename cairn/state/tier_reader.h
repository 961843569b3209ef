// TierReader: state on its way up. Finds what tiers hold of a prefix beyond what memory has, and
// reads it straight into the blocks of a new sequence.
//
// A load is all or nothing: its sequence is whole when every object has been read and verified.
// Blocks stay until the stores have let go of them, also when nobody waits any more. Same thread as
// the store of the state.
#ifndef CAIRN_STATE_TIER_READER_H_
#define CAIRN_STATE_TIER_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/state/state_store.h"
#include "cairn/state/tier.h"
#include "cairn/state/tier_objects.h"

namespace cairn {

using LoadId = Id<struct LoadTag, int64_t>;

struct LoadPlan {
  TokenCount tokens;  // that the sequence will have
  TokenCount shared;  // of those, rows that memory has; whole runs
  Bytes bytes;        // to be read
  double expected_us = 0;
  struct Object {
    size_t tier = 0;
    ObjectKey key;
    TierBlocks blocks;
    std::vector<TokenId> tokens;  // that the object must have
    Bytes bytes() const {
      return blocks.bytes + Bytes(sizeof(TokenId)) * static_cast<int64_t>(tokens.size());
    }
  };
  std::vector<Object> objects;
  // That are read from, each once.
  std::vector<size_t> Tiers() const;
};

enum class LoadState : uint8_t { kReading, kDone, kFailed };

class TierReader {
 public:
  TierReader(StateStore& store, std::span<Tier> tiers) : store_(store), tiers_(tiers) {}
  // Nothing is on its way, or the tiers' stores are gone.
  ~TierReader();

  // The longest sequence of more than `resumable` and at most `most` tokens of the chain that the
  // tiers can complete, where memory has the rows of the first `in_memory` tokens.
  std::optional<LoadPlan> Plan(const PrefixChain& chain, TokenCount in_memory, TokenCount resumable,
                               TokenCount most, int64_t now_us) const;
  // `id` was begun with BeginLoad for the plan's tokens and shared ones.
  LoadId Start(const LoadPlan& plan, SequenceId id);
  // False: the request isn't one of the reader's.
  bool Take(size_t tier, const ObjectCompletion& completion, int64_t now_us);

  LoadState StateOf(LoadId id) const;
  const std::string& ProblemOf(LoadId id) const { return loads_.at(id).problem; }
  // Of one that is done; the sequence is the caller's, who ends its loading.
  SequenceId Finish(LoadId id);
  // Of any other: its sequence is released once no store may write to it.
  void Abandon(LoadId id);

  int64_t loading() const { return static_cast<int64_t>(loads_.size()); }
  bool idle() const { return loads_.empty() && erasures_.empty(); }
  // What stores may still write to though nobody waits for it any more.
  Bytes AbandonedBytes() const;
  void ForEachRef(const RefVisitor& visit) const;

 private:
  struct Load {
    SequenceId sequence;
    int64_t outstanding = 0;
    bool failed = false;
    bool abandoned = false;
    Bytes bytes;  // of all its objects
    std::string problem;
    std::vector<BlockRef> blocks;
  };
  struct Request {
    LoadId load;
    ObjectKey key;
    std::vector<TokenId> expected, found;
  };
  // The tier to read it from, in their order; nothing if none has it.
  std::optional<size_t> TierOf(const ObjectKey& key, Bytes size, int64_t now_us) const;
  // Runs from `first` on that the tiers have without a gap.
  std::vector<LoadPlan::Object> RunsFrom(const PrefixChain& chain, int64_t first, TokenCount most,
                                         int64_t now_us) const;
  // What is read behind the first `runs` whole runs, longest first; the tokens are those of the
  // sequence that results.
  struct Tail {
    TokenCount tokens;
    std::vector<LoadPlan::Object> objects;  // an end, or nothing where runs are all there is
  };
  std::optional<Tail> TailBehind(const PrefixChain& chain, int64_t runs, TokenCount above,
                                 TokenCount most, int64_t now_us) const;
  void ExpectTime(LoadPlan& plan) const;
  void DropIfOver(LoadId id);

  StateStore& store_;
  const std::span<Tier> tiers_;
  std::unordered_map<LoadId, Load> loads_;
  std::map<std::pair<size_t, RequestId>, Request> requests_;
  std::set<std::pair<size_t, RequestId>> erasures_;  // of what isn't what its key says
  int64_t next_load_ = 1;
};

}  // namespace cairn

#endif  // CAIRN_STATE_TIER_READER_H_
