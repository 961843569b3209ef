// Walks the heads of a recurrent layer through the tokens of a batch.
//
// The state is a Fixed component of one matrix a head. Heads and sequences run in parallel, tokens
// one after the other, and what is kept in a narrower type passes through that type after every
// token: the same bits for any cut of the batch.
#ifndef CAIRN_MODELS_HEAD_RECURRENCE_H_
#define CAIRN_MODELS_HEAD_RECURRENCE_H_

#include <cstdint>

#include "cairn/models/pass.h"
#include "cairn/models/state_access.h"

namespace cairn {

// Calls walk(state, head, first, count): move the matrix of `head` through the batch's tokens
// first .. first + count - 1. `slot` of the workspace holds matrices that are kept in another type.
template <class Walk>
void WalkHeads(const Pass& pass, const FixedPlace& place, int64_t heads, int slot,
               const Walk& walk) {
  const int64_t size = place.elements / heads;
  const auto spans = static_cast<int64_t>(pass.batch.size());
  const bool in_place = place.dtype == DType::kF32;
  float* copies = in_place ? nullptr : pass.work->Floats(slot, spans * place.elements);
  if (!in_place) {
    for (int64_t s = 0; s < spans; ++s) {
      place.Load(pass.batch[static_cast<size_t>(s)].state, copies + s * place.elements);
    }
  }
  auto one = [&](int64_t task, int /*thread*/) {
    const int64_t s = task / heads;
    const int64_t head = task % heads;
    int64_t first = 0;
    for (int64_t i = 0; i < s; ++i) {
      first += static_cast<int64_t>(pass.batch[static_cast<size_t>(i)].tokens.size());
    }
    const BatchSpan& span = pass.batch[static_cast<size_t>(s)];
    const auto tokens = static_cast<int64_t>(span.tokens.size());
    if (in_place) {
      walk(place.Floats(span.state) + head * size, head, first, tokens);
      return;
    }
    float* matrix = copies + s * place.elements + head * size;
    for (int64_t t = 0; t < tokens; ++t) {
      walk(matrix, head, first + t, 1);
      RoundTo(place.dtype, matrix, size);
    }
  };
  pass.pool->ParallelFor(spans * heads, one);
  if (in_place) return;
  for (int64_t s = 0; s < spans; ++s) {
    place.Store(pass.batch[static_cast<size_t>(s)].state, copies + s * place.elements);
  }
}

}  // namespace cairn

#endif  // CAIRN_MODELS_HEAD_RECURRENCE_H_
