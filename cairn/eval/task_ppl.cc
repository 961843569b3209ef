// ppl: how well the text is predicted.
#include <cmath>

#include "cairn/eval/scored_append.h"
#include "cairn/eval/statistics.h"
#include "cairn/eval/task.h"
#include "cairn/eval/text_windows.h"

namespace cairn {
namespace {

// Nats for each token that counts, window after window.
Result<std::vector<double>> NatsOf(const TaskInput& input, const EvalSetting& setting,
                                   std::span<const std::vector<TokenId>> windows,
                                   Bytes& state_bytes) {
  std::vector<double> nats;
  for (const std::vector<TokenId>& window : windows) {
    input.progress(setting.name);
    CAIRN_ASSIGN(const auto sequence, EvalSequence::Begin(setting, input.context));
    const auto before = static_cast<size_t>(FirstScored(input.context.value()));
    CAIRN_TRY(sequence->runner().Append(std::span(window).first(before)));
    // Before the policy, whose model has no new logits until the next token.
    const std::vector<float> logits(sequence->runner().logits().begin(),
                                    sequence->runner().logits().end());
    CAIRN_TRY(sequence->EndContext());
    CAIRN_ASSIGN(const std::vector<TokenScore> scores,
                 AppendScored(sequence->runner(), sequence->runner().logits(),
                              std::span(window).subspan(before), *input.pool));
    for (const TokenScore& score : scores) nats.push_back(score.nats);
    CAIRN_TRY(sequence->CheckBytes());
    state_bytes = sequence->HeldBytes();
  }
  return nats;
}

Result<std::vector<TaskResult>> Run(const TaskInput& input, const EvalSetting& reference,
                                    std::span<const EvalSetting> settings) {
  CAIRN_ASSIGN(const auto windows, WindowsOf(*input.tokenizer, input.text, input.text_name,
                                             input.context, input.windows));
  Bytes state_bytes;  // of the setting that was measured last
  CAIRN_ASSIGN(const std::vector<double> base, NatsOf(input, reference, windows, state_bytes));
  std::vector<TaskResult> results;
  const auto add = [&](const EvalSetting& setting, const std::vector<double>& nats) {
    std::vector<double> above(nats.size());
    for (size_t i = 0; i < nats.size(); ++i) above[i] = nats[i] - base[i];
    const double perplexity = std::exp(MeanOf(nats));
    const double ratio = std::exp(MeanOf(above));
    results.push_back({setting.name,
                       {perplexity, perplexity * StandardErrorOf(nats), ratio,
                        ratio * StandardErrorOf(above), static_cast<int64_t>(nats.size())},
                       perplexity});
    if (setting.policy != nullptr) results.back().bytes = state_bytes;
  };
  add(reference, base);
  for (const EvalSetting& setting : settings) {
    CAIRN_ASSIGN(const std::vector<double> nats, NatsOf(input, setting, windows, state_bytes));
    add(setting, nats);
  }
  return results;
}

}  // namespace

EvalTask PerplexityTask() {
  return {.name = "ppl",
          .title = "Perplexity",
          .loss_label = "perplexity",
          .columns = {{"perplexity", "perplexity"},
                      {"perplexity_error", "+-"},
                      {"ratio", "to f32"},
                      {"ratio_error", "+-"},
                      {"tokens", "tokens scored"}},
          .note =
              "exp of the mean of -log p over the tokens of the second half of each window, as "
              "llama.cpp has it; the ratio's error is that of pairs of tokens.",
          .least_context = TokenCount(8),
          .run = Run};
}

}  // namespace cairn
