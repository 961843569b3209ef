#include "cairn/serve/render_anthropic.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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
  explicit MessageRenderer(AnswerHeading heading) : heading_(std::move(heading)) {}

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
    text_ += piece.text;
    if (!heading_.stream || piece.text.empty()) return "";
    return Opening() + Event({{"type", "content_block_delta"},
                              {"index", 0},
                              {"delta", {{"type", "text_delta"}, {"text", piece.text}}}});
  }

  std::string End(int /*choice*/, const ChoiceEnd& end) override {
    end_ = end;
    if (!heading_.stream) return "";
    return Opening() + Event({{"type", "content_block_stop"}, {"index", 0}});
  }

  std::string Finish(const AnswerUsage& usage) override {
    Json delta = {{"stop_reason", StopReasonOf(end_)},
                  {"stop_sequence", end_.stop.empty() ? Json() : Json(end_.stop)}};
    if (!heading_.stream) {
      Json message = Frame(Json::array({{{"type", "text"}, {"text", text_}}}));
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

  std::string Opening() {
    if (std::exchange(opened_, true)) return "";
    return Event({{"type", "content_block_start"},
                  {"index", 0},
                  {"content_block", {{"type", "text"}, {"text", ""}}}});
  }

  const AnswerHeading heading_;
  std::string text_;
  ChoiceEnd end_;
  bool opened_ = false;
};

}  // namespace

std::unique_ptr<AnswerRenderer> MakeMessageRenderer(AnswerHeading heading) {
  return std::make_unique<MessageRenderer>(std::move(heading));
}

}  // namespace cairn
