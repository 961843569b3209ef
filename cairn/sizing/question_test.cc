#include "cairn/sizing/question.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

std::string ErrorOf(std::string_view json) {
  const auto request = SizeRequestFromJson(json);
  REQUIRE_FALSE(request.has_value());
  CHECK(request.error().IsBadInput());
  return request.error().message;
}

TEST_CASE("a question written and read is the same question") {
  SizeRequest request;
  request.question.codecs = {.keys = DType::kQ8_0,
                             .values = DType::kF8E4M3,
                             .convolutions = DType::kBF16,
                             .recurrent = DType::kF16};
  request.question.batch = 12;
  request.question.tokens = {TokenCount(1), TokenCount(int64_t{1} << 40)};
  request.question.requests = {{.count = 3, .tokens = TokenCount(9)}};
  request.question.shared_prefix = TokenCount(5);
  request.parallel = {.tp = 2, .pp = 3, .dp = 4, .ep = 5, .dcp = 6, .stage_layers = {1, 2, 3}};
  request.weights_dtype = "fp8";
  request.gpu = "H100x4";
  request.memory_fraction = 0.1;
  request.memory_gib = 80;
  request.bandwidth_gbs = 3350.5;
  request.tflops = 989;
  request.link = "pcie5";
  request.chunk_tokens = 512;
  request.prompt = 4096;
  request.cached = 1024;
  request.share_overhead = true;
  request.fleet = true;
  const std::string json = SizeRequestJson(request);
  const auto read = SizeRequestFromJson(json);
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  CHECK(read->question.tokens == request.question.tokens);
  CHECK(read->question.requests == request.question.requests);
  CHECK(read->parallel == request.parallel);
  CHECK(read->question.codecs.convolutions == DType::kBF16);
  CHECK(read->question.codecs.recurrent == DType::kF16);
  CHECK(read->memory_fraction == 0.1);
  CHECK(read->link == "pcie5");
  CHECK(read->cached == 1024);
  CHECK(read->fleet);
  CHECK(SizeRequestJson(*read) == json);
}

TEST_CASE("what is left out has the command line's default") {
  CHECK(SizeRequestJson(*SizeRequestFromJson("{}")) == SizeRequestJson(SizeRequest()));
}

TEST_CASE("one type stands for keys and values, a type of its own beats it") {
  const auto both = SizeRequestFromJson(R"({"kv-dtype": "fp8", "cache-type-v": "bf16"})");
  REQUIRE(both.has_value());
  CHECK(both->question.codecs.keys == DType::kF8E4M3);
  CHECK(both->question.codecs.values == DType::kBF16);
}

TEST_CASE("every codec is known by its own name") {
  for (const DType codec : SizedCodecs()) {
    const auto read = SizedCodecFromName("--kv-dtype", InfoOf(codec).name);
    REQUIRE(read.has_value());
    CHECK(*read == codec);
  }
}

TEST_CASE("errors name the member and what was found") {
  CHECK(ErrorOf("").find("not JSON") != std::string::npos);
  CHECK(ErrorOf("[]").find("a JSON object") != std::string::npos);
  CHECK(ErrorOf(R"({"bach": 1})").find("bach") != std::string::npos);
  CHECK(ErrorOf(R"({"batch": "x"})").find("batch is \"x\"") != std::string::npos);
  CHECK(ErrorOf(R"({"context": 5})").find("context") != std::string::npos);
  CHECK(ErrorOf(R"({"context": [1.5]})").find("context[0] is 1.5") != std::string::npos);
  CHECK(ErrorOf(R"({"requests": [3]})").find("requests") != std::string::npos);
  CHECK(ErrorOf(R"({"tp": 5000000000})").find("tp is 5000000000") != std::string::npos);
  CHECK(ErrorOf(R"({"kv-dtype": "q4_k"})").starts_with("kv-dtype q4_k: no such state type"));
}

}  // namespace
}  // namespace cairn
