#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("Zaya keeps what two convolutions reach back to, and half a token's values") {
  const ModelSpec model = ModelFromJson(SmallConfig("zaya", R"("num_experts": 4,
      "moe_intermediate_size": 24, "sliding_window": 16, "cca_time0": 3,
      "layer_types": ["hybrid", "hybrid_sliding", "hybrid", "hybrid_sliding"])"));
  CHECK_EQ(KindsOf(model), "full sliding full sliding");
  CHECK_EQ(FixedBytes(model), 4 * 2 * ((4 + 2) * 16 * 3 + 2 * 16 / 2));
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 2 * 16 * 2);
}

TEST_CASE(
    "Zaya turns half of each head, with a base for each kind of layer, and picks one expert") {
  const std::string experts = R"("num_experts": 4, "moe_intermediate_size": 24,
      "sliding_window": 16, "router_hidden_size": 32,
      "layer_types": ["hybrid", "hybrid_sliding", "hybrid", "hybrid_sliding"])";
  const ModelSpec model = ModelFromJson(SmallConfig("zaya", experts));
  CHECK_EQ(model.sizing_only, "");
  CHECK(std::holds_alternative<ChannelScalesSpec>(model.residual));
  CHECK_EQ(AttentionOf(model, 0).rope->width, 8);
  CHECK_EQ(AttentionOf(model, 0).rope->base, 5000000);
  CHECK_EQ(AttentionOf(model, 1).rope->base, 10000);
  CHECK_EQ(std::get<MixtureSpec>(model.layers[0].feed_forward).router.network_width, 32);
  CHECK_NE(ModelFromJson(SmallConfig("zaya", experts + R"(, "lm_head_bias": true)")).sizing_only,
           "");
}

TEST_CASE("a sliding layer without a window is an error, like a kind that isn't Zaya's") {
  const std::string rest = R"("num_experts": 4, "layer_types": ["hybrid", "hybrid", "hybrid", )";
  CHECK_EQ(ConfigError(SmallConfig("zaya", rest + R"("hybrid_sliding"])")),
           "config.json: sliding_window is missing");
  CHECK_EQ(
      ConfigError(SmallConfig("zaya", rest + R"("full_attention"])")),
      "config.json: layer_types is a list of 4, expected hybrid or hybrid_sliding for each layer");
}

}  // namespace cairn
