// The tiers that `cairn state` works on: a folder of the disk tier, or a Redis.
#ifndef CAIRN_TOOLS_STATE_TIER_H_
#define CAIRN_TOOLS_STATE_TIER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/object_store.h"

namespace cairn {

struct TierChoice {
  std::string name;    // a folder or redis://...
  std::string prefix;  // of the keys on a Redis
  bool IsRedis() const;
  // What may be printed: a Redis without its password.
  std::string Name() const;
};

// Nothing is given up to fit a bound; another process must not have the folder. Errors: there is no
// such tier.
Result<std::unique_ptr<ObjectStore>> OpenTier(const TierChoice& choice);
// The same; a folder that is not there is made.
Result<std::unique_ptr<ObjectStore>> OpenOrMakeTier(const TierChoice& choice);
// A folder's tier, from which the oldest segments are removed until the others fit.
Result<std::unique_ptr<ObjectStore>> OpenTierWithin(const TierChoice& choice, Bytes bound);

// What the files of a folder take while nobody has it; a store that is open has more reserved.
// Nothing for a Redis.
std::optional<Bytes> FolderBytes(const TierChoice& choice);

// All objects, by key.
std::vector<ObjectInfo> ObjectsByKey(const ObjectStore& store);

struct ReadObject {
  const ObjectInfo& info;
  ObjectOutcome outcome;
  const std::string& problem;
  std::span<const std::byte> bytes;  // of kDone
};
// Reads them, some at once, and hands them over in their order. Stops at an error of `take` and
// returns it.
Status ReadObjects(ObjectStore& store, std::span<const ObjectInfo> objects,
                   const std::function<Status(const ReadObject&)>& take);

// Waits for the one request that is on its way.
ObjectCompletion WaitForOne(ObjectStore& store);

}  // namespace cairn

#endif  // CAIRN_TOOLS_STATE_TIER_H_
