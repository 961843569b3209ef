#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("RWKV keeps a matrix a head and two token shifts") {
  const ModelSpec model = ModelFromJson(SmallConfig("rwkv7", R"("num_heads": null)"));
  CHECK_EQ(KindsOf(model), "rwkv7 rwkv7 rwkv7 rwkv7");
  CHECK_EQ(FixedBytes(model), 4 * (4 * 16 * 16 * 4 + 2 * 64 * 2));
  CHECK_EQ(FixedBytes(ModelFromJson(SmallConfig("rwkv"))), 4 * (3 * 64 * 4 + 2 * 64 * 2));
  CHECK_EQ(ConfigError(SmallConfig("rwkv7", R"("num_heads": 5)")),
           "config.json: num_heads is 5, expected 4 or null");
  CHECK_EQ(ConfigError(SmallConfig("rwkv7", R"("head_dim": 24)")),
           "config.json: head_dim is 24, expected a divisor of 64 channels");
}

TEST_CASE("RWKV 7 counts its low-rank projections, by their keys or by the width") {
  const std::string keys = R"("model_type": "rwkv7", "hidden_size": 2048, "head_dim": 64,
      "num_hidden_layers": 24, "vocab_size": 65536)";
  const ModelSpec written = ModelFromJson(
      "{" + keys + R"(, "a_low_rank_dim": 96, "decay_low_rank_dim": 96, "gate_low_rank_dim": 256,
      "v_low_rank_dim": 64, "intermediate_size": 8192})");
  const ModelSpec derived = ModelFromJson("{" + keys + "}");
  for (const size_t layer : {0, 1}) {
    CHECK_EQ(std::get<RwkvSpec>(written.layers[layer].mixer).parameters,
             std::get<RwkvSpec>(derived.layers[layer].mixer).parameters);
  }
  CHECK_EQ(std::get<RwkvSpec>(written.layers[1].mixer).parameters -
               std::get<RwkvSpec>(written.layers[0].mixer).parameters,
           64 * 2 * 2048 + 2048);
}

}  // namespace cairn
