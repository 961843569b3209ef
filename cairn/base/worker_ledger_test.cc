#include "cairn/base/worker_ledger.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace cairn {
namespace {

constexpr int64_t kMs = 1'000'000;

// Time until the ledger unparks, looked at every millisecond.
int64_t PauseMs(WorkerLedger& ledger, int64_t now_ns) {
  for (int64_t ms = 0; ms < 10'000; ++ms) {
    ledger.MaybeUnpark(now_ns + ms * kMs);
    if (!ledger.parked()) return ms;
  }
  return -1;
}

}  // namespace

TEST_CASE("a worker that saves more than it costs is never parked") {
  WorkerLedger ledger;
  for (int64_t i = 0; i < 1'000; ++i) ledger.Record(100'000, 90'000, i * kMs);
  CHECK_FALSE(ledger.parked());
}

TEST_CASE("one long wait for a worker without a core parks it, however much it saved before") {
  WorkerLedger ledger;
  for (int64_t i = 0; i < 1'000; ++i) ledger.Record(kMs, 0, i * kMs);
  CHECK_FALSE(ledger.parked());
  ledger.Record(50'000, 3 * kMs, 1'000 * kMs);
  CHECK(ledger.parked());
}

TEST_CASE("a wait that is shorter than what the same loop saved does not park") {
  WorkerLedger ledger;
  ledger.Record(10 * kMs, 3 * kMs, 0);
  CHECK_FALSE(ledger.parked());
}

TEST_CASE("pauses double up to 320 ms while the worker keeps falling") {
  WorkerLedger ledger;
  int64_t now_ns = 0;
  for (const int64_t expected_ms : {20, 40, 80, 160, 320, 320}) {
    ledger.Record(0, 3 * kMs, now_ns);
    REQUIRE(ledger.parked());
    const int64_t pause_ms = PauseMs(ledger, now_ns);
    CHECK_EQ(pause_ms, expected_ms);
    now_ns += (pause_ms + 5) * kMs;
  }
}

TEST_CASE("good behaviour as long as the last pause makes the next pause short again") {
  WorkerLedger ledger;
  int64_t now_ns = 0;
  for (int i = 0; i < 4; ++i) {
    ledger.Record(0, 3 * kMs, now_ns);
    now_ns += PauseMs(ledger, now_ns) * kMs;
  }
  now_ns += 160 * kMs;
  ledger.Record(0, 3 * kMs, now_ns);
  CHECK_EQ(PauseMs(ledger, now_ns), 20);
}

}  // namespace cairn
