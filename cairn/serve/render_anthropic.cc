#include "cairn/serve/render_anthropic.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Named by its type, as Anthropic's clients expect.
std::string Event(const Json& json) {
  return ServerSentEvent(Dump(json), json["type"].get<std::string>());
}

const char* StopReasonOf(const ChoiceEnd& end) {
  switch (end.reason) {
    case GenerationEnd::kEnd:
      return "end_turn";
    case GenerationEnd::kStopped:
      return "stop_sequence";
    case GenerationEnd::kLength:
    case GenerationEnd::kContext:
    case GenerationEnd::kCancelled:
    case GenerationEnd::kDeadline:
    case GenerationEnd::kFailed:
      return "max_tokens";
  }
  return "end_turn";
}

// All tokens that are read are kept, so none is counted as paid for keeping.
Json UsageJson(const AnswerUsage& usage) {
  Json tiers = Json::object();
  for (const auto& [tier, tokens] : usage.cached_by_tier) tiers[tier] = tokens;
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens()},
          {"cache_read_input_tokens", usage.cached_tokens()},
          {"cache_creation_input_tokens", 0},
          {"output_tokens", usage.answer_tokens},
          {"cache_read_by_tier", std::move(tiers)},
          {"cache_miss_reason", usage.miss_reason}};
}

class MessageRenderer final : public AnswerRenderer {
 public:
  explicit MessageRenderer(AnswerHeading heading)
      : heading_(std::move(heading)), reader_(heading_.tools) {}

  std::string Begin() override {
    AnswerUsage usage;
    usage.prompt_tokens = heading_.prompt_tokens;
    Json message = Frame(Json::array());
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    message["usage"] = UsageJson(usage);
    return Event({{"type", "message_start"}, {"message", std::move(message)}});
  }

  std::string Piece(int /*choice*/, TextPiece piece) override {
    return Deliver(reader_.Push(piece.text));
  }

  std::string End(int /*choice*/, const ChoiceEnd& end) override {
    end_ = end;
    std::string events = Deliver(reader_.Flush());
    if (!heading_.stream) return "";
    if (calls_.empty()) events += OpenText();  // an answer has a block at least
    return events + CloseText();
  }

  std::string Finish(const AnswerUsage& usage) override {
    const bool complete =
        end_.reason == GenerationEnd::kEnd || end_.reason == GenerationEnd::kStopped;
    const bool called = complete && !calls_.empty();
    Json delta = {{"stop_reason", called ? "tool_use" : StopReasonOf(end_)},
                  {"stop_sequence", called || end_.stop.empty() ? Json() : Json(end_.stop)}};
    if (!heading_.stream) {
      Json message = Frame(ContentJson());
      message.update(delta);
      message["usage"] = UsageJson(usage);
      return Dump(message);
    }
    return Event({{"type", "message_delta"},
                  {"delta", std::move(delta)},
                  {"usage", UsageJson(usage)}}) +
           Event({{"type", "message_stop"}});
  }

  std::string StreamError(const ApiError& error) const override {
    return ServerSentEvent(AnthropicErrorJson(error), "error");
  }
  std::string ErrorJson(const ApiError& error) const override { return AnthropicErrorJson(error); }

 private:
  Json Frame(Json content) const {
    return {{"id", "msg_" + heading_.id},
            {"type", "message"},
            {"role", "assistant"},
            {"model", heading_.model},
            {"content", std::move(content)}};
  }

  Json ContentJson() const {
    Json content = Json::array();
    if (!text_.empty() || calls_.empty()) content.push_back({{"type", "text"}, {"text", text_}});
    for (const ToolCall& call : calls_) {
      content.push_back({{"type", "tool_use"},
                         {"id", call.id},
                         {"name", call.name},
                         {"input", Json::parse(call.arguments_json)}});
    }
    return content;
  }

  // Text and calls that are certain now.
  std::string Deliver(ToolCallReader::Piece read) {
    text_ += read.text;
    std::string events;
    if (heading_.stream && !read.text.empty()) {
      events = OpenText() + Event({{"type", "content_block_delta"},
                                   {"index", block_},
                                   {"delta", {{"type", "text_delta"}, {"text", read.text}}}});
    }
    for (ToolCall& call : read.calls) {
      if (heading_.stream) events += CloseText() + CallEvents(call);
      calls_.push_back(std::move(call));
    }
    return events;
  }

  std::string OpenText() {
    if (std::exchange(text_open_, true)) return "";
    return Event({{"type", "content_block_start"},
                  {"index", block_},
                  {"content_block", {{"type", "text"}, {"text", ""}}}});
  }

  std::string CloseText() {
    if (!std::exchange(text_open_, false)) return "";
    return Event({{"type", "content_block_stop"}, {"index", block_++}});
  }

  std::string CallEvents(const ToolCall& call) {
    const int block = block_++;
    return Event({{"type", "content_block_start"},
                  {"index", block},
                  {"content_block",
                   {{"type", "tool_use"},
                    {"id", call.id},
                    {"name", call.name},
                    {"input", Json::object()}}}}) +
           Event(
               {{"type", "content_block_delta"},
                {"index", block},
                {"delta", {{"type", "input_json_delta"}, {"partial_json", call.arguments_json}}}}) +
           Event({{"type", "content_block_stop"}, {"index", block}});
  }

  const AnswerHeading heading_;
  ToolCallReader reader_;
  std::string text_;
  std::vector<ToolCall> calls_;
  ChoiceEnd end_;
  int block_ = 0;  // the content block that is open, or the next one
  bool text_open_ = false;
};

}  // namespace

std::unique_ptr<AnswerRenderer> MakeMessageRenderer(AnswerHeading heading) {
  return std::make_unique<MessageRenderer>(std::move(heading));
}

}  // namespace cairn
