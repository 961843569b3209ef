#include <doctest/doctest.h>

#include <cmath>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("gemma2 caps scores and logits, slides on even layers and scales by its own scalar") {
  const ModelSpec model = GoldenModel("gemma2");
  CHECK_EQ(model.family, "gemma2");
  CHECK_EQ(model.logit_cap, 6);
  REQUIRE_EQ(model.layers.size(), 4);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    CHECK_EQ(AttentionOf(model, i).score_cap, 2);
    CHECK_EQ(AttentionOf(model, i).scale, doctest::Approx(1 / std::sqrt(24.0)).epsilon(1e-15));
    CHECK_EQ(AttentionOf(model, i).lifetime,
             i % 2 == 0 ? Lifetime::Window(TokenCount(8)) : Lifetime::All());
    CHECK(model.layers[i].branch_output_norms);
  }
}

TEST_CASE("absent caps are gemma2's class defaults, null ones are none") {
  const ModelSpec absent = ModelFromJson(SmallConfig("gemma2"));
  CHECK_EQ(absent.logit_cap, 30);
  CHECK_EQ(AttentionOf(absent, 0).score_cap, 50);
  CHECK_EQ(AttentionOf(absent, 0).scale, 1.0 / 16);
  CHECK_EQ(AttentionOf(absent, 0).lifetime, Lifetime::Window(TokenCount(4096)));
  const ModelSpec none = ModelFromJson(
      SmallConfig("gemma2", R"("final_logit_softcapping": null, "attn_logit_softcapping": null)"));
  CHECK_EQ(none.logit_cap, 0);
  CHECK_EQ(AttentionOf(none, 0).score_cap, 0);
}

TEST_CASE("a gemma2 GGUF slides on even layers with 4096 and caps at 50 and 30 unless it says so") {
  FakeGguf file("gemma2");
  file.Set("context_length", 8192);
  const ModelSpec model = file.Model();
  CHECK_EQ(AttentionOf(model, 0).lifetime, Lifetime::Window(TokenCount(4096)));
  CHECK_EQ(AttentionOf(model, 1).lifetime, Lifetime::All());
  CHECK_EQ(AttentionOf(model, 0).score_cap, 50);
  CHECK_EQ(AttentionOf(model, 0).scale, 0.25);
  CHECK_EQ(model.logit_cap, 30);
  file.Set("final_logit_softcapping", 20.0);
  file.Set("attention.sliding_window", 128);
  CHECK_EQ(file.Model().logit_cap, 20);
  CHECK_EQ(AttentionOf(file.Model(), 2).lifetime, Lifetime::Window(TokenCount(128)));
  file.Set("attn_logit_softcapping", -1.0);
  CHECK_EQ(file.Message(),
           "m.gguf: key gemma2.attn_logit_softcapping is -1, expected a number from 0 to 1000000");
}

TEST_CASE("a GGUF of gemma2 27b scales by the root of hidden over heads") {
  FakeGguf file("gemma2");
  file.Set("block_count", 46);
  file.Set("embedding_length", 4608);
  file.Set("attention.head_count", 32);
  file.Set("attention.head_count_kv", 16);
  file.Set("attention.key_length", 128);
  file.Set("attention.value_length", 128);
  CHECK_EQ(AttentionOf(file.Model(), 0).scale, doctest::Approx(1 / 12.0).epsilon(1e-15));
}

}  // namespace cairn
