// StateNeeds: how many bytes of state sequences will need, from StateLayout's arithmetic.
//
// Immutable; thread-safe.
#ifndef CAIRN_ENGINE_STATE_NEEDS_H_
#define CAIRN_ENGINE_STATE_NEEDS_H_

#include <vector>

#include "cairn/base/ids.h"
#include "cairn/spec/state_layout.h"

namespace cairn {

class StateNeeds {
 public:
  // `layout` must outlive it.
  StateNeeds(const StateLayout& layout, TokenCount context);

  // A sequence can read `tokens` tokens with so many bytes and no fewer, if it shares nothing and
  // its pieces end where blocks do (PieceAt). REQUIRES 0 <= tokens <= context.
  Bytes Alone(TokenCount tokens) const;
  // The smallest piece with which a sequence should go on when bytes are short: to a block's end.
  static TokenCount PieceAt(TokenCount read) {
    return TokenCount(kRowsPerBlock - read.value() % kRowsPerBlock);
  }
  // Of rows that are kept as long as their sequence: those that a common prefix is shared by.
  Bytes Rows(TokenCount tokens) const;
  // What exists at one length only: windows and Fixed components. Such a copy stays with each
  // length that others may resume from.
  Bytes Point(TokenCount tokens) const;

 private:
  const StateLayout& layout_;
  std::vector<Bytes> alone_;  // [b]: the most on the way to the end of block b
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_STATE_NEEDS_H_
