#include "cairn/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <span>
#include <system_error>
#include <thread>

#include "cairn/base/check.h"
#include "cairn/base/worker_ledger.h"

namespace cairn {
namespace {

// A worker that finds no loop spins this long before it sleeps: longer than the gaps between the
// loops of one token, short enough not to be a nuisance.
constexpr int64_t kIdleSpinNs = 100'000;
// The caller's wait for the last indices: when it first looks whether the workers have a core, how
// often it looks again, and when it sleeps even if they have.
constexpr int64_t kFirstLookNs = 20'000;
constexpr int64_t kNextLookNs = 40'000;
constexpr int64_t kWaitSpinMaxNs = 1'000'000;
constexpr int kSpinsPerClockRead = 16;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The only loop there is at a time.
//
// Invariants: 1. A claim is a fetch_sub of `remaining` that returns r > 0; its index is count - r.
// 2. A loop ends only when every claim is completed, so whoever holds a claim may read `body` and
// `count`, and nobody else may. 3. A worker that comes late gets r <= 0 and nobody waits for it.
struct alignas(64) Loop {
  std::atomic<int64_t> remaining{0};
  int64_t count = 0;
  const LoopBody* body = nullptr;
};

enum WorkerState : uint32_t { kAwake, kAsleep };
enum CallerState : uint32_t { kRunning, kWaiting };

struct Worker {
  // Written by the worker in each loop.
  alignas(64) std::atomic<int64_t> completed{0};  // indices, ever
  std::atomic<bool> working{false};               // may hold a claim; a hint

  // Written when somebody sleeps or is parked.
  alignas(64) std::atomic<uint32_t> state{kAwake};
  std::atomic<bool> active{true};

  // The caller's notes.
  alignas(64) int64_t completed_before = 0;  // at the start of the loop
  int64_t looked_ns = 0;                     // 0: not yet looked at in this loop
  int64_t cpu_ns = 0;                        // its own time at that look
  int64_t lost_ns = 0;                       // without a core, in this loop
  WorkerLedger ledger;
  std::thread thread;

  // Zero where the system doesn't tell, which reads as "has no core".
  int64_t CpuNs() {
    clockid_t clock;
    timespec time{};
    if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;
    if (clock_gettime(clock, &time) != 0) return 0;
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  }
};

}  // namespace

struct ThreadPool::Shared {
  explicit Shared(int threads);
  ~Shared();

  Loop loop;
  alignas(64) std::atomic<uint32_t> caller_state{kRunning};
  std::atomic<bool> stop{false};
  std::atomic<bool> in_loop{false};
  std::unique_ptr<Worker[]> storage;
  std::span<Worker> workers;

  // Both run indices until none is left to claim.
  void RunLoop(int64_t count, LoopBody body);
  int64_t RunIndices(int thread);  // returns how many

  // The workers' side.
  void WorkerMain(Worker& worker, int thread);
  bool WaitForWork(Worker& worker);  // false when the pool ends
  bool HasWork(const Worker& worker) const {
    return worker.active.load(std::memory_order_relaxed) && loop.remaining.load() > 0;
  }

  // The caller's side.
  int ActiveWorkers(int64_t now_ns);  // unparks those whose pause has ended
  void WakeSleepers();
  bool WorkersDone(int64_t expected) const;
  void WaitForWorkers(int64_t expected, int64_t start_ns);
  // True if a worker that is waited for had no core since the last look.
  bool LookAtWorkers(int64_t now_ns);
  // `index_ns`: what one index takes.
  void CloseAccounts(double index_ns);
};

int64_t ThreadPool::Shared::RunIndices(int thread) {
  int64_t remaining = loop.remaining.fetch_sub(1);
  if (remaining <= 0) return 0;
  const int64_t count = loop.count;
  const LoopBody body = *loop.body;
  int64_t ran = 0;
  for (; remaining > 0; remaining = loop.remaining.fetch_sub(1)) {
    body(count - remaining, thread);
    ++ran;
  }
  return ran;
}

bool ThreadPool::Shared::WaitForWork(Worker& worker) {
  int64_t spin_end_ns = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    if (HasWork(worker)) return true;
    const int64_t now_ns = NowNs();
    if (spin_end_ns == 0) spin_end_ns = now_ns + kIdleSpinNs;
    if (now_ns < spin_end_ns && worker.active.load(std::memory_order_relaxed)) {
      for (int i = 0; i < kSpinsPerClockRead && loop.remaining.load() <= 0; ++i) SpinPause();
      continue;
    }
    // Whoever opens a loop or stops the pool looks at `state` after that, so either we see the
    // news or they see us asleep.
    worker.state.store(kAsleep);
    if (HasWork(worker) || stop.load()) {
      worker.state.store(kAwake);
    } else {
      worker.state.wait(kAsleep);
    }
    spin_end_ns = 0;
  }
  return false;
}

void ThreadPool::Shared::WorkerMain(Worker& worker, int thread) {
  while (WaitForWork(worker)) {
    worker.working.store(true, std::memory_order_relaxed);
    const int64_t ran = RunIndices(thread);
    worker.working.store(false, std::memory_order_relaxed);
    if (ran == 0) continue;
    worker.completed.store(worker.completed.load(std::memory_order_relaxed) + ran);
    if (caller_state.load() == kWaiting) {
      caller_state.store(kRunning);
      caller_state.notify_one();
    }
  }
}

int ThreadPool::Shared::ActiveWorkers(int64_t now_ns) {
  int active = 0;
  for (Worker& worker : workers) {
    if (worker.ledger.parked()) {
      worker.ledger.MaybeUnpark(now_ns);
      if (worker.ledger.parked()) continue;
      worker.active.store(true);
    }
    ++active;
  }
  return active;
}

void ThreadPool::Shared::WakeSleepers() {
  for (Worker& worker : workers) {
    if (worker.state.load() != kAsleep || worker.ledger.parked()) continue;
    worker.state.store(kAwake);
    worker.state.notify_one();
  }
}

bool ThreadPool::Shared::WorkersDone(int64_t expected) const {
  int64_t completed = 0;
  for (const Worker& worker : workers)
    completed += worker.completed.load() - worker.completed_before;
  return completed == expected;
}

bool ThreadPool::Shared::LookAtWorkers(int64_t now_ns) {
  bool stuck = false;
  for (Worker& worker : workers) {
    if (worker.looked_ns == 0 && !worker.working.load(std::memory_order_relaxed)) continue;
    const int64_t cpu_ns = worker.CpuNs();
    if (worker.looked_ns != 0) {
      const int64_t passed_ns = now_ns - worker.looked_ns;
      const int64_t without_core_ns = std::max<int64_t>(passed_ns - (cpu_ns - worker.cpu_ns), 0);
      worker.lost_ns += without_core_ns;
      stuck = stuck || without_core_ns > passed_ns / 2;
    }
    worker.looked_ns = now_ns;
    worker.cpu_ns = cpu_ns;
  }
  return stuck;
}

void ThreadPool::Shared::WaitForWorkers(int64_t expected, int64_t start_ns) {
  int64_t look_ns = start_ns + kFirstLookNs;
  while (true) {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (WorkersDone(expected)) return;
      SpinPause();
    }
    const int64_t now_ns = NowNs();
    if (now_ns < look_ns) continue;
    if (LookAtWorkers(now_ns) || now_ns > start_ns + kWaitSpinMaxNs) break;
    look_ns = now_ns + kNextLookNs;
  }
  // Asleep, the caller gives its core to a worker that has none.
  while (true) {
    caller_state.store(kWaiting);
    if (WorkersDone(expected)) break;
    caller_state.wait(kWaiting);
  }
  caller_state.store(kRunning);
}

void ThreadPool::Shared::CloseAccounts(double index_ns) {
  const int64_t now_ns = NowNs();
  LookAtWorkers(now_ns);
  for (Worker& worker : workers) {
    const int64_t completed = worker.completed.load();
    const auto ran = static_cast<double>(completed - worker.completed_before);
    worker.ledger.Record(static_cast<int64_t>(ran * index_ns), worker.lost_ns, now_ns);
    if (worker.ledger.parked()) worker.active.store(false);
    worker.completed_before = completed;
    worker.looked_ns = 0;
    worker.lost_ns = 0;
  }
}

void ThreadPool::Shared::RunLoop(int64_t count, LoopBody body) {
  const int64_t start_ns = NowNs();
  if (ActiveWorkers(start_ns) == 0) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  // The caller keeps index 0, so it always has a measure of its own.
  loop.count = count;
  loop.body = &body;
  loop.remaining.store(count - 1);
  WakeSleepers();
  body(0, 0);
  const int64_t ran = 1 + RunIndices(0);
  if (ran == count) return;
  const int64_t end_ns = NowNs();
  WaitForWorkers(count - ran, end_ns);
  CloseAccounts(static_cast<double>(end_ns - start_ns) / static_cast<double>(ran));
}

ThreadPool::Shared::Shared(int threads)
    : storage(std::make_unique<Worker[]>(static_cast<size_t>(threads) - 1)),
      workers(storage.get(), static_cast<size_t>(threads) - 1) {
  for (int thread = 1; thread < threads; ++thread) {
    Worker& worker = storage[static_cast<size_t>(thread) - 1];
    try {
      worker.thread = std::thread([this, &worker, thread] { WorkerMain(worker, thread); });
    } catch (const std::system_error&) {
      // The system allows no more threads: fewer of them give the same results.
      workers = workers.first(static_cast<size_t>(thread) - 1);
      break;
    }
  }
}

ThreadPool::Shared::~Shared() {
  stop.store(true);
  for (Worker& worker : workers) {
    worker.state.store(kAwake);
    worker.state.notify_one();
  }
  for (Worker& worker : workers) worker.thread.join();
}

ThreadPool::ThreadPool(int threads) {
  CAIRN_CHECK(threads >= 1);
  shared_ = std::make_unique<Shared>(threads);
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return static_cast<int>(shared_->workers.size()) + 1; }

int ThreadPool::ActiveThreads() { return 1 + shared_->ActiveWorkers(NowNs()); }

void ThreadPool::ParallelFor(int64_t count, LoopBody body) {
  CAIRN_CHECK(!shared_->in_loop.load(std::memory_order_relaxed));
  shared_->in_loop.store(true, std::memory_order_relaxed);
  if (count <= 1 || shared_->workers.empty()) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
  } else {
    shared_->RunLoop(count, body);
  }
  shared_->in_loop.store(false, std::memory_order_relaxed);
}

}  // namespace cairn
