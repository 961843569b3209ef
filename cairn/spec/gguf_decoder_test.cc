#include "cairn/spec/gguf_decoder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

using Numbers = std::vector<int64_t>;

const AttentionSpec& Attention(const ModelSpec& model, size_t layer) {
  return std::get<AttentionSpec>(model.layers[layer].mixer);
}

}  // namespace

TEST_CASE("a plain decoder keeps keys and values of its KV heads in each layer") {
  const FakeGguf file("qwen2");
  const ModelSpec model = file.Model();
  CHECK_EQ(KindsOf(model), "full full full full");
  CHECK_EQ(Attention(model, 0).kv_heads, 2);
  CHECK_EQ(Attention(model, 0).key_width, 16);
  CHECK_EQ(MlpOf(model, 0).intermediate, 96);
  CHECK_EQ(model.sizing_only, "");
  CHECK_FALSE(model.uncounted.empty());
}

TEST_CASE("layers without heads keep nothing, and heads may differ layer by layer") {
  FakeGguf file("deci");
  file.Set("attention.head_count", Numbers{4, 0, 4, 4});
  file.Set("attention.head_count_kv", Numbers{4, 0, 2, 1});
  file.Set("feed_forward_length", Numbers{96, 0, 32, 96});
  const ModelSpec model = file.Model();
  CHECK_EQ(KindsOf(model), "full none full full");
  CHECK_EQ(Attention(model, 3).kv_heads, 1);
  CHECK(std::holds_alternative<NoFeedForward>(model.layers[1].feed_forward));
}

TEST_CASE("a window holds for the layers of the pattern's list, else of its period") {
  FakeGguf file("gpt-oss");
  CHECK_EQ(KindsOf(file.Model()), "full full full full");
  file.Set("attention.sliding_window", 16);
  CHECK_EQ(KindsOf(file.Model()), "sliding full sliding full");
  file.Set("attention.sliding_window_pattern", 4);
  CHECK_EQ(KindsOf(file.Model()), "sliding sliding sliding full");
  file.Set("attention.sliding_window_pattern", Numbers{0, 1, 1, 0});
  CHECK_EQ(KindsOf(file.Model()), "full sliding sliding full");
  file.Set("attention.sliding_window", 1024);
  CHECK_EQ(KindsOf(file.Model()), "full full full full");

  FakeGguf first("laguna");
  first.Set("attention.sliding_window", 16);
  CHECK_EQ(KindsOf(first.Model()), "full sliding sliding sliding");

  FakeGguf chunks("llama4");
  CHECK_EQ(KindsOf(chunks.Model()), "chunked chunked chunked full");
  chunks.Set("attention.sliding_window", 0);
  CHECK_EQ(KindsOf(chunks.Model()), "full full full full");
}

TEST_CASE("the last layers read the last earlier layer of their kind") {
  FakeGguf file("gemma4");
  file.Set("attention.sliding_window", 16);
  file.Set("attention.sliding_window_pattern", Numbers{1, 0, 1, 0});
  file.Set("attention.key_length", 32);
  file.Set("attention.value_length", 32);
  file.Set("attention.key_length_swa", 8);
  file.Set("attention.value_length_swa", 8);
  file.Set("attention.shared_kv_layers", 2);
  const ModelSpec model = file.Model();
  CHECK_EQ(KindsOf(model), "sliding full reuse reuse");
  CHECK_EQ(Attention(model, 0).key_width, 8);
  CHECK_EQ(Attention(model, 1).key_width, 32);
  CHECK_EQ(std::get<SharedAttentionSpec>(model.layers[3].mixer).source, LayerIndex(1));
  file.Set("attention.shared_kv_layers", 3);
  CHECK_NE(file.Message().find("gemma4.attention.shared_kv_layers is 3"), std::string::npos);
}

TEST_CASE("latent rows, with index keys where the types, the tensors or the family say so") {
  FakeGguf file("glm-dsa");
  file.Set("attention.kv_lora_rank", 32);
  file.Set("rope.dimension_count", 8);
  file.Set("attention.key_length", 40);
  file.Set("attention.value_length", 32);
  file.Set("attention.key_length_mla", 24);
  file.Set("attention.value_length_mla", 16);
  CHECK_EQ(KindsOf(file.Model()), "mla mla mla mla");
  const auto latent = std::get<LatentAttentionSpec>(file.Model().layers[0].mixer);
  CHECK_EQ(latent.latent_width, 32);
  CHECK_EQ(latent.key_width, 16);
  file.Set("attention.indexer.key_length", 4);
  CHECK_EQ(KindsOf(file.Model()), "mla+index mla+index mla+index mla+index");
  file.Set("context_length", 1 << 20);
  CHECK_EQ(KindsOf(file.Model()), "mla+index mla+index mla+index mla");
  file.tensors.insert("blk.1.indexer.attn_k.weight");
  CHECK_EQ(KindsOf(file.Model()), "mla mla+index mla mla");
  file.Set("attention.indexer.types", Numbers{1, 0, 0, 1});
  CHECK_EQ(KindsOf(file.Model()), "mla+index mla mla mla+index");
}

TEST_CASE("KV heads are those of the stored projection where the tensors tell") {
  FakeGguf file("falcon");
  file.Set("attention.head_count_kv", 4);
  CHECK_EQ(Attention(file.Model(), 0).kv_heads, 4);
  const auto model = ModelSpecFromGguf(
      file.metadata, {.has = [](std::string_view) { return false; },
                      .rope_divisors = {},
                      .rows = [](std::string_view name) -> std::optional<int64_t> {
                        if (name.find("attn_qkv.weight") == std::string_view::npos) {
                          return std::nullopt;
                        }
                        return 4 * 16 + 2 * 16;
                      }});
  REQUIRE_MESSAGE(model.has_value(), (model ? "" : model.error().message));
  CHECK_EQ(Attention(*model, 0).kv_heads, 1);
}

TEST_CASE("a hybrid's layers are recurrent without KV heads, and nothing with a network alone") {
  FakeGguf file("nemotron_h");
  file.Set("attention.head_count_kv", Numbers{0, 2, 0, 0});
  file.Set("feed_forward_length", Numbers{0, 0, 96, 0});
  file.Set("ssm.inner_size", 128);
  file.Set("ssm.state_size", 8);
  file.Set("ssm.conv_kernel", 4);
  file.Set("ssm.time_step_rank", 4);
  file.Set("ssm.group_count", 2);
  CHECK_EQ(KindsOf(file.Model()), "mamba2 full none mamba2");
  file.Remove("ssm.state_size");
  CHECK_EQ(file.Message(), "m.gguf: key nemotron_h.ssm.state_size is missing");
}

TEST_CASE("layers are linear by their list, else all but every interval's last") {
  FakeGguf file("qwen3next");
  file.Set("ssm.inner_size", 128);
  file.Set("ssm.state_size", 8);
  file.Set("ssm.conv_kernel", 4);
  file.Set("ssm.time_step_rank", 4);
  file.Set("ssm.group_count", 2);
  CHECK_EQ(KindsOf(file.Model()), "gated_delta gated_delta gated_delta full");
  file.Set("full_attention_interval", 2);
  CHECK_EQ(KindsOf(file.Model()), "gated_delta full gated_delta full");
  file.Set("attention.recurrent_layers", Numbers{0, 1, 1, 0});
  CHECK_EQ(KindsOf(file.Model()), "full gated_delta gated_delta full");
}

TEST_CASE("each pass of a looped model keeps its own rows") {
  FakeGguf file("nanbeige");
  file.Set("num_loops", 3);
  CHECK_EQ(file.Model().layers.size(), 12);
  file.Set("num_loops", 129);
  CHECK_NE(file.Message().find("nanbeige.num_loops is 129, expected"), std::string::npos);
}

TEST_CASE("blocks that predict further tokens are draft layers like the last that attends") {
  FakeGguf file("qwen3next");
  file.Set("block_count", 6);
  file.Set("nextn_predict_layers", 2);
  file.Set("ssm.inner_size", 128);
  file.Set("ssm.state_size", 8);
  file.Set("ssm.conv_kernel", 4);
  file.Set("ssm.time_step_rank", 4);
  file.Set("ssm.group_count", 2);
  const ModelSpec model = file.Model();
  CHECK_EQ(KindsOf(model), "gated_delta gated_delta gated_delta full");
  REQUIRE_EQ(model.draft_layers.size(), 2);
  CHECK_EQ(KindOf(model.draft_layers[1].mixer), "full");
}

}  // namespace cairn
