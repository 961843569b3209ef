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
