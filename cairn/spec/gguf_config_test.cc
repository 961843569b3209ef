#include "cairn/spec/gguf_config.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("the keys of a file are written in the words of a config.json") {
  FakeGguf file("deepseek4");
  file.Set("attention.head_count_kv", 1);
  file.Set("attention.sliding_window", 16);
  file.Set("attention.indexer.key_length", 8);
  file.Set("attention.compress_ratios", std::vector<int64_t>{0, 4, 128, 4, 0});
  const GgufKeys keys(file.metadata, "deepseek4");
  const auto json = ConfigFromGguf(keys, *ReadGgufFrame(keys), "deepseek_v4");
  REQUIRE_MESSAGE(json.has_value(), (json ? "" : json.error().message));
  const auto config = nlohmann::json::parse(json->Text());
  CHECK_EQ(config["model_type"], "deepseek_v4");
  CHECK_EQ(config["num_hidden_layers"], 4);
  CHECK_EQ(config["head_dim"], 16);
  CHECK_EQ(config["sliding_window"], 16);
  CHECK_EQ(config["index_head_dim"], 8);
  CHECK_EQ(config["compress_ratios"], nlohmann::json({0, 4, 128, 4}));
  CHECK_EQ(KindsOf(file.Model()), "sliding v4_csa v4_hca v4_csa");
}

TEST_CASE("fewer ratios than layers are refused") {
  FakeGguf file("deepseek4");
  file.Set("attention.compress_ratios", std::vector<int64_t>{0, 4});
  CHECK_EQ(file.Message(),
           "m.gguf: key deepseek4.attention.compress_ratios is 2, expected at least 4 ratios, one "
           "per layer");
}

}  // namespace cairn
