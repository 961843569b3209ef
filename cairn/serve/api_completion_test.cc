#include "cairn/serve/api_completion.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

const AnswerDefaults kDefaults = {.vocabulary = 100, .max_answers = 4};

ApiResult<CompletionRequest> Parse(std::string_view text) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  REQUIRE(body);
  return ParseCompletionRequest(*body, kDefaults);
}

std::string ProblemOf(std::string_view text) {
  const auto parsed = Parse(text);
  return parsed ? "none" : parsed.error().message;
}

TEST_CASE("a prompt is a text, token ids, or several of these") {
  CHECK(std::get<std::string>(Parse(R"({"prompt":"a"})")->prompts.front()) == "a");
  const auto tokens = Parse(R"({"prompt":[1,2,3]})");
  CHECK(std::get<std::vector<TokenId>>(tokens->prompts.front()).size() == 3);
  const auto several = Parse(R"({"prompt":["a",[4,5]]})");
  REQUIRE(several->prompts.size() == 2);
  CHECK(std::get<std::vector<TokenId>>(several->prompts[1])[1] == TokenId(5));
}

TEST_CASE("a prompt that is none names its place") {
  CHECK(ProblemOf("{}") == "prompt: is missing");
  CHECK(ProblemOf(R"({"prompt":[]})") == "prompt: must hold 1 to 1024 prompts");
  CHECK(ProblemOf(R"({"prompt":{}})").starts_with("prompt: must be a text"));
  CHECK(ProblemOf(R"({"prompt":[1,100]})") == "prompt: 100 is no token id of this model");
  CHECK(ProblemOf(R"({"prompt":["a",[-1]]})") == "prompt[1]: -1 is no token id of this model");
  CHECK(ProblemOf(R"({"prompt":["a",null]})") == "prompt[1]: must be a text or token ids");
  CHECK(ProblemOf(R"({"prompt":["a",[]]})") == "prompt[1]: must be a text or token ids");
}

TEST_CASE("the limit is OpenAI's where none is given") {
  CHECK(Parse(R"({"prompt":"a"})")->options.max_tokens == 16);
  CHECK(Parse(R"({"prompt":"a","max_tokens":3})")->options.max_tokens == 3);
}

TEST_CASE("prompts times n is bounded") {
  CHECK(Parse(R"({"prompt":["a","b"],"n":2})"));
  CHECK(ProblemOf(R"({"prompt":["a","b"],"n":3})") == "n: 6 answers; one request may ask for 4");
}

TEST_CASE("what isn't supported is refused by name") {
  CHECK(ProblemOf(R"({"prompt":"a","suffix":"b"})") == "suffix: isn't supported");
  CHECK(ProblemOf(R"({"prompt":"a","best_of":2})") ==
        "best_of: isn't supported unless it equals n");
  CHECK(ProblemOf(R"({"prompt":"a","echo":true,"logprobs":1})").starts_with("echo:"));
  CHECK(Parse(R"({"prompt":"a","logprobs":0})")->options.wants_logprobs);
}

TEST_CASE("tokenize needs a text, detokenize token ids of the model") {
  const auto body = [](std::string_view text) { return *JsonNode::Parse(text); };
  CHECK(ParseTokenizeRequest(body(R"({"content":"x","add_special":true})"))->add_special);
  CHECK(ParseTokenizeRequest(body("{}")).error().message == "content: is missing");
  CHECK(ParseDetokenizeRequest(body(R"({"tokens":[1,99]})"), 100)->size() == 2);
  CHECK(ParseDetokenizeRequest(body(R"({"tokens":[]})"), 100)->empty());
  CHECK(ParseDetokenizeRequest(body(R"({"tokens":[1.5]})"), 100).error().message ==
        "tokens: 1.5 is no token id of this model");
}

}  // namespace
}  // namespace cairn
