#include "cairn/serve/answer_options.h"

#include <doctest/doctest.h>

#include <limits>

namespace cairn {
namespace {

const AnswerDefaults kDefaults = {.vocabulary = 1000, .max_answers = 8, .seed = 77};

AnswerOptions Read(std::string_view text) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  REQUIRE(body);
  ApiFields fields(*body, "");
  AnswerOptions options = ReadOpenAiOptions(fields, kDefaults);
  const std::string problem = fields.ok() ? "" : fields.problem()->message;
  CHECK(problem == "");
  return options;
}

std::string ProblemOf(std::string_view text) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  REQUIRE(body);
  ApiFields fields(*body, "");
  ReadOpenAiOptions(fields, kDefaults);
  return fields.ok() ? "none" : fields.problem()->message;
}

TEST_CASE("what a request leaves out is the server's own") {
  const AnswerOptions options = Read("{}");
  CHECK(options.sampling.temperature == 0.8);
  CHECK(options.sampling.top_k == 40);
  CHECK(options.sampling.seed == 77);
  CHECK(options.answers == 1);
  CHECK_FALSE(options.stream);
  CHECK(options.max_tokens == std::nullopt);
}

TEST_CASE("a token policy holds where the request or the server names one, and none is one, too") {
  CHECK(Read("{}").policy == std::nullopt);
  CHECK(Read(R"({"token_policy":"snapkv:keep=0.25"})").policy->Name() == "snapkv:keep=0.25");
  CHECK(ProblemOf(R"({"token_policy":"snap"})").find("snapkv") != std::string::npos);
  const auto under = [](std::string_view text) {
    const Result<JsonNode> body = JsonNode::Parse(text);
    REQUIRE(body);
    ApiFields fields(*body, "");
    AnswerDefaults defaults = kDefaults;
    defaults.policy = *PolicySettings::Parse("streaming");
    return ReadOpenAiOptions(fields, defaults).policy;
  };
  CHECK(under("{}")->Name() == "streaming");
  CHECK(under(R"({"token_policy":"none"})") == std::nullopt);
}

TEST_CASE("sampling fields are taken, by the names of all servers") {
  const AnswerOptions options = Read(
      R"({"temperature":0,"top_k":-1,"top_p":0,"min_p":0.2,"seed":5,"repetition_penalty":1.5})");
  CHECK(options.sampling.temperature == 0);
  CHECK(options.sampling.top_k == 0);
  CHECK(options.sampling.top_p > 0);
  CHECK(options.sampling.min_p == 0.2);
  CHECK(options.sampling.seed == 5);
  CHECK(options.sampling.repetition_penalty == 1.5);
  CHECK(CheckSamplingOptions(options.sampling));
  CHECK(Read(R"({"seed":-1})").sampling.seed == 77);
}

TEST_CASE("stop is a text or several") {
  CHECK(Read(R"({"stop":"a"})").stops == std::vector<std::string>{"a"});
  CHECK(Read(R"({"stop":["a","b"]})").stops.size() == 2);
  CHECK(ProblemOf(R"({"stop":[""]})") == "stop: an empty text would stop every answer");
  CHECK(ProblemOf(R"({"stop":[1]})") == "stop: must hold strings, not a whole number");
  CHECK(ProblemOf(R"({"stop":{}})") == "stop: must be an array, not an object");
}

TEST_CASE("logit_bias is taken as OpenAI and as llama-server write it, by rising id") {
  const AnswerOptions options = Read(R"({"logit_bias":{"9":1.5,"3":-100}})");
  REQUIRE(options.logit_bias.size() == 2);
  CHECK(options.logit_bias[0].first == TokenId(3));
  CHECK(options.logit_bias[0].second == -std::numeric_limits<float>::infinity());
  CHECK(options.logit_bias[1].second == 1.5f);
  CHECK(Read(R"({"logit_bias":[[4,2],[5,false]]})").logit_bias.size() == 2);
  CHECK(ProblemOf(R"({"logit_bias":{"1000":1}})") ==
        "logit_bias: a key is no token id of this model");
  CHECK(ProblemOf(R"({"logit_bias":{"-1":1}})").starts_with("logit_bias"));
  CHECK(ProblemOf(R"({"logit_bias":{"1":101}})").starts_with("logit_bias: a value"));
  CHECK(ProblemOf(R"({"logit_bias":{"1":1,"1":2}})") == "logit_bias: names a token twice");
  CHECK(ProblemOf(R"({"logit_bias":[[1]]})").starts_with("logit_bias: an item"));
}

TEST_CASE("a format may ask for JSON, and for a schema by its name") {
  CHECK(Read(R"({"response_format":{"type":"text"}})").format.kind == AnswerFormat::Kind::kText);
  CHECK(Read(R"({"response_format":{"type":"json_object"}})").format.kind ==
        AnswerFormat::Kind::kJsonObject);
  const AnswerOptions options = Read(R"({"response_format":{"type":"json_schema",)"
                                     R"("json_schema":{"name":"x","schema":{"type":"object"}}}})");
  CHECK(options.format.kind == AnswerFormat::Kind::kJsonSchema);
  CHECK(options.format.schema_json == R"({"type":"object"})");
  CHECK(ProblemOf(R"({"response_format":{"type":"xml"}})")
            .starts_with("response_format.type: \"xml\" is none of"));
  CHECK(ProblemOf(R"({"response_format":{"type":"json_schema"}})") ==
        "response_format.json_schema: is missing");
  CHECK(ProblemOf(R"({"response_format":{"type":"json_schema","json_schema":{}}})") ==
        "response_format.json_schema.schema: is missing");
}

TEST_CASE("what nothing here can do is refused by name, and its neutral value isn't") {
  CHECK(Read(R"({"frequency_penalty":0,"presence_penalty":0.0})").answers == 1);
  CHECK(ProblemOf(R"({"frequency_penalty":0.5})") ==
        "frequency_penalty: isn't supported; repeat_penalty is");
  CHECK(ProblemOf(R"({"audio":{"voice":"x"}})") == "audio: isn't supported");
  CHECK(ProblemOf(R"({"n":9})") == "n: 9 isn't within 1 and 8");
  CHECK(ProblemOf(R"({"n":0})") == "n: 0 isn't within 1 and 8");
}

TEST_CASE("usage in a stream needs a stream") {
  CHECK(Read(R"({"stream":true,"stream_options":{"include_usage":true}})").stream_usage);
  CHECK(ProblemOf(R"({"stream_options":{"include_usage":true}})") ==
        "stream_options: needs \"stream\": true");
  CHECK(ProblemOf(R"({"stream":true,"stream_options":{"include_usage":1}})") ==
        "stream_options.include_usage: must be true or false, not a whole number");
}

}  // namespace
}  // namespace cairn
