#include "cairn/state/compute_cost.h"

#include <algorithm>
#include <bit>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr double kSmoothing = 0.2;
constexpr double kLeastUs = 1e-3;  // of a token: a clock may not have moved, and 0 is "not seen"

size_t PowerOf(int64_t position) {
  return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(position)));
}

}  // namespace

void ComputeCost::Note(TokenCount from, TokenCount count, int64_t took_us) {
  CAIRN_CHECK(from >= TokenCount(0) && count > TokenCount(0));
  const double us =
      std::max(static_cast<double>(took_us) / static_cast<double>(count.value()), kLeastUs);
  double& known = us_per_token_[PowerOf(from.value() + count.value() / 2)];
  known = known == 0 ? us : known + kSmoothing * (us - known);
  known_ = true;
}

// Where nothing was seen a token costs what it costs nearest by, from below first: too little
// rather than too much, so that what is computed at such a position is seen soon.
double ComputeCost::ExpectedUs(TokenCount from, TokenCount to) const {
  if (!known_) return 0;
  double sum = 0;
  double last = *std::ranges::find_if(us_per_token_, [](double us) { return us > 0; });
  int64_t begin = 0;
  for (size_t power = 0; power < kPowers; ++power) {
    const int64_t end = int64_t{1} << power;  // positions of bit width `power`
    if (us_per_token_[power] > 0) last = us_per_token_[power];
    const int64_t tokens = std::min(end, to.value()) - std::max(begin, from.value());
    if (tokens > 0) sum += last * static_cast<double>(tokens);
    begin = end;
  }
  return sum;
}

}  // namespace cairn
