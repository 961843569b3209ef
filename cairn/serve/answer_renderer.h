// AnswerRenderer: the answers of one request in the shape of an API, as one JSON text or as a
// stream of server-sent events.
//
// The same calls serve both: in a stream each returns the events to send at once (perhaps none);
// else they return nothing and Finish returns it all. Pure, but for what was seen so far.
// Thread-compatible.
#ifndef CAIRN_SERVE_ANSWER_RENDERER_H_
#define CAIRN_SERVE_ANSWER_RENDERER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/engine/engine.h"
#include "cairn/serve/answer_text.h"
#include "cairn/serve/api_error.h"
#include "cairn/serve/context_plan.h"
#include "cairn/serve/tool_calls.h"

namespace cairn {

// How one of a request's answers ended.
struct ChoiceEnd {
  GenerationEnd reason = GenerationEnd::kEnd;
  std::string stop = {};              // the stop string, of kStopped
  std::vector<float> embedding = {};  // of one that was asked for, not of length 1
};

// What the answers of a request took together, and where the state of its prompts came from.
struct AnswerUsage {
  int64_t prompt_tokens = 0;
  int64_t answer_tokens = 0;
  std::vector<std::pair<std::string, int64_t>> cached_by_tier;  // "memory" first
  std::string miss_reason;                                      // of the first prompt
  int64_t dropped_tokens = 0;                                   // whose rows a token policy dropped
  int64_t preemptions = 0;
  int64_t queued_us = 0;       // the longest of them
  int64_t first_token_us = 0;  // likewise
  int64_t total_us = 0;
  std::optional<ContextNote> context = std::nullopt;

  int64_t cached_tokens() const {
    int64_t sum = 0;
    for (const auto& [tier, tokens] : cached_by_tier) sum += tokens;
    return sum;
  }
  // Adds another prompt's.
  void Add(const GenerationUsage& usage);
};

class AnswerRenderer {
 public:
  virtual ~AnswerRenderer() = default;
  // What opens a stream, before anything else.
  virtual std::string Begin() = 0;
  virtual std::string Piece(int choice, TextPiece piece) = 0;
  virtual std::string End(int choice, const ChoiceEnd& end) = 0;
  virtual std::string Finish(const AnswerUsage& usage) = 0;
  // In place of all that would follow in a stream.
  virtual std::string StreamError(const ApiError& error) const = 0;
  // The calls of tools that a choice has made so far.
  virtual std::vector<ToolCall> CallsOf(int /*choice*/) const { return {}; }
  // The body of an answer that never began.
  virtual std::string ErrorJson(const ApiError& error) const = 0;
};

// What a renderer says about the server and the request.
struct AnswerHeading {
  std::string id = {};           // without prefix
  std::string model = {};        // as the request called it
  std::string fingerprint = {};  // of build and weights
  int64_t created_unix_s = 0;
  int64_t prompt_tokens = 0;
  bool stream = false;
  bool stream_usage = false;
  bool wants_logprobs = false;
  ToolCallReader::Form tools = ToolCallReader::Form::kNone;
};

// "data: TEXT\n\n", with "event: NAME" in front if there is a name.
std::string ServerSentEvent(std::string_view json, std::string_view name = {});

}  // namespace cairn

#endif  // CAIRN_SERVE_ANSWER_RENDERER_H_
