#include <doctest/doctest.h>

#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {

TEST_CASE("Llama's relatives keep K and V of their KV heads") {
  for (const char* type : {"qwen2_moe", "olmo2", "internlm2", "stablelm", "minicpm", "cohere",
                           "exaone", "glm4_moe", "minimax_m2", "deepseek"}) {
    CAPTURE(type);
    const ModelSpec model = ModelFromJson(SmallConfig(type));
    CHECK_EQ(KindsOf(model), "full full full full");
    CHECK_EQ(BytesPerToken(model), 4 * 2 * 2 * 16 * 2);
    CHECK_FALSE(model.sizing_only.empty());
  }
  for (const char* type : {"qwen2", "qwen3"}) {
    const ModelSpec model = ModelFromJson(SmallConfig(type));
    CHECK_EQ(KindsOf(model), "full full full full");
    CHECK_EQ(BytesPerToken(model), 4 * 2 * 2 * 16 * 2);
    CHECK(model.sizing_only.empty());
  }
}

TEST_CASE("Qwen's first files write twice the network's width, ChatGLM groups of its own name") {
  CHECK_EQ(MlpOf(ModelFromJson(SmallConfig("qwen")), 0).intermediate, 48);
  const ModelSpec model = ModelFromJson(R"({"model_type": "chatglm", "num_layers": 2,
      "hidden_size": 64, "num_attention_heads": 4, "kv_channels": 16, "ffn_hidden_size": 96,
      "multi_query_attention": true, "multi_query_group_num": 2, "padded_vocab_size": 256})");
  CHECK_EQ(BytesPerToken(model), 2 * 2 * 2 * 16 * 2);
}

TEST_CASE("families whose files leave out weights are sized, not counted") {
  CHECK_FALSE(ModelFromJson(SmallConfig("afmoe")).uncounted.empty());
  CHECK(ModelFromJson(SmallConfig("phi3small")).uncounted.empty());
}

}  // namespace cairn
