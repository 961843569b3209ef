// Parameters of a GGUF file are those of its table: as many as the model is known to have.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/weights/describe_for_sizing.h"
#include "cairn/weights/gguf_builder_for_tests.h"

namespace cairn {
namespace {

using Pairs = std::vector<std::pair<std::string, uint32_t>>;

// A header whose tensors' data isn't there.
class HeaderBuilder {
 public:
  HeaderBuilder(const std::string& architecture, const Pairs& pairs) {
    file_.Pair("general.architecture", GgufBuilder::kString, RawText(architecture));
    for (const auto& [key, value] : pairs) {
      file_.Pair(architecture + "." + key, GgufBuilder::kU32, Raw(value));
    }
  }

  // Innermost size first, as the file has it.
  void Tensor(const std::string& name, const std::vector<uint64_t>& sizes) {
    uint64_t elements = 1;
    for (const uint64_t size : sizes) elements *= size;
    file_.Tensor(name, sizes, /*ggml_type=*/30, "", offset_);
    offset_ += (2 * elements + 31) / 32 * 32;
  }
  void Block(int layer, const std::string& name, const std::vector<uint64_t>& sizes) {
    Tensor(fmt::format("blk.{}.{}.weight", layer, name), sizes);
  }

  DescribedWeights Describe() const {
    const TempFolder folder;
    const std::string bytes = file_.Build();
    REQUIRE(WriteFileAtomically(folder.File("m.gguf"), std::as_bytes(std::span(bytes))));
    const auto described = DescribeForSizing(folder.File("m.gguf"));
    REQUIRE_MESSAGE(described.has_value(), (described ? "" : described.error().message));
    return *described;
  }

 private:
  GgufBuilder file_;
  uint64_t offset_ = 0;
};

void CheckCount(const HeaderBuilder& file, int64_t parameters) {
  const DescribedWeights described = file.Describe();
  REQUIRE(described.weights.has_value());
  CHECK_EQ(described.weights->parameters, ElementCount(parameters));
  CHECK_EQ(described.weights->bytes, Bytes(2 * parameters));
  REQUIRE_EQ(described.weights->by_type.size(), 1);
  CHECK_EQ(described.weights->by_type[0].type, "bf16");
  REQUIRE_EQ(described.notes.size(), 1);
  CHECK_NE(described.notes[0].find("holds only the first"), std::string::npos);
}

void AddQwen3Attention(HeaderBuilder& file, int layer, uint64_t hidden, uint64_t heads,
                       uint64_t kv_heads) {
  file.Block(layer, "attn_norm", {hidden});
  file.Block(layer, "attn_q", {hidden, heads * 128});
  file.Block(layer, "attn_k", {hidden, kv_heads * 128});
  file.Block(layer, "attn_v", {hidden, kv_heads * 128});
  file.Block(layer, "attn_output", {heads * 128, hidden});
  file.Block(layer, "attn_q_norm", {128});
  file.Block(layer, "attn_k_norm", {128});
  file.Block(layer, "ffn_norm", {hidden});
}

}  // namespace

TEST_CASE("Qwen3-0.6B has 596,049,920 parameters, its head being its embedding") {
  HeaderBuilder file("qwen3", {{"block_count", 28},
                               {"embedding_length", 1024},
                               {"feed_forward_length", 3072},
                               {"attention.head_count", 16},
                               {"attention.head_count_kv", 8},
                               {"attention.key_length", 128},
                               {"attention.value_length", 128},
                               {"context_length", 40960},
                               {"vocab_size", 151936}});
  file.Tensor("token_embd.weight", {1024, 151936});
  file.Tensor("output_norm.weight", {1024});
  for (int layer = 0; layer < 28; ++layer) {
    AddQwen3Attention(file, layer, 1024, 16, 8);
    file.Block(layer, "ffn_gate", {1024, 3072});
    file.Block(layer, "ffn_up", {1024, 3072});
    file.Block(layer, "ffn_down", {3072, 1024});
  }
  CheckCount(file, 596'049'920);
  CHECK(file.Describe().model.tied_head);
}

TEST_CASE("Qwen3-30B-A3B has 30,532,122,624 parameters, most of them in experts") {
  HeaderBuilder file("qwen3moe", {{"block_count", 48},
                                  {"embedding_length", 2048},
                                  {"feed_forward_length", 6144},
                                  {"expert_feed_forward_length", 768},
                                  {"expert_count", 128},
                                  {"expert_used_count", 8},
                                  {"attention.head_count", 32},
                                  {"attention.head_count_kv", 4},
                                  {"attention.key_length", 128},
                                  {"attention.value_length", 128},
                                  {"context_length", 40960},
                                  {"vocab_size", 151936}});
  file.Tensor("token_embd.weight", {2048, 151936});
  file.Tensor("output.weight", {2048, 151936});
  file.Tensor("output_norm.weight", {2048});
  for (int layer = 0; layer < 48; ++layer) {
    AddQwen3Attention(file, layer, 2048, 32, 4);
    file.Block(layer, "ffn_gate_inp", {2048, 128});
    file.Block(layer, "ffn_gate_exps", {2048, 768, 128});
    file.Block(layer, "ffn_up_exps", {2048, 768, 128});
    file.Block(layer, "ffn_down_exps", {768, 2048, 128});
  }
  CheckCount(file, 30'532'122'624);
  const auto mixture = std::get<MixtureSpec>(file.Describe().model.layers[47].feed_forward);
  CHECK_EQ(mixture.experts_per_token, 8);
}

TEST_CASE("DeepSeek V3 has 671,026,419,200 parameters without its prediction layer") {
  HeaderBuilder file("deepseek2", {{"block_count", 61},
                                   {"embedding_length", 7168},
                                   {"feed_forward_length", 18432},
                                   {"expert_feed_forward_length", 2048},
                                   {"expert_count", 256},
                                   {"expert_used_count", 8},
                                   {"expert_shared_count", 1},
                                   {"leading_dense_block_count", 3},
                                   {"attention.head_count", 128},
                                   {"attention.head_count_kv", 1},
                                   {"attention.q_lora_rank", 1536},
                                   {"attention.kv_lora_rank", 512},
                                   {"attention.key_length", 576},
                                   {"attention.value_length", 512},
                                   {"attention.key_length_mla", 192},
                                   {"attention.value_length_mla", 128},
                                   {"rope.dimension_count", 64},
                                   {"context_length", 163840},
                                   {"vocab_size", 129280}});
  file.Tensor("token_embd.weight", {7168, 129280});
  file.Tensor("output.weight", {7168, 129280});
  file.Tensor("output_norm.weight", {7168});
  for (int layer = 0; layer < 61; ++layer) {
    file.Block(layer, "attn_norm", {7168});
    file.Block(layer, "ffn_norm", {7168});
    file.Block(layer, "attn_q_a", {7168, 1536});
    file.Block(layer, "attn_q_a_norm", {1536});
    file.Block(layer, "attn_q_b", {1536, 128 * 192});
    file.Block(layer, "attn_kv_a_mqa", {7168, 576});
    file.Block(layer, "attn_kv_a_norm", {512});
    file.Block(layer, "attn_k_b", {128, 512, 128});
    file.Block(layer, "attn_v_b", {512, 128, 128});
    file.Block(layer, "attn_output", {128 * 128, 7168});
    if (layer < 3) {
      file.Block(layer, "ffn_gate", {7168, 18432});
      file.Block(layer, "ffn_up", {7168, 18432});
      file.Block(layer, "ffn_down", {18432, 7168});
      continue;
    }
    file.Block(layer, "ffn_gate_inp", {7168, 256});
    file.Tensor(fmt::format("blk.{}.exp_probs_b.bias", layer), {256});
    for (const char* name : {"ffn_gate", "ffn_up"}) {
      file.Block(layer, fmt::format("{}_exps", name), {7168, 2048, 256});
      file.Block(layer, fmt::format("{}_shexp", name), {7168, 2048});
    }
    file.Block(layer, "ffn_down_exps", {2048, 7168, 256});
    file.Block(layer, "ffn_down_shexp", {2048, 7168});
  }
  CheckCount(file, 671'026'419'200);
}

}  // namespace cairn
