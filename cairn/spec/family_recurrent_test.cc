#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("retention keeps a matrix a head, values twice as wide as keys") {
  const ModelSpec model = ModelFromJson(R"({"model_type": "retnet", "hidden_size": 64,
      "num_hidden_layers": 2, "num_heads": 4, "vocab_size": 256})");
  CHECK_EQ(KindsOf(model), "retention retention");
  CHECK_EQ(FixedBytes(model), 2 * 4 * 16 * 32 * 4);
}

TEST_CASE("RecurrentGemma's pattern repeats and is cut at the depth") {
  const ModelSpec model = ModelFromJson(SmallConfig(
      "recurrent_gemma", R"("attention_window_size": 128, "lru_width": 96, "conv1d_width": 4,
          "_block_types": ["recurrent", "recurrent", "attention"])"));
  CHECK_EQ(KindsOf(model), "rg_lru rg_lru sliding rg_lru");
  CHECK_EQ(FixedBytes(model), 3 * (96 * 4 + 3 * 96 * 2));
}

TEST_CASE("LFM2 is convolutions but for the layers that either list names") {
  const ModelSpec old =
      ModelFromJson(SmallConfig("lfm2", R"("conv_L_cache": 3, "full_attn_idxs": [2])"));
  CHECK_EQ(KindsOf(old), "short_conv short_conv full short_conv");
  CHECK_EQ(FixedBytes(old), 3 * 2 * 64 * 2);
  const ModelSpec listed = ModelFromJson(SmallConfig(
      "lfm2_moe",
      R"("conv_L_cache": 3, "layer_types": ["conv", "full_attention", "conv", "conv"])"));
  CHECK_EQ(KindsOf(listed), "short_conv full short_conv short_conv");
}

}  // namespace cairn
