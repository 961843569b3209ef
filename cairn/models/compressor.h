// Compressor: makes one row, an entry, of several consecutive tokens (DeepSeek V4).
//
// Every token has a value and a gate for each channel of the entry; an entry is, channel by
// channel, the values' mean weighed by a softmax of the gates, normed and rotated at its first
// position. Where entries overlap, a token has two such pairs, the first for the entry after its
// own. Values and gates of tokens whose entry isn't made yet are state ("open windows"), and pass
// through it before they are used, so that it makes no difference where a chunk ends. Immutable
// after loading; thread-safe on different sequences.
#ifndef CAIRN_MODELS_COMPRESSOR_H_
#define CAIRN_MODELS_COMPRESSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/models/part.h"
#include "cairn/models/state_access.h"

namespace cairn {

class Compressor {
 public:
  // Entries of `width` channels, their tensors under `role`. `entries` and `open` name the
  // components that hold them and what isn't in them yet.
  static Result<Compressor> Load(const LayerBuild& build, const CompressedAttentionSpec& spec,
                                 const std::string& role, int64_t width, std::string_view entries,
                                 const std::string& open);

  // Channels of a token's values, and of its gates, as the matrices make them.
  int64_t channels() const { return overlaps_ ? 2 * width_ : width_; }
  const Linear& values() const { return values_; }
  const Linear& gates() const { return gates_; }
  const StateLayout::RowsPlace& entries() const { return entries_; }

  // Keeps the values and gates of one token; changes `gates`.
  void Store(const SequenceView& state, int64_t position, const float* values, float* gates) const;
  // Floats that MakeEntry needs besides.
  int64_t ScratchFloats() const { return (2 * Slots() + 1) * width_; }
  // Makes and stores entry `entry`, all of whose tokens are stored.
  void MakeEntry(const SequenceView& state, int64_t entry, float* scratch) const;

 private:
  int64_t Slots() const { return overlaps_ ? 2 * ratio_ : ratio_; }
  // Value and gate of a token, from the state to rows `slot` of the scratch.
  void LoadPair(const StateLayout::RowsPlace& place, const SequenceView& state, int64_t position,
                int64_t slot, float* scratch) const;

  int64_t width_ = 0;
  int64_t ratio_ = 0;
  bool overlaps_ = false;
  const RopeTable* rope_ = nullptr;
  Linear values_;                     // [channels, hidden]
  Linear gates_;                      // [channels, hidden]
  std::vector<float> position_bias_;  // [ratio][channels], of the gates
  Norm norm_;
  StateLayout::RowsPlace entries_;
  StateLayout::RowsPlace open_;
  std::optional<StateLayout::RowsPlace> open_before_;  // what goes into the entry after
};

}  // namespace cairn

#endif  // CAIRN_MODELS_COMPRESSOR_H_
