#include "tools/bench_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cairn/base/env.h"
#include "tools/terminal.h"

namespace cairn {

std::string BenchTest::Name() const {
  std::string name = prompt > 0 ? fmt::format("pp{}", prompt) : "";
  if (answer > 0) name += fmt::format("{}tg{}", name.empty() ? "" : "+", answer);
  if (sequences > 1) name += fmt::format(" x{}", sequences);
  if (depth > 0) name += fmt::format(" @ d{}", depth);
  return name;
}

int64_t BenchSequences(std::span<const BenchTest> tests) {
  std::set<int64_t> depths = {0};
  int64_t most = 1;
  for (const BenchTest& test : tests) {
    depths.insert(test.depth);
    most = std::max(most, test.sequences);
  }
  return most * (static_cast<int64_t>(depths.size()) + 1);
}

int64_t LongestOf(std::span<const BenchTest> tests) {
  int64_t longest = 0;
  for (const BenchTest& test : tests) longest = std::max(longest, test.depth + test.tokens());
  return longest;
}

BenchRunner::BenchRunner(Model& model, StateStore& store, int64_t chunk)
    : model_(model), store_(store), chunk_(chunk) {}

BenchRunner::~BenchRunner() {
  for (const auto& [depth, ids] : kept_) Release(ids);
}

Result<int64_t> BenchRunner::Measure(const BenchTest& test) {
  CAIRN_TRY(Keep(test.depth, test.sequences));
  const Sequences& kept = kept_[test.depth];
  Sequences ids;
  Status status;
  for (int64_t i = 0; status && i < test.sequences; ++i) {
    const Result<SequenceId> fork = store_.Fork(kept[static_cast<size_t>(i)]);
    if (fork) {
      ids.push_back(*fork);
    } else {
      status = std::unexpected(fork.error());
    }
  }
  const int64_t start_us = NowMicroseconds();
  if (status) status = FeedTest(ids, test);
  const int64_t elapsed_us = NowMicroseconds() - start_us;
  Release(ids);
  CAIRN_TRY(status);
  return elapsed_us * 1000;
}

// Makes kept_[depth] hold at least `sequences` sequences.
Status BenchRunner::Keep(int64_t depth, int64_t sequences) {
  Sequences& kept = kept_[depth];
  const auto have = static_cast<int64_t>(kept.size());
  const Status status = Extend(kept, depth, sequences);
  if (!status) {
    const auto first_new = kept.begin() + have;
    Release({first_new, kept.end()});
    kept.erase(first_new, kept.end());
  }
  return status;
}

// A new sequence goes on where the same one of the next smaller depth ends.
Status BenchRunner::Extend(Sequences& kept, int64_t depth, int64_t sequences) {
  const auto here = kept_.find(depth);
  const Sequences* smaller = here == kept_.begin() ? nullptr : &std::prev(here)->second;
  for (auto i = static_cast<int64_t>(kept.size()); i < sequences; ++i) {
    const bool begun = smaller != nullptr && i < static_cast<int64_t>(smaller->size());
    CAIRN_ASSIGN(const SequenceId id,
                 begun ? store_.Fork((*smaller)[static_cast<size_t>(i)]) : store_.Create());
    kept.push_back(id);
    CAIRN_TRY(Feed({id}, depth - store_.Length(id).value(), chunk_));
  }
  return {};
}

Status BenchRunner::FeedTest(const Sequences& ids, const BenchTest& test) {
  CAIRN_TRY(Feed(ids, test.prompt, std::max(int64_t{1}, chunk_ / test.sequences)));
  return Feed(ids, test.answer, 1);
}

// Feeds `count` pseudo-random tokens to each sequence; logits after the last of a prompt, and after
// every token of an answer.
Status BenchRunner::Feed(const Sequences& ids, int64_t count, int64_t chunk) {
  for (int64_t done = 0; done < count;) {
    const int64_t part = std::min(chunk, count - done);
    done += part;
    CAIRN_TRY(Step(ids, part, chunk == 1 || done == count));
    if (Interrupted()) return Fail(ErrorCode::kCancelled, "interrupted");
  }
  return {};
}

// One Forward with the next `count` tokens of each sequence.
Status BenchRunner::Step(const Sequences& ids, int64_t count, bool wanted) {
  tokens_.clear();
  spans_.clear();
  const auto total = count * static_cast<int64_t>(ids.size());
  for (int64_t i = 0; i < total; ++i) tokens_.push_back(NextToken());
  for (const SequenceId id : ids) {
    CAIRN_TRY(store_.Prepare(id, TokenCount(count)));
    const auto first = spans_.size() * static_cast<size_t>(count);
    spans_.push_back({.state = store_.View(id),
                      .tokens = {tokens_.data() + first, static_cast<size_t>(count)},
                      .logits = wanted ? 1 : 0});
  }
  model_.Forward(spans_);
  for (const SequenceId id : ids) store_.Commit(id, TokenCount(count));
  if (wanted) {
    const auto vocabulary = static_cast<size_t>(model_.spec().vocabulary);
    logits_.resize(std::max(logits_.size(), ids.size() * vocabulary));
    model_.Logits(0, static_cast<int64_t>(ids.size()), logits_.data());
  }
  return {};
}

void BenchRunner::Release(const Sequences& ids) {
  for (const SequenceId id : ids) store_.Release(id);
}

TokenId BenchRunner::NextToken() {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return TokenId(
      static_cast<int32_t>((random_ >> 33) % static_cast<uint64_t>(model_.spec().vocabulary)));
}

}  // namespace cairn
