#include "cairn/sizing/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

SizeReport ReportOf(const ModelSpec& model, std::optional<WeightTotals> weights = std::nullopt,
                    const char* name = "m") {
  auto report =
      AnswerSizeRequest({.name = name, .spec = model, .weights = weights},
                        {.question = {.batch = 2, .tokens = {TokenCount(5), TokenCount(4096)}}});
  REQUIRE_MESSAGE(report.has_value(), report.error().message);
  return *std::move(report);
}

Json JsonOf(const SizeReport& report) { return Json::parse(ReportJson(report, 2)); }

}  // namespace

TEST_CASE("the JSON report carries the sizing's numbers under lasting names") {
  const ModelSpec model = GoldenModel("gemma3_text");
  const Json json = JsonOf(ReportOf(model, std::nullopt, "a/b"));
  CHECK_EQ(json.at("model"), "a/b");
  CHECK_EQ(json.at("family"), "gemma3");
  CHECK_EQ(json.at("context_length"), 512);
  CHECK(json.at("weights_bytes").is_null());
  CHECK_EQ(json.at("kv_dtype"), Json({{"keys", "f16"}, {"values", "f16"}}));
  CHECK_EQ(json.at("elements_per_token"), 64);
  CHECK_EQ(json.at("bytes_per_token"), 128);
  CHECK_EQ(json.at("fixed_bytes_per_request"), 0);
  // 2 requests of 7 rows in 6 sliding layers and 4,096 in the full one, 128 bytes each.
  const Json& long_one = json.at("sizes").at(1);
  CHECK_EQ(long_one.at("tokens"), 4096);
  CHECK_EQ(long_one.at("batch"), 2);
  CHECK(long_one.at("exceeds_context_length").get<bool>());
  CHECK_FALSE(json.at("sizes").at(0).at("exceeds_context_length").get<bool>());
  CHECK_EQ(long_one.at("content_bytes"), 2 * 128 * (6 * 7 + 4096));
  CHECK_EQ(long_one.at("content_elements"), 2 * 64 * (6 * 7 + 4096));
  CHECK_EQ(long_one.at("per_request").at("content_bytes"), 128 * (6 * 7 + 4096));
  CHECK_GE(long_one.at("allocated_bytes"), long_one.at("content_bytes"));
  // There must be room for the token's own row in each window.
  CHECK_EQ(long_one.at("kv_bytes"), 2 * 128 * (6 * 8 + 4096));
  for (const char* key : {"kv_bytes", "state_bytes", "total_bytes"}) {
    CHECK_EQ(json.at(key), long_one.at(key));
  }

  REQUIRE_EQ(json.at("layers").size(), 2);
  const Json& sliding = json.at("layers").at(0);
  CHECK_EQ(sliding.at("kind"), "sliding");
  CHECK_EQ(sliding.at("indices"), Json({{0, 4}, {6, 6}}));
  CHECK_EQ(sliding.at("count"), 6);
  CHECK_EQ(sliding.at("bytes_per_token"), 0);
  const Json& keys = sliding.at("components").at(0);
  CHECK_EQ(keys, Json({{"kind", "rows"},
                       {"name", "keys"},
                       {"heads", 2},
                       {"width", 16},
                       {"elements_per_row", 32},
                       {"tokens_per_row", 1},
                       {"lifetime", "sliding"},
                       {"window", 8},
                       {"codec", "f16"},
                       {"bytes_per_row", 64}}));
  CHECK_EQ(json.at("layers").at(1).at("kind"), "full");
  CHECK_EQ(json.at("layers").at(1).at("sizes").at(1).at("content_bytes"), 2 * 128 * 4096);
}

TEST_CASE("layers that read others are one group that names them, fixed states are listed") {
  const ModelSpec shared =
      ModelFromJson(SmallConfig("hunyuan", R"("use_cla": true, "cla_share_factor": 2)"));
  const Json layers = JsonOf(ReportOf(shared)).at("layers");
  REQUIRE_EQ(layers.size(), 2);
  CHECK_EQ(layers.at(0).at("k"), 32);
  CHECK_EQ(layers.at(0).at("v"), 32);
  CHECK_EQ(layers.at(1).at("kind"), "reuse");
  CHECK_EQ(layers.at(1).at("indices"), Json({{1, 1}, {3, 3}}));
  CHECK_EQ(layers.at(1).at("sources"), Json({0, 2}));
  CHECK_EQ(layers.at(1).at("k"), 0);

  const ModelSpec rwkv = ModelFromJson(SmallConfig("rwkv6"));
  const Json json = JsonOf(ReportOf(rwkv));
  CHECK_EQ(json.at("layers").at(0).at("states"),
           Json({{"shift", 128, "f16"}, {"wkv", 1024, "f32"}}));
  CHECK_EQ(json.at("state_bytes"), 2 * 4 * (1024 * 4 + 128 * 2));
  CHECK_EQ(json.at("kv_bytes"), 0);
  CHECK(json.at("parameters").is_null());
  CHECK_EQ(json.at("parameters_note"), "its low-rank mixes aren't described");
}

TEST_CASE("a line of JSON is the report without line breaks, and an error has one too") {
  const ModelSpec model = GoldenModel("llama_mha");
  const std::string line = ReportJson(ReportOf(model), -1);
  CHECK_EQ(line.find('\n'), line.size() - 1);
  CHECK_EQ(Json::parse(line), JsonOf(ReportOf(model)));
  CHECK_EQ(ErrorJsonLine("m", {ErrorCode::kCorrupt, "not JSON"}),
           "{\"model\":\"m\",\"error\":\"not JSON\"}\n");
}

TEST_CASE("weights count where the file tells their size") {
  const ModelSpec model = GoldenModel("llama_mha");
  const auto report = [&](std::optional<Bytes> bytes) {
    return JsonOf(ReportOf(model, WeightTotals{ElementCount(9), bytes}));
  };
  CHECK_EQ(report(Bytes(77)).at("weights_bytes"), 77);
  CHECK_EQ(report(Bytes(77)).at("parameters"), 9);
  CHECK(report(std::nullopt).at("weights_bytes").is_null());
}

TEST_CASE("a name of any bytes still gives valid JSON") {
  const ModelSpec model = GoldenModel("llama_mha");
  CHECK(Json::accept(ReportJson(ReportOf(model, std::nullopt, "a\xff\"\n"), 2)));
}

TEST_CASE("the page names what calculators name and closes with the total") {
  const ModelSpec model = GoldenModel("gemma3_text");
  const WeightTotals weights = {ElementCount(1234567), Bytes(3 * 1024 * 1024)};
  const std::string text = ReportText(ReportOf(model, weights), {});
  CHECK(text.starts_with("m\n  family                gemma3\n"));
  for (const char* line : {"  weights in the file   3,145,728 bytes (3.00 MiB)\n",
                           "  layers                7\n", "  num_kv_heads          2\n",
                           "  head_dim              16\n", "  per_token_bytes       128\n",
                           "  per_token_kib         0.1\n", "  5           1  full       "}) {
    CHECK_MESSAGE(text.find(line) != std::string::npos, line << text);
  }
  CHECK(text.ends_with("  total           0.0010 GiB (0.0011 GB) for 4096 tokens, batch=2\n"));
}

TEST_CASE("divided models show what a card of each stage keeps, in all formats") {
  const auto report = AnswerSizeRequest(
      {.name = "m", .spec = GoldenModel("llama_gqa")},
      {.question = {.tokens = {TokenCount(100)}}, .parallel = {.tp = 2, .pp = 2}});
  REQUIRE(report.has_value());
  const Json stages = JsonOf(*report).at("parallel").at("stages");
  REQUIRE_EQ(stages.size(), 2);
  const int64_t whole = JsonOf(*report).at("total_bytes");
  int64_t sum = 0;
  for (const Json& stage : stages)
    sum += 2 * stage.at("sizes").at(0).at("total_bytes").get<int64_t>();
  CHECK_EQ(sum, whole);
  CHECK(ReportText(*report, {}).find("State of a card (tp 2, pp 2") != std::string::npos);
  CHECK(ReportMarkdown(*report, false).find("| a card keeps |") != std::string::npos);
  CHECK(ReportCsv(*report).find("\ncards,stages,0,") != std::string::npos);
}

TEST_CASE("further answers join the JSON under their own names") {
  SizeReport report = ReportOf(GoldenModel("llama_mha"));
  report.sections.push_back(
      {.key = "budget",
       .title = "Budget",
       .fields = {{.key = "left_bytes", .label = "left", .value = int64_t{7}}}});
  report.warnings = {"mind this"};
  const Json json = JsonOf(report);
  CHECK_EQ(json.at("budget").at("left_bytes"), 7);
  CHECK_EQ(json.at("warnings"), Json({"mind this"}));
  CHECK_EQ(json.at("explain").size(), 3);
}

}  // namespace cairn
