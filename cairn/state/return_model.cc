#include "cairn/state/return_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cairn/base/check.h"

namespace cairn {
namespace {

constexpr int kPauses = ReturnModel::kPauseLengths;
constexpr int kBins = ReturnModel::kBins;

// A refresh follows when a sixteenth more watches have started than at the last one: at first what
// is learned is used at once, later the passes (about 20 us) don't count.
constexpr int64_t kRefreshShare = 16;
constexpr int64_t kFewestPerRefresh = 16;
constexpr int64_t kMostPerRefresh = 256;
// What was seen weighs half after so many watches more: habits change.
constexpr int64_t kWatchesPerHalving = 32'768;
// With nothing seen yet: a fifth of those idle for x seconds come back before 1.4 x. Any value
// that is the same for all bins makes it LRU.
constexpr double kUnseenChance = 0.2;
constexpr double kUnseenWeight = 10;  // in watches
// A kind differs from the wider one in the ratio of the returns it saw to those expected; so many
// returns as expected are added to both. And so many bins to either side are looked at together.
constexpr double kWiderReturns = 2;
constexpr int kBinsBeside = 1;
// However often it was so far, returning is never certain.
constexpr double kHighestChance = 0.98;

constexpr int kSmallestAnswerLog2 = 5;  // the first row is below 2^5 - 1 tokens
constexpr int kShortestPauseLog2 = 4;   // and that of pauses below 2^4 s

// Where bins begin, in seconds.
double EdgeOf(int bin) {
  static const std::array<double, kBins + 1> edges = [] {
    std::array<double, kBins + 1> made{};
    for (int i = 1; i <= kBins; ++i) made[static_cast<size_t>(i)] = std::exp2((i - 1) / 2.0);
    return made;
  }();
  return edges[static_cast<size_t>(bin)];
}

int BinOf(int64_t idle_us) {
  const double idle_s = static_cast<double>(idle_us) * 1e-6;
  if (idle_s < 1) return 0;
  return std::min(kBins - 1, 1 + static_cast<int>(2 * std::log2(idle_s)));
}

int PauseRow(int end, int pause) { return end * kPauses + pause; }

}  // namespace

ReturnModel::ReturnModel()
    : watches_(kWatches),
      ended_(kKinds),
      seen_(kKinds),
      by_pause_(static_cast<size_t>(kTurnEnds * kPauseLengths)),
      worth_(kKinds),
      has_worth_(kKinds, 0) {
  Refresh(0);
}

int ReturnModel::KindOf(const PathUse& path) {
  const auto tokens = static_cast<uint64_t>(std::max<int64_t>(path.turn.answer.value(), 0));
  const int answer = std::clamp(static_cast<int>(std::bit_width(tokens + 1)) - kSmallestAnswerLog2,
                                0, kAnswerSizes - 1);
  int pause = 0;
  if (path.has_paused) {
    const double log2_s = std::floor(path.log2_pause_s);
    pause = 1 + static_cast<int>(std::clamp(log2_s + 1 - kShortestPauseLog2, 0.0, kPauses - 2.0));
  }
  return PauseRow(static_cast<int>(path.turn.end), pause) * kAnswerSizes + answer;
}

// ---- Watching ----

ReturnModel::Watched* ReturnModel::Find(int64_t watch) {
  if (watch < 0) return nullptr;
  Watched& found = watches_[static_cast<size_t>(watch % kWatches)];
  return found.number == watch ? &found : nullptr;
}

int64_t ReturnModel::Watch(int kind, int64_t now_us) {
  CAIRN_CHECK(0 <= kind && kind < kKinds);
  const int64_t number = started_++;
  Watched& watched = watches_[static_cast<size_t>(number % kWatches)];
  if (watched.number >= 0) {
    ++ended_[static_cast<size_t>(watched.kind)]
          .lost[static_cast<size_t>(BinOf(now_us - watched.start_us))];
  }
  watched = {.number = number, .start_us = now_us, .kind = kind};
  if (started_ - forgot_ >= kWatchesPerHalving) Forget();
  return number;
}

void ReturnModel::Returned(int64_t watch, int64_t now_us) {
  Watched* const watched = Find(watch);
  if (watched == nullptr) return;
  ++ended_[static_cast<size_t>(watched->kind)]
        .returned[static_cast<size_t>(BinOf(now_us - watched->start_us))];
  watched->number = -1;
}

void ReturnModel::Drop(int64_t watch) {
  Watched* const watched = Find(watch);
  if (watched != nullptr) watched->number = -1;
}

void ReturnModel::Forget() {
  forgot_ = started_;
  for (Ends& ends : ended_) {
    for (float& count : ends.returned) count /= 2;
    for (float& count : ends.lost) count /= 2;
  }
}

// ---- Estimating ----

void ReturnModel::Refresh(int64_t now_us) {
  refreshed_ = started_;
  seen_ = ended_;
  for (const Watched& watched : watches_) {
    if (watched.number < 0) continue;
    ++seen_[static_cast<size_t>(watched.kind)]
          .lost[static_cast<size_t>(BinOf(now_us - watched.start_us))];
  }
  Ends all;
  std::array<Ends, kTurnEnds> ends;
  std::vector<Ends> pauses(by_pause_.size());
  for (size_t kind = 0; kind < seen_.size(); ++kind) {
    for (Ends* sum :
         {&all, &ends[kind / (kAnswerSizes * kPauseLengths)], &pauses[kind / kAnswerSizes]}) {
      for (size_t bin = 0; bin < kBins; ++bin) {
        sum->returned[bin] += seen_[kind].returned[bin];
        sum->lost[bin] += seen_[kind].lost[bin];
      }
    }
  }
  const Chances first = EstimateAll(all);
  for (size_t end = 0; end < ends.size(); ++end) {
    const Chances of_end = Estimate(ends[end], first);
    for (size_t pause = 0; pause < kPauseLengths; ++pause) {
      const size_t row = end * kPauseLengths + pause;
      by_pause_[row] = Estimate(pauses[row], of_end);
    }
  }
  std::ranges::fill(has_worth_, 0);
}

// As life tables do: who is lost from sight within a bin counts half.
ReturnModel::Chances ReturnModel::AtRisk(const Ends& ends) {
  Chances at_risk;
  double longer = 0;
  for (size_t bin = kBins; bin-- > 0;) {
    at_risk[bin] = longer + ends.returned[bin] + ends.lost[bin] / 2;
    longer += ends.returned[bin] + ends.lost[bin];
  }
  return at_risk;
}

// Where nothing was idle so long yet, chances are as in the bin before.
ReturnModel::Chances ReturnModel::EstimateAll(const Ends& ends) {
  const Chances at_risk = AtRisk(ends);
  Chances chances;
  double before = kUnseenChance;
  for (size_t bin = 0; bin < kBins; ++bin) {
    before = (ends.returned[bin] + kUnseenWeight * before) / (at_risk[bin] + kUnseenWeight);
    chances[bin] = before;
  }
  return chances;
}

ReturnModel::Chances ReturnModel::Estimate(const Ends& ends, const Chances& wider) {
  const Chances at_risk = AtRisk(ends);
  Chances chances;
  for (int bin = 0; bin < kBins; ++bin) {
    double returned = kWiderReturns;
    double expected = kWiderReturns;
    const int last = std::min(bin + kBinsBeside, kBins - 1);
    for (int near = std::max(bin - kBinsBeside, 0); near <= last; ++near) {
      const auto i = static_cast<size_t>(near);
      returned += ends.returned[i];
      expected += at_risk[i] * wider[i];
    }
    const auto i = static_cast<size_t>(bin);
    chances[i] = std::min(wider[i] * returned / expected, kHighestChance);
  }
  return chances;
}

// From the beginning of each bin: over all later ends, the best of returns per second held.
const ReturnModel::Chances& ReturnModel::WorthOf(int kind) {
  const auto k = static_cast<size_t>(kind);
  if (has_worth_[k] != 0) return worth_[k];
  const Chances chances = Estimate(seen_[k], by_pause_[k / kAnswerSizes]);
  for (int from = 0; from < kBins; ++from) {
    double idle = 1;  // the share that hasn't returned
    double held_s = 0;
    double best = 0;
    for (int bin = from; bin < kBins; ++bin) {
      const double left = idle * (1 - chances[static_cast<size_t>(bin)]);
      held_s += (EdgeOf(bin + 1) - EdgeOf(bin)) * (idle + left) / 2;
      idle = left;
      best = std::max(best, (1 - idle) / held_s);
    }
    worth_[k][static_cast<size_t>(from)] = best;
  }
  has_worth_[k] = 1;
  return worth_[k];
}

double ReturnModel::Worth(int kind, int64_t idle_us, int64_t now_us) {
  CAIRN_CHECK(0 <= kind && kind < kKinds);
  const int64_t due = std::clamp(refreshed_ / kRefreshShare, kFewestPerRefresh, kMostPerRefresh);
  if (started_ - refreshed_ >= due) Refresh(now_us);
  return WorthOf(kind)[static_cast<size_t>(BinOf(idle_us))];
}

}  // namespace cairn
