#include "cairn/serve/answer_text.h"

#include <utility>

namespace cairn {

ApiResult<AnswerText> AnswerText::Make(const TokenTable& table, const AnswerTextOptions& options) {
  Result<StopStrings> stops = StopStrings::Create(options.stops);
  if (!stops) return RefuseField("stop", stops.error().message);
  return AnswerText(table, options, std::move(*stops));
}

AnswerText::AnswerText(const TokenTable& table, const AnswerTextOptions& options, StopStrings stops)
    : table_(&table),
      wants_logprobs_(options.wants_logprobs),
      decoder_(table, {.skip_special = !options.shows_special, .at_text_start = false}),
      stops_(std::move(stops)) {}

TextPiece AnswerText::Push(const GeneratedToken& token) {
  TextPiece piece;
  if (stopped()) return piece;
  if (wants_logprobs_) {
    TokenReport report{token.token, std::string(table_->Bytes(token.token)), token.logprob, {}};
    for (const TokenLogprob& rival : token.likeliest) {
      report.likeliest.push_back(
          {rival.token, std::string(table_->Bytes(rival.token)), rival.logprob});
    }
    reports_.push_back(std::move(report));
  }
  piece.text = stops_.Push(decoder_.Push(token.token));
  if (!piece.text.empty()) piece.tokens = std::exchange(reports_, {});
  return piece;
}

TextPiece AnswerText::Flush() {
  TextPiece piece;
  if (!stopped()) piece.text = stops_.Push(decoder_.Flush());
  if (!stopped()) piece.text += stops_.Flush();
  piece.tokens = std::exchange(reports_, {});
  return piece;
}

}  // namespace cairn
