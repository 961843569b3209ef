#include "cairn/sizing/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

Sizing SizeGolden(const ModelSpec& model, std::optional<WeightTotals> weights = std::nullopt) {
  const auto sizing =
      SizeModel(model, {.batch = 2, .tokens = {TokenCount(5), TokenCount(4096)}}, weights);
  REQUIRE_MESSAGE(sizing.has_value(), sizing.error().message);
  return *sizing;
}

}  // namespace

TEST_CASE("the JSON report carries the sizing's numbers under lasting names") {
  const ModelSpec model = GoldenModel("gemma3_text");
  const Json json = Json::parse(SizingJson("a/b", model, SizeGolden(model)));
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
  const Json layers = Json::parse(SizingJson("m", shared, SizeGolden(shared))).at("layers");
  REQUIRE_EQ(layers.size(), 2);
  CHECK_EQ(layers.at(0).at("k"), 32);
  CHECK_EQ(layers.at(0).at("v"), 32);
  CHECK_EQ(layers.at(1).at("kind"), "reuse");
  CHECK_EQ(layers.at(1).at("indices"), Json({{1, 1}, {3, 3}}));
  CHECK_EQ(layers.at(1).at("sources"), Json({0, 2}));
  CHECK_EQ(layers.at(1).at("k"), 0);

  const ModelSpec rwkv = ModelFromJson(SmallConfig("rwkv7"));
  const Json json = Json::parse(SizingJson("m", rwkv, SizeGolden(rwkv)));
  CHECK_EQ(json.at("layers").at(0).at("states"),
           Json({{"shift", 128, "bf16"}, {"wkv", 1024, "f32"}}));
  CHECK_EQ(json.at("state_bytes"), 2 * 4 * (1024 * 4 + 128 * 2));
  CHECK_EQ(json.at("kv_bytes"), 0);
  CHECK(json.at("parameters").is_null());
  CHECK_EQ(json.at("parameters_note"), "not all of its weights are described");
}

TEST_CASE("a line of JSON is the report without line breaks, and an error has one too") {
  const ModelSpec model = GoldenModel("llama_mha");
  const std::string line = SizingJsonLine("m", model, SizeGolden(model));
  CHECK_EQ(line.find('\n'), line.size() - 1);
  CHECK_EQ(Json::parse(line), Json::parse(SizingJson("m", model, SizeGolden(model))));
  CHECK_EQ(ErrorJsonLine("m", {ErrorCode::kCorrupt, "not JSON"}),
           "{\"model\":\"m\",\"error\":\"not JSON\"}\n");
}

TEST_CASE("weights count where the file tells their size") {
  const ModelSpec model = GoldenModel("llama_mha");
  const auto report = [&](std::optional<Bytes> bytes) {
    const Sizing sizing = SizeGolden(model, WeightTotals{ElementCount(9), bytes});
    return Json::parse(SizingJson("m", model, sizing));
  };
  CHECK_EQ(report(Bytes(77)).at("weights_bytes"), 77);
  CHECK_EQ(report(Bytes(77)).at("parameters"), 9);
  CHECK(report(std::nullopt).at("weights_bytes").is_null());
}

TEST_CASE("a name of any bytes still gives valid JSON") {
  const ModelSpec model = GoldenModel("llama_mha");
  CHECK(Json::accept(SizingJson("a\xff\"\n", model, SizeGolden(model))));
}

TEST_CASE("the text report is a table with the totals last") {
  const ModelSpec model = GoldenModel("gemma3_text");
  const WeightTotals weights = {ElementCount(1234567), Bytes(3 * 1024 * 1024)};
  CHECK_EQ(SizingText("m", model, SizeGolden(model, weights)),
           "m: gemma3, 7 layers, context 512\n"
           "parameters       1,234,567 in 3,145,728 bytes (3.00 MiB)\n"
           "state per token  128 bytes\n"
           "state fixed      0 bytes per request\n"
           "\n"
           "layers      kind       kept by each                        bytes per token\n"
           "0-4, 6 (6)  sliding 8  keys 2 x 16 f16, values 2 x 16 f16  0\n"
           "5 (1)       full       keys 2 x 16 f16, values 2 x 16 f16  128\n"
           "\n"
           "context  batch  state                       allocated in blocks\n"
           "5        2      8,960 bytes (8.75 KiB)      28,672 bytes (28.00 KiB)\n"
           "4,096    2      1,059,328 bytes (1.01 MiB)  1,073,152 bytes (1.02 MiB)\n");
}

}  // namespace cairn
