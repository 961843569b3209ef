#include "cairn/serve/context_text.h"

#include <doctest/doctest.h>

#include "cairn/serve/model_for_tests.h"

namespace cairn {
namespace {

JsonNode Json(std::string_view text) { return *JsonNode::Parse(text); }

struct Texts : ModelForTests {
  ContextText Make(std::string_view body) { return *MakeContextText(served, Json(body)); }
  ApiResult<ContextText> Append(const ContextText& base, std::string_view body) {
    return AppendToContext(served, base, Json(body));
  }
  ApiResult<ContextText> Rewind(const ContextText& base, std::string_view body) {
    return RewindContext(served, base, Json(body));
  }
  std::string TextOf(const ContextText& text) { return tokenizer->Decode(text.tokens); }
  std::vector<TokenId> Encode(std::string_view text) {
    return *tokenizer->Encode(text, {.add_bos = false});
  }
  // As a chat request would: its prompt.
  ApiResult<ContextText> Prompt(const ContextText& base, std::string_view body) {
    CAIRN_API_ASSIGN(const JsonNode whole, WholeChatBody(base, Json(body)));
    CAIRN_API_ASSIGN(const ChatRequest chat, ParseChatRequest(whole, {}));
    return ContinueChat(served, base, whole, chat);
  }
};

constexpr std::string_view kUser = R"({"messages":[{"role":"user","content":"hi"}]})";

TEST_CASE("a context is made of messages, of text or of tokens, and of one of them only") {
  Texts t;
  CHECK(t.TextOf(t.Make(kUser)) == "u:hi;");
  CHECK(t.Make(kUser).messages == 1);
  CHECK(t.TextOf(t.Make(R"({"text":"abc","cache_salt":"s"})")) == "abc");
  CHECK(t.Make(R"({"text":"abc","cache_salt":"s"})").cache_salt == "s");
  CHECK(t.Make(R"({"tokens":[3,4]})").tokens == std::vector<TokenId>{TokenId(3), TokenId(4)});
  const auto param = [&](std::string_view body) {
    return MakeContextText(t.served, Json(body)).error().param;
  };
  CHECK(param("{}") == "messages");
  CHECK(param(R"({"text":"a","tokens":[1]})") == "messages");
  CHECK(param(R"({"tokens":[999999]})") == "tokens");
  CHECK(param(R"({"tokens":[]})") == "tokens");
  CHECK(param(R"({"tokens":"a"})") == "tokens");
  CHECK(param(R"({"text":7})") == "text");
  CHECK(param(R"({"messages":[{"role":"tool","content":"x"}]})") == "messages");
  const std::string long_text(70, 'x');
  CHECK(
      MakeContextText(t.served, Json(fmt::format(R"({{"text":"{}"}})", long_text))).error().type ==
      ApiErrorType::kContextSize);
}

TEST_CASE("messages that a template leaves out are bounded, too") {
  Texts t;
  const std::string hidden(200'000, 'x');
  const auto made = MakeContextText(
      t.served,
      Json(fmt::format(
          R"({{"messages":[{{"role":"user","content":"a","reasoning_content":"{}"}}]}})", hidden)));
  REQUIRE_FALSE(made);
  CHECK(made.error().message.contains("a context holds at most"));
}

TEST_CASE("a chat that goes on has the tokens that it would have in one piece") {
  Texts t;
  const ContextText base = t.Make(kUser);
  const ContextText more = *t.Append(base, R"({"messages":[{"role":"assistant","content":"yo"}]})");
  CHECK(t.TextOf(more) == "u:hi;a:yo;");
  CHECK(more.tokens == t.Encode("u:hi;a:yo;"));
  CHECK(more.messages == 2);
  const ContextText prompt = *t.Prompt(more, R"({"messages":[{"role":"user","content":"x"}]})");
  CHECK(t.TextOf(prompt) == "u:hi;a:yo;u:x;a:");
  CHECK(t.TextOf(*t.Prompt(base, "{}")) == "u:hi;a:");  // nothing more to say
}

TEST_CASE("tokens that are there stay, where the text alone would be cut otherwise") {
  Texts t;
  ContextText base = t.Make(kUser);
  // The same text, but a token for each byte.
  std::vector<TokenId> bytes;
  for (const char c : base.text) {
    const std::vector<TokenId> one = t.Encode(std::string(1, c));
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  base.tokens = bytes;
  const ContextText more = *t.Append(base, R"({"messages":[{"role":"assistant","content":"yo"}]})");
  CHECK(CommonTokens(more.tokens, bytes) == static_cast<int64_t>(bytes.size()));
  CHECK(t.TextOf(more) == "u:hi;a:yo;");
}

TEST_CASE("where the template writes what is there otherwise the whole counts") {
  Texts t;
  t.chat = std::make_unique<ChatTemplate>(*ChatTemplate::Parse(
      "{{ messages|length }}{% for m in messages %}{{ m.content }}{% endfor %}", "", ""));
  t.served.chat = t.chat.get();
  const ContextText base = t.Make(kUser);
  const ContextText more = *t.Append(base, R"({"messages":[{"role":"user","content":"b"}]})");
  CHECK(t.TextOf(more) == "2hib");
  CHECK(CommonTokens(more.tokens, base.tokens) == 0);
  CHECK(t.Rewind(more, R"({"messages":1})").error().param == "messages");
}

TEST_CASE("text behind a chat makes it a text, which no chat goes on from") {
  Texts t;
  const ContextText more = *t.Append(t.Make(kUser), R"({"text":"a:so"})");
  CHECK(t.TextOf(more) == "u:hi;a:so");
  CHECK_FALSE(more.is_chat);
  CHECK(t.Append(more, kUser).error().param == "context");
  CHECK(t.Append(more, R"({"text":""})").error().param == "text");
}

TEST_CASE("rewinding by messages or tokens gives what was there before") {
  Texts t;
  const ContextText one = t.Make(kUser);
  const ContextText three = *t.Append(
      one, R"({"messages":[{"role":"assistant","content":"yo"},{"role":"user","content":"b"}]})");
  CHECK(t.TextOf(*t.Rewind(three, R"({"messages":2})")) == "u:hi;a:yo;");
  CHECK(t.Rewind(three, R"({"messages":2})")->is_chat);
  CHECK(t.Rewind(three, R"({"messages":3})")->tokens == three.tokens);
  const ContextText back = *t.Rewind(three, fmt::format(R"({{"tokens":{}}})", one.size()));
  CHECK(back.tokens == one.tokens);
  CHECK(back.messages_json == one.messages_json);
  CHECK(back.text == one.text);
  const ContextText inside = *t.Rewind(three, R"({"tokens":1})");
  CHECK(inside.tokens == std::vector<TokenId>{three.tokens.front()});
  CHECK_FALSE(inside.is_chat);
  for (const std::string_view body :
       {"{}", R"({"tokens":0})", R"({"tokens":99})", R"({"messages":4})", R"({"messages":0})",
        R"({"tokens":1,"messages":1})", R"({"tokens":"1"})"}) {
    CAPTURE(body);
    CHECK(t.Rewind(three, body).error().status() == 400);
  }
  CHECK(t.Rewind(inside, R"({"messages":1})").error().param == "messages");
}

TEST_CASE("an answer is appended with its own tokens, and goes on as a message") {
  Texts t;
  const ContextText prompt = *t.Prompt(t.Make(kUser), "{}");
  GivenAnswer answer{.text = "yo"};
  for (const char* piece : {"y", "o"}) answer.tokens.push_back(t.Encode(piece).front());
  const ContextText after = AddAnswer(t.served, prompt, answer);
  CHECK(after.size() == prompt.size() + 2);
  CHECK(after.messages == 2);
  CHECK(after.text == "u:hi;a:yo");
  const ContextText next = *t.Prompt(after, R"({"messages":[{"role":"user","content":"x"}]})");
  CHECK(t.TextOf(next) == "u:hi;a:yo;u:x;a:");
  CHECK(CommonTokens(next.tokens, after.tokens) == after.size());
  CHECK(t.TextOf(*t.Rewind(next, R"({"messages":2})")) == "u:hi;a:yo");  // as it was
  CHECK(t.TextOf(*t.Rewind(after, R"({"messages":1})")) == "u:hi;");
}

TEST_CASE("of an answer that a stop string has cut the context has what the client got") {
  Texts t;
  const ContextText base = t.Make(R"({"text":"ab"})");
  const std::vector<TokenId> tokens = t.Encode("hello;world");
  for (size_t size = 0; size <= 11; ++size) {
    const GivenAnswer answer{.tokens = tokens, .text = std::string("hello;world").substr(0, size)};
    CHECK(t.TextOf(AddAnswer(t.served, base, answer)) == "ab" + answer.text);
  }
}

TEST_CASE("calls of tools become a message's, under the ids that the client has seen") {
  Texts t;
  const ContextText prompt = *t.Prompt(t.Make(kUser), "{}");
  GivenAnswer answer{.text = R"(so <tool_call>{"name":"f","arguments":{"a":1}}</tool_call>)",
                     .calls = {{"call_1", "f", R"({"a":1})"}},
                     .form = ToolCallReader::Form::kMarked};
  answer.tokens = t.Encode(answer.text);
  const ContextText after = AddAnswer(t.served, prompt, answer);
  CHECK(after.messages_json.contains(
      R"({"role":"assistant","content":"so ","tool_calls":[{"id":"call_1","type":"function",)"
      R"("function":{"name":"f","arguments":{"a":1}}}]})"));
}

TEST_CASE("a request's own tools come before the context's") {
  Texts t;
  const std::string_view tool = R"({"messages":[{"role":"user","content":"a"}],)"
                                R"("tools":[{"type":"function","function":{"name":"f"}}]})";
  const ContextText base = t.Make(tool);
  CHECK(base.tools_json.contains("\"f\""));
  const JsonNode whole = *WholeChatBody(base, Json(kUser));
  CHECK(whole.Find("tools")->Array()->size() == 1);
  CHECK(whole.Find("messages")->Array()->size() == 2);
  const JsonNode other = *WholeChatBody(base, Json(R"({"tools":[],"messages":null})"));
  CHECK(other.Find("tools")->Array()->empty());
  CHECK(WholeChatBody(base, Json(R"({"messages":"x"})")).error().param == "messages");
}

}  // namespace
}  // namespace cairn
