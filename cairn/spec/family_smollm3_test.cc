#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("smollm3 leaves out the rotation where no_rope_layers is 0") {
  const ModelSpec model = GoldenModel("smollm3");
  REQUIRE_EQ(model.layers.size(), 6);
  CHECK(model.tied_head);
  for (size_t i = 0; i < 6; ++i) {
    CHECK_EQ(AttentionOf(model, i).rope.has_value(), i % 3 != 2);
    CHECK_EQ(AttentionOf(model, i).lifetime, Lifetime::All());
  }
  CHECK_EQ(AttentionOf(model, 0).rope->base, 2000000);
}

TEST_CASE("without a list every fourth smollm3 layer has no rotation") {
  const ModelSpec model = ModelFromJson(SmallConfig("smollm3"));
  for (size_t i = 0; i < 4; ++i) CHECK_EQ(AttentionOf(model, i).rope.has_value(), i != 3);
  const ModelSpec every_second =
      ModelFromJson(SmallConfig("smollm3", R"("no_rope_layer_interval": 2)"));
  for (size_t i = 0; i < 4; ++i) {
    CHECK_EQ(AttentionOf(every_second, i).rope.has_value(), i % 2 == 0);
  }
}

TEST_CASE("smollm3 slides only when the switch is on") {
  const auto lifetime = [](const std::string& more, size_t layer) {
    return AttentionOf(ModelFromJson(SmallConfig("smollm3", R"("sliding_window": 64)" + more)),
                       layer)
        .lifetime;
  };
  const Lifetime window = Lifetime::Window(TokenCount(64));
  CHECK_EQ(lifetime("", 3), Lifetime::All());
  CHECK_EQ(lifetime(R"(, "use_sliding_window": true)", 3), window);
  CHECK_EQ(lifetime(R"(, "use_sliding_window": true)", 0), Lifetime::All());
  const std::string types = R"(, "layer_types": ["sliding_attention", "full_attention",
      "full_attention", "full_attention"])";
  CHECK_EQ(lifetime(types, 0), Lifetime::All());
  CHECK_EQ(lifetime(types + R"(, "use_sliding_window": true)", 0), window);
  CHECK_EQ(lifetime(types + R"(, "use_sliding_window": true)", 3), Lifetime::All());
}

TEST_CASE("a list of another length is refused") {
  CHECK_EQ(ConfigError(SmallConfig("smollm3", R"("no_rope_layers": [1, 1, 0])")),
           "config.json: no_rope_layers is a list of 3, expected a list of 4, each an integer "
           "from 0 to 1");
}

TEST_CASE("a smollm3 GGUF has no rotation on every fourth layer and interleaved pairs elsewhere") {
  const ModelSpec model = FakeGguf("smollm3").Model();
  for (size_t i = 0; i < 4; ++i) CHECK_EQ(AttentionOf(model, i).rope.has_value(), i != 3);
  CHECK_EQ(AttentionOf(model, 0).rope->pairs, RopePairs::kInterleaved);
}

}  // namespace cairn
