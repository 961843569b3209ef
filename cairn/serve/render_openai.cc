#include "cairn/serve/render_openai.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/serve/api_error.h"
#include "cairn/text/utf8.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* FinishReasonOf(const ChoiceEnd& end) {
  switch (end.reason) {
    case GenerationEnd::kEnd:
    case GenerationEnd::kStopped:
      return "stop";
    case GenerationEnd::kLength:
    case GenerationEnd::kContext:
    case GenerationEnd::kDeadline:
    case GenerationEnd::kCancelled:
    case GenerationEnd::kFailed:
      return "length";
  }
  return "stop";
}

Json UsageJson(const AnswerUsage& usage) {
  Json tiers = Json::object();
  for (const auto& [tier, tokens] : usage.cached_by_tier) tiers[tier] = tokens;
  Json json = {{"prompt_tokens", usage.prompt_tokens},
               {"completion_tokens", usage.answer_tokens},
               {"total_tokens", usage.prompt_tokens + usage.answer_tokens},
               {"prompt_tokens_details",
                {{"cached_tokens", usage.cached_tokens()},
                 {"cached_tokens_by_tier", tiers},
                 {"miss_reason", usage.miss_reason}}}};
  if (usage.dropped_tokens > 0) json["dropped_tokens"] = usage.dropped_tokens;
  return json;
}

// llama-server's: the first token belongs to the prompt's time.
Json TimingsJson(const AnswerUsage& usage) {
  const auto ms = [](int64_t us) { return static_cast<double>(us) / 1e3; };
  // Without a token there was nothing but the prompt.
  const int64_t first_us = usage.answer_tokens > 0 ? usage.first_token_us : usage.total_us;
  const double prompt_ms = ms(std::max<int64_t>(first_us - usage.queued_us, 0));
  const double answer_ms = ms(std::max<int64_t>(usage.total_us - first_us, 0));
  const int64_t computed = usage.prompt_tokens - usage.cached_tokens();
  const int64_t later = std::max<int64_t>(usage.answer_tokens - 1, 0);
  const auto rate = [](int64_t count, double in_ms) {
    return in_ms > 0 ? 1e3 * static_cast<double>(count) / in_ms : 0.0;
  };
  return {{"cache_n", usage.cached_tokens()},
          {"prompt_n", computed},
          {"prompt_ms", prompt_ms},
          {"prompt_per_second", rate(computed, prompt_ms)},
          {"predicted_n", usage.answer_tokens},
          {"predicted_ms", answer_ms},
          {"predicted_per_second", rate(later, answer_ms)},
          {"queued_ms", ms(usage.queued_us)},
          {"preemptions", usage.preemptions}};
}

void AddUsage(const AnswerUsage& usage, Json& to) {
  to["usage"] = UsageJson(usage);
  to["timings"] = TimingsJson(usage);
  if (!usage.context) return;
  to["context"] = {{"id", usage.context->id},
                   {"tokens", usage.context->tokens},
                   {"kept_tokens", usage.context->kept_tokens},
                   {"appended", usage.context->appended}};
}

// Tokens are bytes; JSON has only characters. The bytes stand beside.
std::string TokenText(const std::string& bytes) {
  Utf8Stream stream;
  const std::string text = stream.Push(bytes);
  return text + stream.Flush();
}

Json BytesJson(const std::string& bytes) {
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<int>(static_cast<unsigned char>(byte)));
  return list;
}

Json ChatLogprobs(const std::vector<TokenReport>& tokens) {
  Json content = Json::array();
  for (const TokenReport& token : tokens) {
    Json rivals = Json::array();
    for (const TokenReport::Rival& rival : token.likeliest) {
      rivals.push_back({{"id", rival.id.value()},
                        {"token", TokenText(rival.bytes)},
                        {"logprob", rival.logprob},
                        {"bytes", BytesJson(rival.bytes)}});
    }
    content.push_back({{"id", token.id.value()},
                       {"token", TokenText(token.bytes)},
                       {"logprob", token.logprob},
                       {"bytes", BytesJson(token.bytes)},
                       {"top_logprobs", std::move(rivals)}});
  }
  return {{"content", std::move(content)}};
}

// `offset`: where in the answer's text the first of the tokens begins.
Json CompletionLogprobs(const std::vector<TokenReport>& tokens, int64_t offset) {
  Json texts = Json::array(), logprobs = Json::array(), tops = Json::array();
  Json offsets = Json::array();
  for (const TokenReport& token : tokens) {
    texts.push_back(TokenText(token.bytes));
    logprobs.push_back(token.logprob);
    Json top = Json::object();
    for (const TokenReport::Rival& rival : token.likeliest) {
      top[TokenText(rival.bytes)] = rival.logprob;
    }
    tops.push_back(std::move(top));
    offsets.push_back(offset);
    offset += static_cast<int64_t>(token.bytes.size());
  }
  return {{"tokens", texts},
          {"token_logprobs", logprobs},
          {"top_logprobs", tops},
          {"text_offset", offsets}};
}

struct Choice {
  std::string text;
  std::vector<TokenReport> tokens;
  std::string finish;
  bool begun = false;       // in a stream
  int64_t text_offset = 0;  // of the next token's bytes
};

// What chat and completions share: the frame around a choice.
class OpenAiRenderer : public AnswerRenderer {
 public:
  OpenAiRenderer(AnswerHeading heading, int choices)
      : heading_(std::move(heading)), choices_(static_cast<size_t>(choices)) {}

  std::string Begin() override { return ""; }
  std::string StreamError(const ApiError& error) const override {
    return ServerSentEvent(OpenAiErrorJson(error));
  }
  std::string ErrorJson(const ApiError& error) const override { return OpenAiErrorJson(error); }

 protected:
  Choice& At(int choice) { return choices_[static_cast<size_t>(choice)]; }
  const AnswerHeading& heading() const { return heading_; }
  std::vector<Choice>& choices() { return choices_; }

  Json Frame(const char* prefix, const char* object, Json choices) const {
    return {{"id", prefix + heading_.id},
            {"object", object},
            {"created", heading_.created_unix_s},
            {"model", heading_.model},
            {"system_fingerprint", heading_.fingerprint},
            {"choices", std::move(choices)}};
  }
  // The end of a stream whose chunks look so.
  std::string StreamEnd(const AnswerUsage& usage, const char* prefix, const char* object) const {
    std::string events;
    if (heading_.stream_usage) {
      Json chunk = Frame(prefix, object, Json::array());
      AddUsage(usage, chunk);
      events = ServerSentEvent(Dump(chunk));
    }
    return events + ServerSentEvent("[DONE]");
  }
  static std::string WholeOf(Json whole, const AnswerUsage& usage) {
    AddUsage(usage, whole);
    return Dump(whole);
  }

  void Keep(int choice, TextPiece piece) {
    Choice& to = At(choice);
    to.text += piece.text;
    std::ranges::move(piece.tokens, std::back_inserter(to.tokens));
  }

 private:
  const AnswerHeading heading_;
  std::vector<Choice> choices_;
};

Json ToolCallJson(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments_json}}}};
}

class ChatRenderer final : public OpenAiRenderer {
 public:
  ChatRenderer(AnswerHeading heading, int choices)
      : OpenAiRenderer(heading, choices),
        readers_(static_cast<size_t>(choices), ToolCallReader(heading.tools)),
        calls_(static_cast<size_t>(choices)) {}

  std::string Piece(int choice, TextPiece piece) override {
    return Deliver(choice, ReaderOf(choice).Push(piece.text), std::move(piece.tokens));
  }

  std::string End(int choice, const ChoiceEnd& end) override {
    std::string events = Deliver(choice, ReaderOf(choice).Flush(), {});
    const bool complete =
        end.reason == GenerationEnd::kEnd || end.reason == GenerationEnd::kStopped;
    const bool called = complete && !calls_[static_cast<size_t>(choice)].empty();
    At(choice).finish = called ? "tool_calls" : FinishReasonOf(end);
    if (!heading().stream) return "";
    return events + Chunk(choice, Json::object(), Json(), At(choice).finish);
  }

  std::string Finish(const AnswerUsage& usage) override {
    if (heading().stream) return StreamEnd(usage, kPrefix, kChunk);
    Json list = Json::array();
    for (size_t i = 0; i < choices().size(); ++i) {
      const Choice& choice = choices()[i];
      Json logprobs;
      if (heading().wants_logprobs) logprobs = ChatLogprobs(choice.tokens);
      list.push_back({{"index", i},
                      {"message", MessageJson(choice, calls_[i])},
                      {"logprobs", std::move(logprobs)},
                      {"finish_reason", choice.finish}});
    }
    return WholeOf(Frame(kPrefix, "chat.completion", std::move(list)), usage);
  }

  std::vector<ToolCall> CallsOf(int choice) const override {
    return calls_[static_cast<size_t>(choice)];
  }

 private:
  static constexpr const char* kPrefix = "chatcmpl-";
  static constexpr const char* kChunk = "chat.completion.chunk";

  ToolCallReader& ReaderOf(int choice) { return readers_[static_cast<size_t>(choice)]; }

  static Json MessageJson(const Choice& choice, const std::vector<ToolCall>& calls) {
    Json message = {{"role", "assistant"}, {"content", choice.text}};
    if (calls.empty()) return message;
    if (choice.text.empty()) message["content"] = nullptr;
    message["tool_calls"] = Json::array();
    for (const ToolCall& call : calls) message["tool_calls"].push_back(ToolCallJson(call));
    return message;
  }

  // Text and calls that are certain now.
  std::string Deliver(int choice, ToolCallReader::Piece read, std::vector<TokenReport> tokens) {
    std::vector<ToolCall>& calls = calls_[static_cast<size_t>(choice)];
    const size_t before = calls.size();
    std::ranges::move(read.calls, std::back_inserter(calls));
    if (!heading().stream) {
      Keep(choice, {std::move(read.text), std::move(tokens)});
      return "";
    }
    std::string events = Opening(choice);
    if (!read.text.empty() || !tokens.empty()) {
      Json logprobs;
      if (heading().wants_logprobs) logprobs = ChatLogprobs(tokens);
      events += Chunk(choice, {{"content", read.text}}, std::move(logprobs), Json());
    }
    for (size_t i = before; i < calls.size(); ++i) {
      Json call = {{"index", i}};
      call.update(ToolCallJson(calls[i]));
      events += Chunk(choice, {{"tool_calls", Json::array({std::move(call)})}}, Json(), Json());
    }
    return events;
  }

  // The first chunk of a choice names the role and has no content yet.
  std::string Opening(int choice) {
    if (std::exchange(At(choice).begun, true)) return "";
    return Chunk(choice, {{"role", "assistant"}, {"content", nullptr}}, Json(), Json());
  }

  std::string Chunk(int choice, Json delta, Json logprobs, Json finish) const {
    Json one = {{"index", choice}, {"delta", std::move(delta)}};
    if (!logprobs.is_null()) one["logprobs"] = std::move(logprobs);
    one["finish_reason"] = std::move(finish);
    return ServerSentEvent(Dump(Frame(kPrefix, kChunk, Json::array({std::move(one)}))));
  }

  std::vector<ToolCallReader> readers_;
  std::vector<std::vector<ToolCall>> calls_;
};

class CompletionRenderer final : public OpenAiRenderer {
 public:
  CompletionRenderer(AnswerHeading heading, int choices, std::vector<std::string> echoes)
      : OpenAiRenderer(std::move(heading), choices), echoes_(std::move(echoes)) {}

  std::string Piece(int choice, TextPiece piece) override {
    if (!At(choice).begun && !echoes_.empty()) {
      piece.text.insert(0, echoes_[static_cast<size_t>(choice)]);
    }
    At(choice).begun = true;
    if (!heading().stream) {
      Keep(choice, std::move(piece));
      return "";
    }
    if (piece.text.empty() && piece.tokens.empty()) return "";
    return Chunk(choice, std::move(piece), Json());
  }

  std::string End(int choice, const ChoiceEnd& end) override {
    At(choice).finish = FinishReasonOf(end);
    std::string events;
    if (!At(choice).begun) events = Piece(choice, {});  // nothing but the echo
    if (!heading().stream) return "";
    return events + Chunk(choice, {}, At(choice).finish);
  }

  std::string Finish(const AnswerUsage& usage) override {
    if (heading().stream) return StreamEnd(usage, kPrefix, kObject);
    Json list = Json::array();
    for (Choice& choice : choices()) {
      Json logprobs;
      if (heading().wants_logprobs) logprobs = CompletionLogprobs(choice.tokens, 0);
      list.push_back({{"text", choice.text},
                      {"index", list.size()},
                      {"logprobs", std::move(logprobs)},
                      {"finish_reason", choice.finish}});
    }
    return WholeOf(Frame(kPrefix, kObject, std::move(list)), usage);
  }

 private:
  static constexpr const char* kPrefix = "cmpl-";
  static constexpr const char* kObject = "text_completion";

  std::string Chunk(int choice, TextPiece piece, Json finish) {
    Json logprobs;
    if (heading().wants_logprobs) {
      logprobs = CompletionLogprobs(piece.tokens, At(choice).text_offset);
      for (const TokenReport& token : piece.tokens) {
        At(choice).text_offset += static_cast<int64_t>(token.bytes.size());
      }
    }
    Json one = {{"text", piece.text},
                {"index", choice},
                {"logprobs", std::move(logprobs)},
                {"finish_reason", std::move(finish)}};
    return ServerSentEvent(Dump(Frame(kPrefix, kObject, Json::array({std::move(one)}))));
  }

  const std::vector<std::string> echoes_;
};

}  // namespace

std::unique_ptr<AnswerRenderer> MakeChatRenderer(AnswerHeading heading, int choices) {
  return std::make_unique<ChatRenderer>(std::move(heading), choices);
}

std::unique_ptr<AnswerRenderer> MakeCompletionRenderer(AnswerHeading heading, int choices,
                                                       std::vector<std::string> echoes) {
  return std::make_unique<CompletionRenderer>(std::move(heading), choices, std::move(echoes));
}

}  // namespace cairn
