// AnswerText: the tokens of one answer as text, as they come.
//
// Only whole characters come out, nothing that may still become a stop string, and what a token's
// probabilities were together with the text that it ended up in. One object per answer;
// thread-compatible.
#ifndef CAIRN_SERVE_ANSWER_TEXT_H_
#define CAIRN_SERVE_ANSWER_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/engine/engine.h"
#include "cairn/serve/api_error.h"
#include "cairn/text/stop_strings.h"
#include "cairn/text/stream_decoder.h"
#include "cairn/text/token_table.h"

namespace cairn {

// A token and its likeliest rivals, as a client gets them.
struct TokenReport {
  TokenId id;
  std::string bytes;
  float logprob = 0;
  struct Rival {
    TokenId id;
    std::string bytes;
    float logprob = 0;
  };
  std::vector<Rival> likeliest;
};

struct TextPiece {
  std::string text;
  std::vector<TokenReport> tokens;  // if logprobs are wanted
};

struct AnswerTextOptions {
  std::vector<std::string> stops = {};
  bool wants_logprobs = false;
  bool shows_special = false;  // special tokens' texts are part of the answer
};

class AnswerText {
 public:
  // Errors: a stop string that is none.
  static ApiResult<AnswerText> Make(const TokenTable& table, const AnswerTextOptions& options);

  // What is certain now. Once stopped() more tokens change nothing.
  TextPiece Push(const GeneratedToken& token);
  // The rest, at the end.
  TextPiece Flush();

  bool stopped() const { return stops_.stopped(); }
  const std::string& stop() const { return stops_.matched(); }

 private:
  AnswerText(const TokenTable& table, const AnswerTextOptions& options, StopStrings stops);

  const TokenTable* table_;
  bool wants_logprobs_;
  StreamDecoder decoder_;
  StopStrings stops_;
  std::vector<TokenReport> reports_;  // of tokens whose text is still held back
};

}  // namespace cairn

#endif  // CAIRN_SERVE_ANSWER_TEXT_H_
