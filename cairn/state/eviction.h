// EvictionPolicy: which kept piece of state goes first when bytes are needed.
//
// An EvictionEntry stands for what can be dropped at once: the end of a path that nothing
// continues, or a point. Its owner fills in the facts and tells the policy of every change; the
// policy orders the entries that it has been given. One policy may order the entries of several
// owners that share a budget: what differs between them (bytes and cost of a token) is in the
// entries. Policies that learn are also told how paths are used; an entry then stands for the path
// that ends with its tokens, whether it may go or not. Times come from the owner's clock and may
// be virtual. Same thread as the state.
#ifndef CAIRN_STATE_EVICTION_H_
#define CAIRN_STATE_EVICTION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"

namespace cairn {

// Why a path's last answer ended: a tool's result comes back sooner than what a person thinks of.
enum class TurnEnd : uint8_t { kUnknown, kToolCall, kEndOfTurn, kLength };
inline constexpr int kTurnEnds = 4;

// What whoever keeps a path may know of its last answer. Never needed for what is right.
struct Turn {
  TurnEnd end = TurnEnd::kUnknown;
  TokenCount answer;
};

// How a path is used. Its owner hands it from a node to the next along the path.
struct PathUse {
  Turn turn;
  int64_t kept_us = -1;
  bool ends_here = false;  // else it has gone on since
  // The policy's own, while it waits for the path to be asked for again.
  int64_t watch = -1;
  double log2_pause_s = 0;  // mean of the pauses so far, if there were any
  bool has_paused = false;
};

struct EvictionEntry {
  // Facts, by the owner; constant while a policy holds the entry.
  int64_t last_use_us = 0;
  int64_t uses = 0;         // besides the one that made it
  TokenCount from, to;      // tokens that must be computed again when it is lost
  double cost = 0;          // of computing them, in one unit for all entries of a policy
  Bytes bytes;              // of the blocks it refers to, shared or not
  uint64_t id = 0;          // of its tokens and all before; the same when they come back
  bool superseded = false;  // its path goes on, and a longer prefix can be resumed from
  PathUse path;
  void* owner = nullptr;

  // The policy's own.
  double priority = 0;
  int64_t order = 0;     // among equals
  int64_t sequence = 0;  // among those, too
  int64_t counted = 0;   // uses that it has made up its mind about
  int queue = 0;
  bool held = false;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  virtual std::string_view name() const = 0;

  // The entry may go from now on, or no more. REQUIRES it isn't held, or is.
  virtual void Add(EvictionEntry& entry) = 0;
  virtual void Remove(EvictionEntry& entry) = 0;
  // The next one to go; stays held. Null: none is held.
  virtual EvictionEntry* Victim() = 0;

  // The path, or one that goes on from it, is asked for again.
  virtual void Returned(EvictionEntry& /*path*/, int64_t /*now_us*/) {}
  // The path was kept to its end, with `turn`, and its use passed on from what was there before.
  virtual void Kept(EvictionEntry& /*path*/, int64_t /*now_us*/) {}
  // What the entry stands for is gone. `rest` is what is left of a path that was kept with it, or
  // null.
  virtual void Gone(EvictionEntry& /*entry*/, EvictionEntry* /*rest*/) {}
};

// The one to take unless somebody asks for another.
inline constexpr std::string_view kDefaultEvictionPolicy = "cost";
// Of the table in eviction.cc: "cost", "lru", ... Errors name the policies that there are.
Result<std::unique_ptr<EvictionPolicy>> MakeEvictionPolicy(std::string_view name);
std::span<const std::string_view> EvictionPolicyNames();

}  // namespace cairn

#endif  // CAIRN_STATE_EVICTION_H_
