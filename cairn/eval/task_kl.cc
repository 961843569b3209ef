// kl: how far a setting's distributions are from the reference's.
//
// Reference and settings go through a window side by side, some tokens at a time, so that no more
// than these tokens' logits are ever in memory: those of a long text with a vocabulary of 262,144
// would take gigabytes. The reference is computed once for all settings.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "cairn/base/check.h"
#include "cairn/eval/divergence.h"
#include "cairn/eval/scored_append.h"
#include "cairn/eval/statistics.h"
#include "cairn/eval/task.h"
#include "cairn/eval/text_windows.h"

namespace cairn {
namespace {

// Logits of the reference in memory at once, in bytes; twice that with their probabilities.
constexpr int64_t kReferenceBytes = int64_t{64} << 20;
constexpr int64_t kMostRows = 512;
// The reference's check of itself computes in chunks that fit no block, tile or batch.
constexpr TokenCount kOddChunk(37);
// The form whose divergence is the floor.
constexpr std::string_view kFloorSetting = "f16";

int64_t RowsAtOnce(int64_t vocabulary) {
  const int64_t rows = kReferenceBytes / (vocabulary * static_cast<int64_t>(sizeof(float)));
  return std::clamp(rows, int64_t{16}, kMostRows);
}

struct Contestant {
  const EvalSetting* setting = nullptr;
  std::vector<double> divergences = {};
  std::vector<double> nats = {};  // of the tokens that came
  int64_t same_likeliest = 0;
  Bytes bytes = {};  // of the state at a window's end
};

// One window, reference and contestants side by side.
class WindowPass {
 public:
  WindowPass(const TaskInput& input, const EvalSetting& reference,
             std::vector<Contestant>& contestants, std::vector<double>& reference_nats)
      : input_(input),
        reference_(reference),
        contestants_(contestants),
        reference_nats_(reference_nats),
        vocabulary_(static_cast<size_t>(reference.model->spec().vocabulary)),
        rows_(reference.model->spec().vocabulary) {}

  Status Run(std::span<const TokenId> window) {
    CAIRN_ASSIGN(base_, EvalSequence::Begin(reference_, input_.context));
    others_.clear();
    for (const Contestant& contestant : contestants_) {
      CAIRN_ASSIGN(others_.emplace_back(),
                   EvalSequence::Begin(*contestant.setting, input_.context));
    }
    const size_t half = window.size() / 2;
    CAIRN_TRY(base_->runner().Append(window.first(half)));
    for (const auto& other : others_) {
      CAIRN_TRY(other->runner().Append(window.first(half)));
      CAIRN_TRY(other->EndContext());
    }
    const auto step = static_cast<size_t>(RowsAtOnce(reference_.model->spec().vocabulary));
    for (size_t first = half; first < window.size(); first += step) {
      const size_t count = std::min(step, window.size() - first);
      // What the rows predict; nothing is known of what follows the window.
      const auto next = window.subspan(first + 1, std::min(count, window.size() - first - 1));
      CAIRN_TRY(Step(window.subspan(first, count), next));
    }
    CAIRN_TRY(base_->CheckBytes());
    for (size_t i = 0; i < others_.size(); ++i) {
      CAIRN_TRY(others_[i]->CheckBytes());
      contestants_[i].bytes = others_[i]->HeldBytes();
    }
    return {};
  }

 private:
  Status Step(std::span<const TokenId> tokens, std::span<const TokenId> next) {
    const auto scored = static_cast<int64_t>(next.size());
    rows_.Resize(static_cast<int64_t>(tokens.size()));
    const size_t before = reference_nats_.size();
    reference_nats_.resize(before + next.size());
    CAIRN_TRY(EachRow(*base_, tokens, scored, [&](int64_t row, std::span<const float> logits) {
      const auto at = static_cast<size_t>(row);
      reference_nats_[before + at] = rows_.Set(row, logits, next[at]);
    }));
    std::vector<TokenDivergence> found(next.size());
    for (size_t i = 0; i < contestants_.size(); ++i) {
      Contestant& contestant = contestants_[i];
      input_.progress(contestant.setting->name);
      CAIRN_TRY(
          EachRow(*others_[i], tokens, scored, [&](int64_t row, std::span<const float> logits) {
            found[static_cast<size_t>(row)] = rows_.Compare(row, logits);
          }));
      for (const TokenDivergence& one : found) {
        if (!std::isfinite(one.kl + one.nats)) return NotNumbers(others_[i]->runner(), 0);
        contestant.divergences.push_back(one.kl);
        contestant.nats.push_back(one.nats);
        contestant.same_likeliest += one.same_likeliest ? 1 : 0;
      }
    }
    return {};
  }

  // visit(row, its logits), from several threads, for the first `scored` tokens.
  template <class Visit>
  Status EachRow(EvalSequence& sequence, std::span<const TokenId> tokens, int64_t scored,
                 Visit visit) {
    return sequence.runner().AppendForLogits(
        tokens, [&](int64_t first, std::span<const float> rows) {
          auto body = [&](int64_t i, int) {
            if (first + i >= scored) return;
            visit(first + i, rows.subspan(static_cast<size_t>(i) * vocabulary_, vocabulary_));
          };
          input_.pool->ParallelFor(static_cast<int64_t>(rows.size() / vocabulary_), body);
        });
  }

  const TaskInput& input_;
  const EvalSetting& reference_;
  std::vector<Contestant>& contestants_;
  std::vector<double>& reference_nats_;
  const size_t vocabulary_;
  ReferenceRows rows_;
  std::unique_ptr<EvalSequence> base_;
  std::vector<std::unique_ptr<EvalSequence>> others_;
};

TaskResult ResultOf(const Contestant& contestant, std::span<const double> reference_nats,
                    std::optional<double> floor) {
  const std::vector<double>& kl = contestant.divergences;
  const auto count = static_cast<double>(kl.size());
  const double ratio = std::exp(MeanOf(contestant.nats) - MeanOf(reference_nats));
  const double mean = MeanOf(kl);
  std::optional<Bytes> bytes;
  if (contestant.setting->policy != nullptr) bytes = contestant.bytes;
  return {contestant.setting->name,
          {mean, StandardErrorOf(kl), floor ? Cell(mean - *floor) : Cell(), MedianOf(kl),
           PercentileOf(kl, 99), PercentileOf(kl, 100),
           100.0 * static_cast<double>(contestant.same_likeliest) / count, ratio,
           static_cast<int64_t>(kl.size())},
          mean,
          bytes};
}

Result<std::vector<TaskResult>> Run(const TaskInput& input, const EvalSetting& reference,
                                    std::span<const EvalSetting> settings) {
  CAIRN_ASSIGN(const auto windows, WindowsOf(*input.tokenizer, input.text, input.text_name,
                                             input.context, input.windows));
  EvalSetting itself = reference;
  itself.name += " again";
  itself.chunk = kOddChunk;
  std::vector<Contestant> contestants = {{.setting = &itself}};
  for (const EvalSetting& setting : settings) {
    CAIRN_CHECK(setting.model->spec().vocabulary == reference.model->spec().vocabulary);
    contestants.push_back({.setting = &setting});
  }
  std::vector<double> reference_nats;
  WindowPass pass(input, reference, contestants, reference_nats);
  for (const std::vector<TokenId>& window : windows) CAIRN_TRY(pass.Run(window));
  const auto f16 = std::ranges::find(contestants, kFloorSetting,
                                     [](const Contestant& c) { return c.setting->name; });
  std::optional<double> floor;
  if (f16 != contestants.end()) floor = MeanOf(f16->divergences);
  std::vector<TaskResult> results;
  for (const Contestant& contestant : contestants) {
    results.push_back(ResultOf(contestant, reference_nats, floor));
  }
  return results;
}

}  // namespace

EvalTask DivergenceTask() {
  return {
      .name = "kl",
      .title = "Divergence from the f32 state",
      .loss_label = "mean KL in nats",
      .columns = {{"kl_mean", "KL mean"},
                  {"kl_error", "+-"},
                  {"kl_over_f16", "over f16"},
                  {"kl_median", "median"},
                  {"kl_p99", "99 %"},
                  {"kl_max", "largest"},
                  {"same_top1_percent", "same top-1", Unit::kPercent},
                  {"perplexity_ratio", "perplexity to f32"},
                  {"tokens", "tokens scored"}},
      .note =
          "KL(f32 state || form) in nats over the whole vocabulary, of the same tokens as "
          "perplexity counts, with this engine's own f32 state as the reference. Two floors: "
          "f32 again, in chunks of 37 tokens, must be exactly 0; and f16, whose own rounding costs "
          "next to nothing, shows how far this engine's rounding of activations to 8 bits "
          "(for quantized weights) carries the smallest change. Small divergences add up, so "
          "what is over f16 is the form's own.",
      .least_context = TokenCount(8),
      .run = Run};
}

}  // namespace cairn
