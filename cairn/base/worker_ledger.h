// WorkerLedger: whether a worker thread is worth handing indices to, by what it saved and cost.
//
// A worker saves the time of the indices it runs. It costs time when the caller waits for it while
// it has no core. Savings are capped, so that a core taken away shows at once; when the balance is
// below zero the worker is parked. Each pause that ends in another fall is followed by one of twice
// the length. Pure bookkeeping over given times; thread-compatible.
#ifndef CAIRN_BASE_WORKER_LEDGER_H_
#define CAIRN_BASE_WORKER_LEDGER_H_

#include <cstdint>

namespace cairn {

class WorkerLedger {
 public:
  static constexpr int64_t kCreditMaxNs = 500'000;
  static constexpr int64_t kPauseMinNs = 20'000'000;
  static constexpr int64_t kPauseMaxNs = 320'000'000;

  bool parked() const { return parked_; }

  // One loop in which the worker ran indices worth `saved_ns` and was waited for without a core
  // for `lost_ns`. Parks when it has cost more than it saved.
  void Record(int64_t saved_ns, int64_t lost_ns, int64_t now_ns);

  // Ends the pause when its time has come. REQUIRES: parked().
  void MaybeUnpark(int64_t now_ns);

 private:
  bool parked_ = false;
  int64_t credit_ns_ = kCreditMaxNs;
  int64_t pause_ns_ = 0;    // length of the last pause; 0 before the first
  int64_t changed_ns_ = 0;  // when it was last parked or unparked
};

}  // namespace cairn

#endif  // CAIRN_BASE_WORKER_LEDGER_H_
