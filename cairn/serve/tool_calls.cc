#include "cairn/serve/tool_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/serve/json_node.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBegin = "<tool_call>";
constexpr std::string_view kSpaces = " \t\r\n";

std::optional<ToolCall> CallIn(std::string_view text) {
  const Result<JsonNode> parsed = JsonNode::Parse(text);
  if (!parsed) return std::nullopt;
  const JsonNode* name = parsed->Find("name");
  const JsonNode* arguments = parsed->Find("arguments");
  if (name == nullptr || name->String() == nullptr || arguments == nullptr) return std::nullopt;
  if (arguments->Object() == nullptr) return std::nullopt;
  return ToolCall{fmt::format("call_{:016x}", RandomSeed()), *name->String(), arguments->Dump()};
}

// How many bytes at the end of `text` begin the mark.
size_t BegunAtEnd(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(text.size(), mark.size() - 1); size > 0; --size) {
    if (text.ends_with(mark.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

// Between calls there is white space, which is nobody's answer.
void ToolCallReader::AddText(std::string_view text, Piece& to) const {
  if (has_called_ && text.find_first_not_of(kSpaces) == std::string_view::npos) return;
  to.text += text;
}

void ToolCallReader::ReadOutside(Piece& to) {
  const size_t at = pending_.find(kBegin);
  inside_ = at != std::string::npos;
  const size_t certain = inside_ ? at : pending_.size() - BegunAtEnd(pending_, kBegin);
  AddText(std::string_view(pending_).substr(0, certain), to);
  pending_.erase(0, certain + (inside_ ? kBegin.size() : 0));
}

bool ToolCallReader::ReadInside(Piece& to) {
  const size_t at = pending_.find(kToolCallEnd);
  if (at == std::string::npos) return false;
  const std::string_view inner = std::string_view(pending_).substr(0, at);
  if (std::optional<ToolCall> call = CallIn(inner)) {
    to.calls.push_back(std::move(*call));
    has_called_ = true;
  } else {
    to.text += fmt::format("{}{}{}", kBegin, inner, kToolCallEnd);
  }
  pending_.erase(0, at + kToolCallEnd.size());
  inside_ = false;
  return true;
}

ToolCallReader::Piece ToolCallReader::Push(std::string_view text) {
  if (form_ == Form::kNone) return {std::string(text), {}};
  pending_ += text;
  Piece piece;
  if (form_ == Form::kWhole) return piece;
  do {
    if (!inside_) ReadOutside(piece);
  } while (inside_ && ReadInside(piece));
  return piece;
}

ToolCallReader::Piece ToolCallReader::Flush() {
  Piece piece;
  const std::string rest = std::exchange(pending_, {});
  std::optional<ToolCall> call;
  if (inside_ || form_ == Form::kWhole) call = CallIn(rest);
  if (call) {
    piece.calls.push_back(std::move(*call));
  } else if (inside_) {
    piece.text = std::string(kBegin) + rest;
  } else {
    AddText(rest, piece);
  }
  inside_ = false;
  return piece;
}

std::string SchemaOfCall(const std::vector<ChatTool>& tools, const ToolChoice& choice) {
  Json calls = Json::array();
  for (const ChatTool& tool : tools) {
    if (choice.kind == ToolChoice::Kind::kNamed && tool.name != choice.name) continue;
    Json arguments = {{"type", "object"}};
    if (!tool.parameters_json.empty()) arguments = Json::parse(tool.parameters_json);
    calls.push_back(
        {{"type", "object"},
         {"properties", {{"name", {{"const", tool.name}}}, {"arguments", std::move(arguments)}}},
         {"required", {"name", "arguments"}},
         {"additionalProperties", false}});
  }
  return calls.size() == 1 ? calls.front().dump() : Json{{"anyOf", std::move(calls)}}.dump();
}

}  // namespace cairn
