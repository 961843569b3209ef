#include "cairn/base/worker_ledger.h"

#include <algorithm>

#include "cairn/base/check.h"

namespace cairn {

void WorkerLedger::Record(int64_t saved_ns, int64_t lost_ns, int64_t now_ns) {
  credit_ns_ = std::min(credit_ns_ + saved_ns, kCreditMaxNs + lost_ns) - lost_ns;
  if (parked_ || credit_ns_ >= 0) return;
  // Good behaviour for as long as the last pause makes it forgotten.
  const bool fell_again = pause_ns_ > 0 && now_ns - changed_ns_ < pause_ns_;
  pause_ns_ = fell_again ? std::min(2 * pause_ns_, kPauseMaxNs) : kPauseMinNs;
  parked_ = true;
  changed_ns_ = now_ns;
}

void WorkerLedger::MaybeUnpark(int64_t now_ns) {
  CAIRN_CHECK(parked_);
  if (now_ns - changed_ns_ < pause_ns_) return;
  parked_ = false;
  credit_ns_ = 0;
  changed_ns_ = now_ns;
}

}  // namespace cairn
