// EvictionPolicy: which kept piece of state goes first when bytes are needed.
//
// An EvictionEntry stands for what can be dropped at once: the end of a path that nothing
// continues, or a point. Its owner fills in the facts and tells the policy of every change; the
// policy orders the entries that it has been given. Times come from the owner's clock and may be
// virtual. Same thread as the state.
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

struct EvictionEntry {
  // Facts, by the owner; constant while a policy holds the entry, but for Touch.
  int64_t last_use_us = 0;
  int64_t uses = 0;     // besides the one that made it
  TokenCount from, to;  // tokens that must be computed again when it is lost
  Bytes bytes;          // of the blocks it refers to, shared or not
  void* owner = nullptr;

  // The policy's own.
  double priority = 0;
  int64_t order = 0;     // among equals
  int64_t sequence = 0;  // among those, too
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
};

// Of the table in eviction.cc: "lru", ... Errors name the policies that there are.
Result<std::unique_ptr<EvictionPolicy>> MakeEvictionPolicy(std::string_view name);
std::span<const std::string_view> EvictionPolicyNames();

}  // namespace cairn

#endif  // CAIRN_STATE_EVICTION_H_
