// ReturnModel: learns from paths that came back, and from those that didn't, how soon others will.
//
// Each time a path has been kept a watch begins: it ends when the path is asked for again, however
// much of its state is still there, so what is learned doesn't depend on what was evicted. Paths
// of a kind (how the last answer ended and how long it was, how long the pauses were so far) share
// a life table over log-spaced bins of idle time: of those that were idle so long, how many came
// back in this bin. What a kind hasn't seen often enough is filled from wider kinds.
//
// Worth is the Gittins index: the best ratio, over all t, of the chance that the path returns
// within t to the time its bytes are expected to be occupied until then. A policy that drops the
// lowest ratio per byte spends its bytes where they save most.
//
// Memory: some 350 KB, fixed. A watch costs O(1), worth O(1), but for a refresh now and then: a
// pass over all watches and kinds, then O(kBins^2) for each kind that is asked for.
#ifndef CAIRN_STATE_RETURN_MODEL_H_
#define CAIRN_STATE_RETURN_MODEL_H_

#include <array>
#include <cstdint>
#include <vector>

#include "cairn/state/eviction.h"

namespace cairn {

class ReturnModel {
 public:
  static constexpr int kAnswerSizes = 8;
  static constexpr int kPauseLengths = 8;
  static constexpr int kKinds = kTurnEnds * kAnswerSizes * kPauseLengths;
  // From a second, half an octave each, to a day; the first is all below, the last all above.
  static constexpr int kBins = 34;
  // Older ones end as if lost from sight. At one request a second that is an hour.
  static constexpr int64_t kWatches = 4096;

  ReturnModel();

  static int KindOf(const PathUse& path);
  // A watch that is kept for Returned.
  int64_t Watch(int kind, int64_t now_us);
  // Ignored if the watch was given up.
  void Returned(int64_t watch, int64_t now_us);
  // The path is watched no more, for a reason that says nothing about when it returns.
  void Drop(int64_t watch);

  // In returns per second and path. `now_us` must not fall.
  double Worth(int kind, int64_t idle_us, int64_t now_us);

 private:
  struct Watched {
    int64_t number = -1;  // -1: none
    int64_t start_us = 0;
    int kind = 0;
  };
  // Of the watches that ended in a bin: how many because the path returned, how many otherwise.
  struct Ends {
    std::array<float, kBins> returned{};
    std::array<float, kBins> lost{};
  };
  using Chances = std::array<double, kBins>;

  Watched* Find(int64_t watch);
  void Forget();
  void Refresh(int64_t now_us);
  static Chances AtRisk(const Ends& ends);
  static Chances EstimateAll(const Ends& ends);
  static Chances Estimate(const Ends& ends, const Chances& wider);
  const Chances& WorthOf(int kind);

  std::vector<Watched> watches_;
  int64_t started_ = 0;
  int64_t refreshed_ = 0;  // when so many had started
  int64_t forgot_ = 0;
  std::vector<Ends> ended_;        // by kind; watches that go on aside
  std::vector<Ends> seen_;         // the same with them, as of the last refresh
  std::vector<Chances> by_pause_;  // by end and pause
  std::vector<Chances> worth_;     // by kind, computed when wanted
  std::vector<char> has_worth_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_RETURN_MODEL_H_
