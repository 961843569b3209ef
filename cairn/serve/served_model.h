// ServedModel: the one model of a server, with what turns text into its tokens and back.
//
// Plain data that outlives the server; thread-safe, as nothing changes it.
#ifndef CAIRN_SERVE_SERVED_MODEL_H_
#define CAIRN_SERVE_SERVED_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cairn/engine/engine.h"
#include "cairn/serve/answer_options.h"
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
  // How its state is stored, as a JSON object for /props; empty: nobody said.
  std::string state_forms = {};
};

}  // namespace cairn

#endif  // CAIRN_SERVE_SERVED_MODEL_H_
