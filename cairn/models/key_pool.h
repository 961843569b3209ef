// Index keys that are pooled in fixed groups when they are read (GLM 5 next).
//
// A token's row is its key, a gate for each of the key's channels, and a one. The key of a group
// is, channel by channel, the keys' mean weighed by a softmax of the gates, which a bias for each
// place in the group is added to. Groups are made anew in every pass, from the rows as they are
// kept: so it makes no difference where a chunk ends. Immutable after loading; thread-safe on
// different workspaces.
#ifndef CAIRN_MODELS_KEY_POOL_H_
#define CAIRN_MODELS_KEY_POOL_H_

#include <cstdint>
#include <vector>

#include "cairn/models/part.h"
#include "cairn/models/state_access.h"

namespace cairn {

class KeyPool {
 public:
  static Result<KeyPool> Load(const PartLoader& loader, const SparseIndexSpec& spec);

  int64_t tokens() const { return tokens_; }      // of a group
  const Linear& gates() const { return gates_; }  // [width, hidden]
  // What stands in a token's row behind its key and gates.
  static constexpr float kMark = 1;

  // Keys of the first `groups` groups, in row-major tiles of floats: `tiles` points to them. They
  // hold until `slot` of the workspace is asked for again.
  void Make(const StateLayout::RowsPlace& rows, const SequenceView& state, int64_t groups,
            const Pass& pass, int slot, std::vector<std::byte*>& tiles) const;

 private:
  void MakeGroup(const StateLayout::RowsPlace& rows, const SequenceView& state, int64_t group,
                 float* scratch, float* key) const;

  int64_t width_ = 0;
  int64_t tokens_ = 0;
  Linear gates_;
  std::vector<float> bias_;  // [tokens][width]
};

}  // namespace cairn

#endif  // CAIRN_MODELS_KEY_POOL_H_
