// BlockPicker: chooses the blocks of keys that a token of sparse attention reads.
//
// It keeps short keys of its own in the layer's state. A token that sees no more than what would be
// picked isn't asked for: it reads all. Picks depend on the token's query and the keys up to its
// position alone. Thread safety: one call at a time.
#ifndef CAIRN_MODELS_BLOCK_PICKER_H_
#define CAIRN_MODELS_BLOCK_PICKER_H_

#include <cstdint>
#include <memory>

#include "cairn/models/part.h"

namespace cairn {

class BlockPicker {
 public:
  // Slots of the workspace that pickers may use.
  static constexpr int kFirstSlot = 7;

  virtual ~BlockPicker() = default;

  virtual Status Load(const PartLoader& loader) = 0;
  // Heads that pick each for as many of the attention's.
  virtual int64_t heads() const = 0;
  // Positions of a block.
  virtual int64_t block() const = 0;
  // The most blocks that a head picks for a token, and how many it picks at `position`.
  virtual int64_t picks() const = 0;
  virtual int64_t PicksAt(int64_t position) const = 0;
  // Before this position all that a token sees is read.
  virtual int64_t FirstSparse() const = 0;

  // Makes queries of all tokens and stores their keys; `rope` may be null.
  virtual void Project(const Pass& pass, const float* normed, const RopeTable* rope) = 0;
  // Called once for a span, before Pick is called for some of its tokens.
  virtual void Prepare(const Pass& /*pass*/, const BatchSpan& /*span*/) {}
  // Of tokens [token, token + count) of the span, whose first token is `first` in the batch:
  // [count][heads][picks()] blocks, PicksAt of them ascending. REQUIRES: FirstSparse is reached.
  struct Part {
    const BatchSpan* span = nullptr;
    int64_t first = 0;
    int64_t token = 0;
    int64_t count = 0;

    int64_t position() const { return span->state.tokens_before.value() + token; }
  };
  virtual void Pick(const Pass& pass, const Part& part, int32_t* picks) = 0;
};

// By the largest score among a block's keys (MiniMax M3).
std::unique_ptr<BlockPicker> MakeLargestKeyPicker(const LayerBuild& build,
                                                  const AttentionSpec& spec);
// By the score of the mean of a block's keys (Qwen 4).
std::unique_ptr<BlockPicker> MakePooledKeyPicker(const LayerBuild& build,
                                                 const AttentionSpec& spec);

}  // namespace cairn

#endif  // CAIRN_MODELS_BLOCK_PICKER_H_
