#include <doctest/doctest.h>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("every mistral layer slides") {
  const ModelSpec model = GoldenModel("mistral_swa");
  CHECK_EQ(model.family, "mistral");
  REQUIRE_EQ(model.layers.size(), 4);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    CHECK_EQ(AttentionOf(model, i).lifetime, Lifetime::Window(TokenCount(12)));
  }
}

TEST_CASE("null turns mistral's window off, an absent key is the class default") {
  const auto lifetime = [](const std::string& more) {
    return AttentionOf(ModelFromJson(SmallConfig("mistral", more)), 0).lifetime;
  };
  CHECK_EQ(lifetime(R"("sliding_window": null)"), Lifetime::All());
  CHECK_EQ(lifetime(""), Lifetime::Window(TokenCount(4096)));
}

TEST_CASE("a window that can't bind within the context is no window") {
  const auto lifetime = [](const std::string& more) {
    return AttentionOf(ModelFromJson(SmallConfig("mistral", more)), 0).lifetime;
  };
  CHECK_EQ(lifetime(R"("sliding_window": 32768)"), Lifetime::All());
  CHECK_EQ(lifetime(R"("sliding_window": 32767)"), Lifetime::Window(TokenCount(32767)));
}

TEST_CASE("mistral has no biases whatever the config says") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("mistral", R"("attention_bias": true, "mlp_bias": true)"));
  CHECK_FALSE(AttentionOf(model, 0).qkv_bias);
  CHECK_FALSE(MlpOf(model, 0).bias);
}

TEST_CASE("a window of zero or a string is refused") {
  CHECK_EQ(ConfigError(SmallConfig("mistral", R"("sliding_window": 0)")),
           "config.json: sliding_window is 0, expected an integer from 1 to 268435456");
  CHECK_EQ(ConfigError(SmallConfig("mistral", R"("sliding_window": "4096")")),
           "config.json: sliding_window is \"4096\", expected an integer from 1 to 268435456");
}

}  // namespace cairn
