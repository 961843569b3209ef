// Bounds: the least time that decoding, reading a prompt and moving state can take.
//
// Decoding reads every weight it multiplies with and every row it attends to once a step: bytes
// over bandwidth. Reading a prompt multiplies: operations over compute. Moving state is bytes over
// a link. All three are what the hardware allows; kernels, launches and queues come on top. Plain
// data and pure functions; thread-compatible.
#ifndef CAIRN_SIZING_BOUNDS_H_
#define CAIRN_SIZING_BOUNDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/sizing/hardware.h"
#include "cairn/sizing/parallel.h"
#include "cairn/sizing/section.h"
#include "cairn/sizing/weight_bytes.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct BoundsQuestion {
  ModelSpec model;
  Parallelism parallel;
  StateCodecs codecs = {};
  std::optional<ModelWeights> weights;  // of the same model and parallelism; nothing: not known
  TokenCount context;                   // of each request while decoding
  int64_t batch = 1;                    // requests of one copy of the model
  std::optional<TokenCount> prompt;     // tokens to read; nothing: the context
  TokenCount cached;                    // of the prompt, already in the state
  const Gpu* gpu = nullptr;             // its bandwidth and compute, unless given below
  double bytes_per_second = 0;          // of a card's memory
  double flops_per_second = 0;          // of a card
  double compute_share = 1;             // of the peak that products reach
  const Link* link = nullptr;           // to move state over; nullptr: every link of the table

  double Bandwidth() const;  // 0: not known
  double Compute() const;    // 0: not known
};

// time = amount / rate; nothing for a rate of 0.
std::optional<double> Milliseconds(double amount, double per_second);

struct DecodeBound {
  Bytes weights_read;  // of all stages, one card each
  Bytes state_read;    // of the batch
  Bytes state_written;
  Bytes step;  // all of these
  std::optional<double> weights_ms;
  std::optional<double> state_ms;
  std::optional<double> step_ms;     // the memory's bound
  std::optional<double> compute_ms;  // the products' bound
  std::optional<double> bound_ms;    // the larger
};
// Errors: a question out of range, bytes that can't be counted.
Result<DecodeBound> BoundDecode(const BoundsQuestion& question);

// What one more decode step, and reading a prompt, take at least.
Result<Section> BoundsSection(const BoundsQuestion& question);

// Time to move the state of one request and of the batch over each link, to store it and load it
// back, to hand it from a prefill to a decode worker; and the prefix from which loading it beats
// computing it again.
Result<Section> TransfersSection(const BoundsQuestion& question);

// Tokens from which on loading a prefix's state over the link is faster than computing it again, up
// to kMaxStateTokens; nothing where loading never wins, or compute isn't known.
Result<std::optional<TokenCount>> LoadBeatsRecompute(const BoundsQuestion& question,
                                                     const Link& link);

}  // namespace cairn

#endif  // CAIRN_SIZING_BOUNDS_H_
