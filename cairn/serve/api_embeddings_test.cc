#include "cairn/serve/api_embeddings.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace cairn {
namespace {

using Json = nlohmann::json;

ApiResult<EmbeddingsRequest> Parse(std::string_view text) {
  const Result<JsonNode> body = JsonNode::Parse(text);
  REQUIRE(body);
  return ParseEmbeddingsRequest(*body, 100, 8);
}

std::string ProblemOf(std::string_view text) {
  const auto parsed = Parse(text);
  return parsed ? "none" : parsed.error().message;
}

TEST_CASE("input is a text, token ids, or several of these") {
  CHECK(std::get<std::string>(Parse(R"({"input":"a"})")->inputs.front()) == "a");
  CHECK(std::get<std::vector<TokenId>>(Parse(R"({"input":[1,2]})")->inputs.front()).size() == 2);
  CHECK(Parse(R"({"input":["a",[3],"b"]})")->inputs.size() == 3);
  CHECK(ProblemOf("{}") == "input: is missing");
  CHECK(ProblemOf(R"({"input":[]})") == "input: must hold 1 to 2048 inputs");
  CHECK(ProblemOf(R"({"input":[100]})") == "input: 100 is no token id of this model");
}

TEST_CASE("dimensions are those of the model at most, and forms the two that there are") {
  const auto given = Parse(R"({"input":"a","dimensions":8,"encoding_format":"base64"})");
  CHECK(given->dimensions == 8);
  CHECK(given->as_base64);
  CHECK_FALSE(Parse(R"({"input":"a","encoding_format":"float"})")->as_base64);
  CHECK(ProblemOf(R"({"input":"a","dimensions":9})").starts_with("dimensions:"));
  CHECK(ProblemOf(R"({"input":"a","dimensions":0})").starts_with("dimensions:"));
  CHECK(ProblemOf(R"({"input":"a","encoding_format":"int8"})").starts_with("encoding_format:"));
}

TEST_CASE("embeddings have length one, those that were cut, too, and zeros stay zeros") {
  CHECK(NormalizedEmbedding({3, -4}, 0) == std::vector<float>{0.6f, -0.8f});
  CHECK(NormalizedEmbedding({3, -4, 12}, 2) == std::vector<float>{0.6f, -0.8f});
  CHECK(NormalizedEmbedding({0, 0}, 0) == std::vector<float>{0, 0});
  // Whose squares no float would hold.
  const std::vector<float> large = NormalizedEmbedding({3e30f, -4e30f}, 0);
  CHECK(std::abs(large[0] - 0.6f) < 1e-6f);
}

TEST_CASE("the answer has each embedding at its place, as numbers or as their bytes") {
  for (const bool as_base64 : {false, true}) {
    EmbeddingsRequest request;
    request.inputs.resize(2);
    request.as_base64 = as_base64;
    const auto renderer = MakeEmbeddingsRenderer({.model = "m"}, request);
    CHECK(renderer->Piece(1, {}).empty());
    CHECK(renderer->End(1, {.embedding = {0, 2}}).empty());
    CHECK(renderer->End(0, {.embedding = {-5, 0}}).empty());
    AnswerUsage usage;
    usage.prompt_tokens = 7;
    const Json answer = Json::parse(renderer->Finish(usage));
    CHECK(answer["object"] == "list");
    CHECK(answer["model"] == "m");
    CHECK(answer["usage"] == Json{{"prompt_tokens", 7}, {"total_tokens", 7}});
    const Json expected =
        as_base64 ? Json{"AACAvwAAAAA=", "AAAAAAAAgD8="} : Json{{-1.0, 0.0}, {0.0, 1.0}};
    for (size_t i = 0; i < 2; ++i) {
      CHECK(answer["data"][i]["index"] == i);
      CHECK(answer["data"][i]["object"] == "embedding");
      CHECK(answer["data"][i]["embedding"] == expected[i]);
    }
  }
}

}  // namespace
}  // namespace cairn
