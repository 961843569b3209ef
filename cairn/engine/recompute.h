// Recomputing stored state: whether a tier's objects are what the model makes of their tokens.
//
// A checksum says that an object is as it was written; this says that it was written right. Same
// tokens give the same bits whatever path led there, so the comparison is of bytes. Objects carry
// their tokens, and those before them are found in the runs before them (state/tier_objects.h).
#ifndef CAIRN_ENGINE_RECOMPUTE_H_
#define CAIRN_ENGINE_RECOMPUTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/models/model.h"
#include "cairn/state/object_store.h"
#include "cairn/state/state_key.h"
#include "cairn/state/state_store.h"

namespace cairn {

struct RecomputeOptions {
  int64_t objects = 0;  // how many, at most
  uint64_t seed = 0;    // which ones
  TokenCount chunk{512};
};

struct RecomputeReport {
  int64_t candidates = 0;  // objects of this state key
  int64_t equal = 0;
  int64_t different = 0;
  int64_t incomplete = 0;  // what is before them is not there any more
  int64_t unreadable = 0;  // absent or damaged when they were read
  TokenCount computed;
  std::vector<std::string> problems;  // one line for each that is different or unreadable
};

// Of the objects that belong to the key, some chosen at random. Nobody else may poll `objects`.
// Errors: a sequence that doesn't fit into the store of state.
Result<RecomputeReport> RecomputeObjects(Model& model, StateStore& state, const StateKey& key,
                                         ObjectStore& objects, const RecomputeOptions& options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_RECOMPUTE_H_
