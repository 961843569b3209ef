// From the body of a request to jobs for the engine and a renderer for what they will bring.
//
// The costly part of a request before the model runs: parsing, the chat template, the tokenizer.
// Thread-safe: everything here is const.
#ifndef CAIRN_SERVE_PREPARE_ANSWER_H_
#define CAIRN_SERVE_PREPARE_ANSWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/serve/answer_options.h"
#include "cairn/serve/answer_renderer.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/engine_service.h"
#include "cairn/text/chat_template.h"
#include "cairn/text/rust_bridge.h"
#include "cairn/text/tokenizer.h"

namespace cairn {

// What is served. Immutable; outlives the server.
struct ServedModel {
  std::string name;
  std::string fingerprint;  // begins with "b", as llama-server's
  const Tokenizer* tokenizer = nullptr;
  const ChatTemplate* chat = nullptr;  // null: the model has none, `why_no_chat` says why
  std::string why_no_chat;
  bool chat_shows_tools = false;  // its template does something with them
  // For answers that follow a schema; null: the model has no token that ends answers.
  const RustGrammarFactory* grammars = nullptr;
  TokenId grammar_end;  // theirs
  int64_t context = 0;
  int64_t train_context = 0;
  int64_t parameters = 0;  // 0: unknown
  std::string file = {};   // or folder, without the folders around it
  int64_t answers_at_once = 0;
  int64_t created_unix_s = 0;
  AnswerDefaults defaults;
  // Of /v1/embeddings; nothing: it can't give any, `why_no_embeddings` says why.
  std::optional<Pooling> pooling = {};
  std::string why_no_embeddings = {};
  int64_t width = 0;  // of its hidden states
};

// Of the request as it came.
struct RequestFacts {
  int key = 0;  // api_keys.h
  int64_t deadline_us = 0;
};

struct PreparedAnswer {
  std::unique_ptr<AnswerRenderer> renderer;
  std::vector<AnswerJob> jobs;  // each with so many answers
  int32_t answers_per_job = 1;
  bool stream = false;
  bool embeds = false;  // the jobs' ends bring embeddings, and are nothing without
};

ApiResult<PreparedAnswer> PrepareChat(const ServedModel& model, std::string_view body,
                                      const RequestFacts& facts);
ApiResult<PreparedAnswer> PrepareCompletion(const ServedModel& model, std::string_view body,
                                            const RequestFacts& facts);

ApiResult<PreparedAnswer> PrepareMessages(const ServedModel& model, std::string_view body,
                                          const RequestFacts& facts);

// /v1/embeddings: a job for each input.
ApiResult<PreparedAnswer> PrepareEmbeddings(const ServedModel& model, std::string_view body,
                                            const RequestFacts& facts);

// The small endpoints: the body of the answer.
ApiResult<std::string> AnswerTokenize(const ServedModel& model, std::string_view body);
ApiResult<std::string> AnswerDetokenize(const ServedModel& model, std::string_view body);
ApiResult<std::string> AnswerCountTokens(const ServedModel& model, std::string_view body);
ApiResult<std::string> AnswerApplyTemplate(const ServedModel& model, std::string_view body);

}  // namespace cairn

#endif  // CAIRN_SERVE_PREPARE_ANSWER_H_
