// ComputeCost: what computing tokens takes, learned from what it took.
//
// Attention makes a token dearer the more there are before it, so the time of a token is kept by
// the power of two that its position is in. Thread-compatible.
#ifndef CAIRN_STATE_COMPUTE_COST_H_
#define CAIRN_STATE_COMPUTE_COST_H_

#include <array>
#include <cstdint>

#include "cairn/base/ids.h"

namespace cairn {

class ComputeCost {
 public:
  // The tokens [from, from + count) of a sequence took so long. REQUIRES count > 0.
  void Note(TokenCount from, TokenCount count, int64_t took_us);
  // Expected time of the tokens [from, to); 0 while nothing is known.
  double ExpectedUs(TokenCount from, TokenCount to) const;
  bool known() const { return known_; }

 private:
  static constexpr size_t kPowers = 32;
  std::array<double, kPowers> us_per_token_{};  // 0: not seen
  bool known_ = false;
};

}  // namespace cairn

#endif  // CAIRN_STATE_COMPUTE_COST_H_
