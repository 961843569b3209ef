// copy: what a passage costs that was read far before.
#include <algorithm>

#include "cairn/eval/scored_append.h"
#include "cairn/eval/task.h"
#include "cairn/eval/text_windows.h"

namespace cairn {
namespace {

constexpr int64_t kPassages = 4;
constexpr int64_t kPassageTokens = 64;
// A passage's first tokens only say which passage it is.
constexpr int64_t kCueTokens = 16;

// Passages lie in the first half of what was read, so that half of it lies behind each: windows of
// models that have some are shorter.
struct Passage {
  int64_t first = 0;
  int64_t count = 0;
  int64_t cue = 0;
};

std::vector<Passage> PassagesOf(int64_t context) {
  // A tenth of the context: four of them with what lies between fit into its first half.
  const int64_t count = std::min(kPassageTokens, context / 10);
  const int64_t cue = std::min(kCueTokens, count / 2);
  const int64_t half = (context - count) / 2;
  std::vector<Passage> passages;
  for (int64_t i = 0; i < kPassages; ++i) {
    // Never token 0: a second BOS in the middle would be something new.
    passages.push_back({1 + (half - count - 1) * i / (kPassages - 1), count, cue});
  }
  return passages;
}

struct CopyScores {
  std::vector<TokenScore> again;
  std::vector<TokenScore> first;  // when the passages were new
  Bytes bytes;                    // of the state that they are copied from
};

// Appends the passage; scores its tokens behind the cue.
Status Score(const TaskInput& input, SequenceRunner& runner, std::span<const TokenId> passage,
             int64_t cue, std::vector<TokenScore>& scores) {
  CAIRN_TRY(runner.Append(passage.first(static_cast<size_t>(cue))));
  CAIRN_ASSIGN(const std::vector<TokenScore> found,
               AppendScored(runner, runner.logits(), passage.subspan(static_cast<size_t>(cue)),
                            *input.pool));
  scores.insert(scores.end(), found.begin(), found.end());
  return {};
}

double NatsOf(std::span<const TokenScore> scores) {
  double sum = 0;
  for (const TokenScore& score : scores) sum += score.nats;
  return sum / static_cast<double>(scores.size());
}

Result<CopyScores> ScoresOf(const TaskInput& input, const EvalSetting& setting,
                            std::span<const TokenId> window) {
  input.progress(setting.name);
  CAIRN_ASSIGN(const auto sequence, EvalSequence::Begin(setting, input.context, 1));
  const std::vector<Passage> passages = PassagesOf(input.context.value());
  const int64_t prefix = input.context.value() - passages.front().count;
  CopyScores scores;
  int64_t done = 0;
  const auto part = [&](int64_t first, int64_t count) {
    return window.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  };
  for (const Passage& passage : passages) {
    CAIRN_TRY(sequence->runner().Append(part(done, passage.first - done)));
    CAIRN_TRY(Score(input, sequence->runner(), part(passage.first, passage.count), passage.cue,
                    scores.first));
    done = passage.first + passage.count;
  }
  CAIRN_TRY(sequence->runner().Append(part(done, prefix - done)));
  CAIRN_TRY(sequence->EndContext());
  CAIRN_TRY(sequence->CheckBytes());
  scores.bytes = sequence->HeldBytes();
  for (const Passage& passage : passages) {
    CAIRN_ASSIGN(const auto fork, sequence->Fork());
    CAIRN_TRY(Score(input, *fork, part(passage.first, passage.count), passage.cue, scores.again));
  }
  return scores;
}

Result<std::vector<TaskResult>> Run(const TaskInput& input, const EvalSetting& reference,
                                    std::span<const EvalSetting> settings) {
  CAIRN_ASSIGN(const auto windows,
               WindowsOf(*input.tokenizer, input.text, input.text_name, input.context, 1));
  std::vector<EvalSetting> all = {reference};
  all.insert(all.end(), settings.begin(), settings.end());
  std::vector<TaskResult> results;
  double base = 0;
  for (const EvalSetting& setting : all) {
    CAIRN_ASSIGN(const CopyScores scores, ScoresOf(input, setting, windows.front()));
    const double nats = NatsOf(scores.again);
    if (results.empty()) base = nats;
    const auto likeliest = static_cast<double>(
        std::ranges::count_if(scores.again, [](const TokenScore& s) { return s.likeliest; }));
    const auto count = static_cast<int64_t>(scores.again.size());
    results.push_back({setting.name,
                       {nats, nats - base, 100.0 * likeliest / static_cast<double>(count),
                        NatsOf(scores.first), count},
                       nats});
    if (setting.policy != nullptr) results.back().bytes = scores.bytes;
  }
  return results;
}

}  // namespace

EvalTask CopyTask() {
  return {.name = "copy",
          .title = "Copying of a far passage",
          .loss_label = "nats per copied token",
          .columns = {{"copy_nats", "nats per token"},
                      {"over_f32_nats", "over f32"},
                      {"likeliest_percent", "likeliest", Unit::kPercent},
                      {"first_nats", "when it was new"},
                      {"tokens", "tokens scored"}},
          .note =
              "Four passages of up to 64 tokens from the first half of the context are read "
              "again at its end, each by a fork of its own; their first 16 tokens, which only "
              "say which passage it is, don't count. A state that has lost the passage "
              "predicts it as badly as when it was new.",
          .least_context = TokenCount(64),
          .run = Run};
}

}  // namespace cairn
