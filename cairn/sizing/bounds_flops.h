// Flops: how many multiplications and additions reading a prompt takes, each counted as one.
//
// Matrices: 2 for each weight and token. Softmax attention: 2 x heads x (key + value width) for
// each pair of a query and a key that it sees, so windows, chunks and an index's picks count as
// what they leave; of pooled keys the open pool is read besides the picks. Recurrences: a constant
// for each element of their state. Norms, rotations and activations aren't counted. Pure functions;
// thread-safe.
#ifndef CAIRN_SIZING_BOUNDS_FLOPS_H_
#define CAIRN_SIZING_BOUNDS_FLOPS_H_

#include <cstdint>

#include "cairn/base/ids.h"
#include "cairn/spec/model_spec.h"
#include "cairn/spec/state_spec.h"

namespace cairn {

struct Flops {
  double matrices = 0;
  double attention = 0;  // scores and values
  double index = 0;      // of the keys that choose among rows
  double recurrence = 0;
  double head = 0;  // logits

  double Total() const { return matrices + attention + index + recurrence + head; }
};

// Pairs of a query among the first `tokens` positions and a key that it sees, its own with them.
// `most`: no query reads more (an index's picks); 0: no such bound.
double VisiblePairs(const Lifetime& lifetime, TokenCount tokens, int64_t most);

// Of tokens [cached, tokens) of one prompt, with logits of the last one. `multiplied`: weights that
// each token passes (weight_parts.h).
Flops PrefillFlops(const ModelSpec& model, int64_t multiplied, TokenCount tokens,
                   TokenCount cached);

// Of one decode step of one request after `context` tokens, with latents read as they are stored.
Flops DecodeFlops(const ModelSpec& model, int64_t multiplied, TokenCount context);

}  // namespace cairn

#endif  // CAIRN_SIZING_BOUNDS_FLOPS_H_
