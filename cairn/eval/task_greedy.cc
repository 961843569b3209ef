// greedy: how long the likeliest continuation stays the reference's.
#include <algorithm>
#include <cmath>

#include "cairn/eval/divergence.h"
#include "cairn/eval/scored_append.h"
#include "cairn/eval/statistics.h"
#include "cairn/eval/task.h"
#include "cairn/eval/text_windows.h"

namespace cairn {
namespace {

constexpr int64_t kPoints = 8;
constexpr int64_t kContinued = 64;

int64_t ContinuedIn(int64_t context) { return std::min(kContinued, context / 4); }

// What the reference says after some of the text, and how sure it was of each token.
struct Continuation {
  int64_t after = 0;  // tokens of the text
  std::vector<TokenId> tokens;
  std::vector<double> leads;  // of the likeliest token's log probability over the second's
};

// The points are spread over the second half of the context.
int64_t PointAt(int64_t i, int64_t context) {
  const int64_t last = context - ContinuedIn(context);
  return last / 2 + (last - last / 2) * (i + 1) / kPoints;
}

Result<std::vector<Continuation>> Continuations(const TaskInput& input,
                                                const EvalSetting& reference,
                                                std::span<const TokenId> text) {
  CAIRN_ASSIGN(const auto sequence, EvalSequence::Begin(reference, input.context, 1));
  std::vector<Continuation> continuations;
  int64_t done = 0;
  for (int64_t i = 0; i < kPoints; ++i) {
    input.progress(reference.name);
    Continuation next;
    next.after = PointAt(i, input.context.value());
    CAIRN_TRY(sequence->runner().Append(
        text.subspan(static_cast<size_t>(done), static_cast<size_t>(next.after - done))));
    done = next.after;
    CAIRN_TRY(sequence->CheckBytes());
    CAIRN_ASSIGN(const auto fork, sequence->Fork());
    std::vector<float> logits(sequence->runner().logits().begin(),
                              sequence->runner().logits().end());
    for (int64_t n = 0; n < ContinuedIn(input.context.value()); ++n) {
      next.leads.push_back(LeadOf(logits));
      if (!std::isfinite(next.leads.back())) return NotNumbers(*fork, 0);
      next.tokens.push_back(LikeliestOf(logits));
      CAIRN_TRY(fork->Append(std::span(&next.tokens.back(), 1)));
      std::ranges::copy(fork->logits(), logits.begin());
    }
    continuations.push_back(std::move(next));
  }
  return continuations;
}

// Tokens for which the setting's likeliest continuation is the reference's: since a chunk gives the
// same bits as token by token, it is enough to read the reference's and to look where another token
// would have been likelier.
Result<std::vector<int64_t>> AgreementsOf(const TaskInput& input, const EvalSetting& setting,
                                          std::span<const TokenId> text,
                                          std::span<const Continuation> continuations) {
  CAIRN_ASSIGN(const auto sequence, EvalSequence::Begin(setting, input.context, 1));
  std::vector<int64_t> agreements;
  int64_t done = 0;
  for (const Continuation& continuation : continuations) {
    input.progress(setting.name);
    CAIRN_TRY(sequence->runner().Append(
        text.subspan(static_cast<size_t>(done), static_cast<size_t>(continuation.after - done))));
    done = continuation.after;
    CAIRN_TRY(sequence->CheckBytes());
    CAIRN_ASSIGN(const auto fork, sequence->Fork());
    const std::span<const float> logits = sequence->runner().logits();
    CAIRN_ASSIGN(const std::vector<TokenScore> scores,
                 AppendScored(*fork, logits, continuation.tokens, *input.pool));
    agreements.push_back(std::ranges::find(scores, false, &TokenScore::likeliest) - scores.begin());
  }
  return agreements;
}

TaskResult ResultOf(const EvalSetting& setting, std::span<const int64_t> agreements,
                    std::span<const Continuation> continuations) {
  std::vector<double> lengths;
  std::vector<double> leads;  // of the reference where they part
  int64_t whole = 0;
  for (size_t i = 0; i < agreements.size(); ++i) {
    lengths.push_back(static_cast<double>(agreements[i]));
    const auto at = static_cast<size_t>(agreements[i]);
    if (at == continuations[i].tokens.size()) {
      ++whole;
    } else {
      leads.push_back(continuations[i].leads[at]);
    }
  }
  const auto most = static_cast<int64_t>(continuations.front().tokens.size());
  const double mean = MeanOf(lengths);
  Cell lead;
  if (!leads.empty()) lead = MedianOf(leads);
  return {setting.name,
          {mean, MedianOf(lengths), *std::ranges::min_element(lengths), most,
           100.0 * static_cast<double>(whole) / static_cast<double>(kPoints), lead, kPoints},
          static_cast<double>(most) - mean};
}

Result<std::vector<TaskResult>> Run(const TaskInput& input, const EvalSetting& reference,
                                    std::span<const EvalSetting> settings) {
  CAIRN_ASSIGN(const auto windows,
               WindowsOf(*input.tokenizer, input.text, input.text_name, input.context, 1));
  CAIRN_ASSIGN(const std::vector<Continuation> continuations,
               Continuations(input, reference, windows.front()));
  std::vector<EvalSetting> all = {reference};
  all.insert(all.end(), settings.begin(), settings.end());
  std::vector<TaskResult> results;
  for (const EvalSetting& setting : all) {
    CAIRN_ASSIGN(const std::vector<int64_t> agreements,
                 AgreementsOf(input, setting, windows.front(), continuations));
    results.push_back(ResultOf(setting, agreements, continuations));
  }
  return results;
}

}  // namespace

EvalTask GreedyTask() {
  return {.name = "greedy",
          .title = "Agreement of the likeliest continuation",
          .loss_label = "tokens that don't agree, of a continuation's",
          .columns = {{"agreement_mean", "tokens agreed"},
                      {"agreement_median", "median"},
                      {"agreement_least", "least"},
                      {"continued", "of"},
                      {"whole_percent", "to the end", Unit::kPercent},
                      {"lead_nats", "lead where they part"},
                      {"continuations", "continuations"}},
          .note =
              "Continuations with temperature 0 of eight beginnings of the text, compared with "
              "the f32 state's until the first other token. The lead is the median of how much "
              "likelier, in nats, the reference's token was than its second there: near 0, "
              "either would have done.",
          .least_context = TokenCount(32),
          .run = Run};
}

}  // namespace cairn
