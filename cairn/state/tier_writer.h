// TierWriter: state on its way down, behind the requests' backs.
//
// What is to be written holds references to its blocks, nothing is copied. A part of it is handed
// to the stores; the rest waits, and is given up when its blocks are wanted and nobody else has
// them any more. Tiers don't wait for each other: each has its queue, its share of what may be in
// the stores' hands, and its limit. Same thread as the store of the state.
#ifndef CAIRN_STATE_TIER_WRITER_H_
#define CAIRN_STATE_TIER_WRITER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/state/kept_state.h"
#include "cairn/state/state_store.h"
#include "cairn/state/tier.h"
#include "cairn/state/tier_objects.h"

namespace cairn {

class TierWriter {
 public:
  struct Stats {
    int64_t written = 0;  // objects acknowledged
    Bytes written_bytes;
    int64_t given_up = 0;  // objects not written: their blocks were wanted, or too many waited
    int64_t failed = 0;
    int64_t waiting = 0;  // objects for a tier, those in the stores' hands included
    Bytes waiting_bytes;
    std::string problem;  // the last one
  };

  // At most `in_flight_max` bytes are in the hands of the stores, in equal shares; but each may
  // have one object.
  TierWriter(StateStore& store, std::span<Tier> tiers, Bytes in_flight_max)
      : store_(store),
        tiers_(tiers),
        in_flight_share_(in_flight_max.value() / std::max<int64_t>(std::ssize(tiers), 1)),
        queues_(tiers.size()) {}

  // What the tiers lack of a sequence at rest that has read the chain's tokens: whole runs and, if
  // asked for, the end.
  void Write(const PrefixChain& chain, SequenceId id, bool with_end);
  // Hands waiting objects to the stores, as far as they take them.
  void Push();
  // False: the request isn't one of the writer's.
  bool Take(size_t tier, const ObjectCompletion& completion);
  // Gives up waiting objects whose blocks nobody else has, newest first, until that has freed so
  // many bytes. Returns the bytes that it has freed.
  Bytes GiveUp(Bytes wanted);
  // All that isn't in the stores' hands.
  void GiveUpAll();

  bool idle() const { return stats_.waiting == 0; }
  const Stats& stats() const { return stats_; }
  void ForEachRef(const RefVisitor& visit) const;

 private:
  // Blocks on their way to one tier or several.
  struct Object {
    ObjectKey key;
    ObjectMetadata metadata{};
    Bytes bytes;
    std::vector<BlockRef> blocks;
    std::vector<TokenId> tokens;
    std::vector<std::span<const std::byte>> pieces;  // of both
    std::vector<size_t> waiting;                     // tiers
    int in_flight = 0;                               // so many tiers
  };
  struct Queue {                   // of a tier
    std::deque<uint64_t> waiting;  // in objects_, or given up
    size_t given_up = 0;           // of those
    Bytes in_flight_bytes;
    std::unordered_set<ObjectKey> known;  // of all that wait or fly
  };
  void Add(const PrefixChain& chain, const ObjectKey& key, const TierObject& object,
           const TierBlocks& blocks, SequenceId id);
  void Push(size_t tier);
  bool HandOver(size_t tier, uint64_t id, Object& object);
  // The tier has the object, or won't get it.
  void Finish(size_t tier, uint64_t id);
  void GiveUp(uint64_t id);
  StateStore& store_;
  const std::span<Tier> tiers_;
  const Bytes in_flight_share_;
  std::map<uint64_t, Object> objects_;  // in the order they came
  uint64_t next_object_ = 1;
  std::map<std::pair<size_t, RequestId>, uint64_t> in_flight_;
  std::vector<Queue> queues_;  // by tier
  Stats stats_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_TIER_WRITER_H_
