#include "cairn/text/chat_template.h"

#include <doctest/doctest.h>

#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

const std::vector<ChatMessage> kMessages = {
    {"system", "Be brief."}, {"user", "Hi & <b>\n"}, {"assistant", " Hello! "}, {"user", "2+2?"}};

std::string Render(std::string_view source, const RenderOptions& options = {}) {
  const auto chat_template = ChatTemplate::Parse(source, "<s>", "</s>");
  if (!chat_template) return chat_template.error().message;
  const auto text = chat_template->Render(kMessages, options);
  return text ? *text : text.error().message;
}

TEST_CASE("a ChatML template renders as transformers does") {
  const std::string_view source =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
      "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
  const std::string turns =
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi & <b>\n<|im_end|>\n"
      "<|im_start|>assistant\n Hello! <|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n";
  CHECK(Render(source) == turns + "<|im_start|>assistant\n");
  CHECK(Render(source, {.add_generation_prompt = false}) == turns);
}

TEST_CASE("blocks take their own line break and indentation along") {
  CHECK(Render("a\n  {% if true %}\nb\n  {% endif %}\n{{ bos_token }}{{ eos_token }}\n") ==
        "a\nb\n<s></s>");
}

TEST_CASE("Python's methods, slices, namespaces, macros and loop controls are there") {
  CHECK(Render("{{ messages[1:]|length }}{{ messages[-1].content.split('+')[0].strip() }}") ==
        "32");
  CHECK(Render("{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.role == 'assistant' "
               "%}{% break %}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}") == "2");
  CHECK(Render("{% macro f(x) %}[{{ x|trim }}]{% endmacro %}{{ f(messages[2].content) }}") ==
        "[Hello!]");
  CHECK(Render("{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}") ==
        "role=system;content=Be brief.;");
  CHECK(Render("{{ 'x' if messages[0].content is string and tools is not defined }}") == "x");
  CHECK(Render("{{ none is iterable }}{{ [true, none] }}") == "False[True, None]");
  CHECK(Render("{% generation %}a{% endgeneration %}{%- generation -%} b{%- endgeneration %}") ==
        "ab");
}

TEST_CASE("tojson writes what Python's json.dumps writes") {
  const RenderOptions options = {
      .now_unix_s = 0,
      .variables_json = R"({"x": {"b": [1, 2.5, 1e20, 1e-7, null, true], "a": "é\"<\n\u0001"}})"};
  CHECK(Render("{{ x|tojson }}", options) ==
        "{\"b\": [1, 2.5, 1e+20, 1e-07, null, true], \"a\": \"é\\\"<\\n\\u0001\"}");
  CHECK(Render("{{ x.a|tojson(ensure_ascii=true) }}", options) == "\"\\u00e9\\\"<\\n\\u0001\"");
  CHECK(Render("{{ {'b': [], 'a': [1]}|tojson(indent=2, sort_keys=true) }}", options) ==
        "{\n  \"a\": [\n    1\n  ],\n  \"b\": []\n}");
  CHECK(Render("{{ [1, 2]|tojson(separators=(',', ':')) }}", options) == "[1,2]");
}

TEST_CASE("the date is that of the caller's clock") {
  // Noon of a day, so that the day is the same in every time zone but one.
  CHECK(Render("{{ strftime_now('%d %b %Y') }}", {.now_unix_s = 1'700'049'600}) == "15 Nov 2023");
}

TEST_CASE("errors say which line of the template") {
  CHECK(Render("a\nb {{ x.y.z }}").find("line 2") != std::string::npos);
  CHECK(Render("{% if %}").find("line 1") != std::string::npos);
  CHECK(Render("\n\n{{ raise_exception('Roles must alternate') }}")
            .ends_with("line 3: Roles must alternate"));
  CHECK(Render("{{ messages|nonsense }}").find("nonsense") != std::string::npos);
}

TEST_CASE("messages with more in them are given as JSON") {
  const auto chat_template = ChatTemplate::Parse(
      "{% for m in messages %}{% for p in m.content %}{{ p.text }},{% endfor %}{% endfor %}", "",
      "");
  CHECK(*chat_template->RenderJson(
            R"([{"role": "user", "content": [{"text": "a"}, {"text": "b"}]}])") == "a,b,");
  CHECK_FALSE(chat_template->RenderJson("{}").has_value());
  CHECK_FALSE(chat_template->RenderJson("[").has_value());
  CHECK_FALSE(chat_template->RenderJson(std::string(100'000, '[')).has_value());
  CHECK_FALSE(chat_template->RenderJson("[]", {.variables_json = "[]"}).has_value());
}

TEST_CASE("a message that is no UTF-8 is an error") {
  const auto chat_template = ChatTemplate::Parse("{{ messages }}", "", "");
  const std::vector<ChatMessage> messages = {{"user", "fine"}, {"user", "a\xFF"}};
  const auto text = chat_template->Render(messages);
  CHECK(text.error().message.find("message 1") != std::string::npos);
}

TEST_CASE("a template that would run, grow or nest without end is stopped") {
  const std::string loops =
      "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}";
  CHECK(Render(loops).find("too long") != std::string::npos);
  CHECK(Render("{{ 'x' * 10000000000 }}").find("too long") != std::string::npos);
  CHECK(Render("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}").find("recursion") !=
        std::string::npos);
  const std::string nest =
      "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor "
      "%}";
  CHECK(Render(nest + "{{ ns.x|tojson }}").find("nested too deeply") != std::string::npos);
  CHECK(Render(nest + "{{ ns.x|string|length }}") == "200000");
  const auto repeat = [](std::string_view text, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) result += text;
    return result;
  };
  CHECK(Render("{{ " + repeat("-", 100'000) + "1 }}").find("too long") != std::string::npos);
  CHECK(Render("{{ " + repeat("1~", 5'000) + "1 }}").find("too long") != std::string::npos);
  CHECK(Render("{{ " + repeat("(", 5'000)).find("line 1") != std::string::npos);
  CHECK(Render(repeat("{% if 1 %}", 5'000)).find("recursion") != std::string::npos);
  CHECK(Render("{% if 0 %}" + repeat("{% elif 0 %}", 9'000) + "{% endif %}").empty());
  CHECK(Render(std::string(1 << 20, 'x')).find("at most") != std::string::npos);
}

TEST_CASE("a tokenizer's template comes with its special tokens") {
  VocabularyForTests made;
  FillMerges(made);
  const auto none = ChatTemplate::FromTokenizer(*Tokenizer::FromGguf(*made));
  CHECK(none.error().code == ErrorCode::kNotFound);
  made->chat_template = "{{ bos_token }}{{ eos_token }}";
  const auto tokenizer = Tokenizer::FromGguf(*made);
  const auto chat_template = ChatTemplate::FromTokenizer(*tokenizer);
  CHECK(*chat_template->Render(kMessages) == "<|im_start|><|im_end|>");
  CHECK_FALSE(ChatTemplate::FromTokenizer(*tokenizer, "tool_use").has_value());
}

}  // namespace
}  // namespace cairn
