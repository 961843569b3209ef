// BenchRunner: times prompts and answers of one model on one number of threads.
//
// The state at a depth is computed when it is first asked for and kept; every measurement works on
// forks of it. Sequences that are measured together share no state, as those of different users.
// Thread-compatible.
#ifndef CAIRN_TOOLS_BENCH_RUNNER_H_
#define CAIRN_TOOLS_BENCH_RUNNER_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/models/model.h"
#include "cairn/state/state_store.h"

namespace cairn {

// A prompt, an answer or one after the other, after `depth` tokens, for all sequences at once.
struct BenchTest {
  int64_t prompt = 0;
  int64_t answer = 0;
  int64_t depth = 0;
  int64_t sequences = 1;

  bool operator==(const BenchTest&) const = default;
  // Of each sequence.
  int64_t tokens() const { return prompt + answer; }
  // In llama-bench's words: "pp512 @ d4096", "tg64 x8".
  std::string Name() const;
};

// Sequences that a store must have room for, so that all tests can be measured in turns; each of
// the longest test's length.
int64_t BenchSequences(std::span<const BenchTest> tests);
int64_t LongestOf(std::span<const BenchTest> tests);

class BenchRunner {
 public:
  // `chunk`: tokens computed at once.
  BenchRunner(Model& model, StateStore& store, int64_t chunk);
  ~BenchRunner();
  BenchRunner(const BenchRunner&) = delete;
  BenchRunner& operator=(const BenchRunner&) = delete;

  // Nanoseconds that one run takes; the depth's state isn't part of it. kCancelled: an interrupt.
  Result<int64_t> Measure(const BenchTest& test);

 private:
  using Sequences = std::vector<SequenceId>;

  Status Keep(int64_t depth, int64_t sequences);
  Status Extend(Sequences& kept, int64_t depth, int64_t sequences);
  Status FeedTest(const Sequences& ids, const BenchTest& test);
  Status Feed(const Sequences& ids, int64_t count, int64_t chunk);
  Status Step(const Sequences& ids, int64_t count, bool wanted);
  void Release(const Sequences& ids);
  TokenId NextToken();

  Model& model_;
  StateStore& store_;
  const int64_t chunk_;
  std::map<int64_t, Sequences> kept_;  // by depth
  uint64_t random_ = 1;
  std::vector<TokenId> tokens_;
  std::vector<BatchSpan> spans_;
  std::vector<float> logits_;
};

}  // namespace cairn

#endif  // CAIRN_TOOLS_BENCH_RUNNER_H_
