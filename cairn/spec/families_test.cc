#include "cairn/spec/families.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

constexpr std::array kGoldens = {"llama_mha", "llama_gqa", "llama_mqa", "mistral_swa",
                                 "smollm3",   "gemma",     "gemma2",    "gemma3_text"};

// Either an error of one line that the user can act on, or a model.
void CheckAnswer(const Result<ModelSpec>& model) {
  if (model.has_value()) {
    CHECK_FALSE(model->layers.empty());
    return;
  }
  CHECK(model.error().IsBadInput());
  CHECK_EQ(model.error().message.find('\n'), std::string::npos);
}

}  // namespace

TEST_CASE("every golden config cut anywhere is refused, and changed anywhere never crashes") {
  for (const char* name : kGoldens) {
    const std::string json = ReadFileForTest(std::string("tests/golden/") + name + "/config.json");
    for (size_t cut = 0; cut + 2 < json.size(); ++cut) {
      CHECK_FALSE(ModelSpecFromConfig(json.substr(0, cut), "config.json").has_value());
    }
    for (size_t at = 0; at < json.size(); ++at) {
      for (const char byte : {'0', '-', '"', '\xff'}) {
        std::string changed = json;
        changed[at] = byte;
        CheckAnswer(ModelSpecFromConfig(changed, "config.json"));
      }
    }
  }
}

// A config that each family finds its own keys in.
std::string ConfigOfAllKeys(const std::string& type, const std::string& key,
                            const std::string& value) {
  static const char* const kKeys[] = {
      R"("kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16)",
      R"("index_head_dim": 8, "index_n_heads": 4, "sliding_window": 16, "enable_moe_block": true)",
      R"("num_experts": 4, "moe_intermediate_size": 32, "n_shared_experts": 1)",
      R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8)",
      R"("linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "conv_L_cache": 3)",
      R"("mamba_n_heads": 6, "mamba_d_head": 8, "mamba_d_state": 16, "n_mamba_heads": 6)",
      R"("mamba_headdim": 8, "mamba_num_heads": 6, "mamba_head_dim": 8, "ssm_state_size": 16)",
      R"("num_heads": 4, "state_size": 16, "hybrid_override_pattern": "M-*E")",
      R"("compress_ratios": [0, 4, 128, 4], "attn_type_list": [0, 1, 0, 1], "use_cla": true)",
      R"("num_kv_shared_layers": 1, "hybrid_layer_pattern": [0, 1, 1, 0], "full_attn_idxs": [2])",
      R"("cross_attention_layers": [1], "attn_config": {"kv_n_heads": 2}, "expand_k": 1)",
      R"("num_query_heads": [4, 4, 4, 4], "num_kv_heads": [2, 2, 2, 2], "expand": 2)",
  };
  std::string more;
  for (const char* keys : kKeys) more += std::string(keys) + ", ";
  return SmallConfig(type, more + "\"" + key + "\": " + value);
}

// Model types that are sized but not run.
// clang-format off
constexpr const char* kSizedTypes[] = {
    "qwen2", "qwen3_moe", "phi3", "cohere2", "gpt_oss", "chatglm", "gpt2", "gpt_bigcode",
    "falcon", "mpt", "dbrx", "opt", "llama4_text", "mllama_text_model", "hunyuan",
    "mimo_v2_flash", "baichuan_m1", "minimax_m3", "openelm", "gemma3n_text", "gemma4_text",
    "deepseek_v2", "deepseek_v3", "deepseek_v4", "glm_moe_dsa", "longcat_flash", "qwen3_next",
    "kimi_linear", "minimax", "mamba", "mamba2", "jamba", "zamba", "zamba2", "falcon_h1",
    "nemotron_h", "rwkv7", "retnet", "recurrent_gemma", "lfm2",
};
// clang-format on

// Keys that get hostile values.
// clang-format off
constexpr const char* kTriedKeys[] = {
    "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "vocab_size", "sliding_window", "kv_lora_rank", "num_experts",
    "moe_intermediate_size", "linear_num_value_heads", "mamba_d_state", "mamba_n_heads",
    "state_size", "num_heads", "compress_ratios", "num_kv_shared_layers", "multi_query",
    "index_head_dim", "layer_types", "expand", "expand_k",
};
// clang-format on

TEST_CASE("every family that is only sized answers hostile values with an error or a layout") {
  for (const char* type : kSizedTypes) {
    CAPTURE(type);
    for (const char* key : kTriedKeys) {
      for (const char* value : {"null", "0", "-1", "1", "3", "1048576", "9223372036854775807",
                                "1e300", "\"x\"", "[]", "[1]", "{}", "false"}) {
        const auto model = ModelSpecFromConfig(ConfigOfAllKeys(type, key, value), "config.json");
        CheckAnswer(model);
        if (!model) continue;
        const auto layout = StateLayout::Make(StateSpecOf(*model, {}));
        if (!layout) CHECK(layout.error().IsBadInput());
      }
    }
  }
}

TEST_CASE("a GGUF with any key set to a hostile value, or without it, never crashes") {
  const std::vector<MetadataValue> hostile = {
      true,
      int64_t{0},
      int64_t{-1},
      int64_t{600},
      INT64_MAX,
      INT64_MIN,
      UINT64_MAX,
      -1.0,
      1e300,
      std::nan(""),
      std::string("\n"),
      std::vector<int64_t>{},
      std::vector<int64_t>{1, 2, 3, 4},
      std::vector<int64_t>(600, INT64_MAX),
      std::vector<double>{0.5},
      std::vector<std::string>{"x"},
  };
  for (const char* architecture : {"llama", "smollm3", "gemma", "gemma2", "gemma3"}) {
    FakeGguf file(architecture);
    file.Set("attention.sliding_window", 64);
    file.Set("attention.sliding_window_pattern", 2);
    file.Set("attention.key_length", 16);
    file.Set("rope.freq_base", 1e4);
    file.Set("rope.scaling.factor", 2.0);
    const auto keys = file.metadata.values();
    for (const auto& [key, value] : keys) {
      FakeGguf changed = file;
      for (const MetadataValue& other : hostile) {
        changed.metadata.Set(key, other);
        CheckAnswer(changed.Read());
      }
      if (key.starts_with(architecture)) {
        changed.Remove(key.substr(std::string(architecture).size() + 1));
        CheckAnswer(changed.Read());
      }
    }
  }
}

TEST_CASE("a multimodal config is its text part, with class defaults for what it leaves out") {
  const ModelSpec model = ModelFromJson(R"({
      "model_type": "gemma3",
      "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                      "num_hidden_layers": 34, "sliding_window": 1024,
                      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
      "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}})");
  CHECK_EQ(model.family, "gemma3");
  CHECK_EQ(model.hidden, 2560);
  CHECK_EQ(model.layers.size(), 34);
  CHECK_EQ(model.vocabulary, 262208);
  CHECK(model.tied_head);
  CHECK_EQ(AttentionOf(model, 0).heads, 8);
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 4);
  CHECK_EQ(AttentionOf(model, 0).key_width, 256);
}

TEST_CASE("a text part without a type is what its multimodal class takes by default") {
  const std::string text = R"("text_config": {"max_position_embeddings": 4096})";
  CHECK_EQ(ModelFromJson(R"({"model_type": "llava", )" + text + "}").family, "llama");
  CHECK_EQ(ModelFromJson(R"({"model_type": "mistral3", )" + text + "}").family, "mistral");
  CHECK_EQ(ModelFromJson(R"({"model_type": "gemma3", )" + text + "}").family, "gemma3");
  CHECK_EQ(ConfigError(R"({"model_type": "other", )" + text + "}"),
           "config.json: text_config.model_type is missing, expected a string");
}

TEST_CASE("the text part stands under any of its names, and within a thinker's") {
  const std::string text = SmallConfig("qwen3", R"("num_key_value_heads": 1)");
  for (const char* key : {"text_config", "language_config", "llm_config", "thinker_config"}) {
    CAPTURE(key);
    const std::string outer = R"({"model_type": "other", "vision_config": {"hidden_size": 9}, ")";
    const ModelSpec model = ModelFromJson(outer + key + R"(": )" + text + "}");
    CHECK_EQ(model.family, "qwen3");
    CHECK_EQ(BytesPerToken(model), 4 * 2 * 16 * 2);
  }
  const ModelSpec omni = ModelFromJson(R"({"model_type": "qwen3_omni_moe", "talker_config": {},
      "thinker_config": {"model_type": "qwen3_omni_moe_thinker", "text_config": )" +
                                       SmallConfig("qwen3_omni_moe_text") + "}}");
  CHECK_EQ(omni.family, "qwen3");
}

TEST_CASE("the outer config ties the head when the text part doesn't say") {
  const auto tied = [](const std::string& outer, const std::string& inner) {
    return ModelFromJson(R"({"model_type": "llava", )" + outer +
                         R"("text_config": {"model_type": "llama", )" + inner +
                         R"("vocab_size": 32064}})")
        .tied_head;
  };
  CHECK_FALSE(tied("", ""));
  CHECK(tied(R"("tie_word_embeddings": true, )", ""));
  CHECK_FALSE(tied(R"("tie_word_embeddings": true, )", R"("tie_word_embeddings": false, )"));
}

TEST_CASE("outside a multimodal config a missing dimension is an error, never a default") {
  CHECK_EQ(ConfigError(R"({"model_type": "llama"})"),
           "config.json: num_hidden_layers is missing, expected an integer from 1 to 512");
  CHECK_EQ(ConfigError(R"({"model_type": "gemma3_text", "num_hidden_layers": 2})"),
           "config.json: vocab_size is missing, expected an integer from 1 to 16777216");
}

TEST_CASE("a model type without a row is an error that lists those which begin alike") {
  CHECK_EQ(ConfigError(R"({"model_type": "mamba\n2"})"),
           "config.json: model_type \"mamba\\x0a2\" is not supported; supported: mamba, mamba2");
  CHECK_EQ(ConfigError(R"({"model_type": "kimi", "text_config": {"model_type": "smollm4"}})"),
           "config.json: text_config.model_type \"smollm4\" is not supported; supported: smollm3");
  const std::string unlike = ConfigError(R"({"model_type": "", "hidden_size": 64})");
  CHECK_NE(unlike.find("types, llama and qwen3 among them"), std::string::npos);
  CHECK_EQ(ConfigError(R"({"hidden_size": 64})"),
           "config.json: model_type is missing, expected a string");
  CHECK_EQ(ConfigError(R"({"model_type": 7})"), "config.json: model_type is 7, expected a string");
}

TEST_CASE("encoders and encoder-decoders are refused by name, a false flag isn't") {
  CHECK_EQ(ConfigError(SmallConfig("bert")),
           "config.json: \"bert\" is an encoder, which keeps no state from token to token; "
           "decoders do");
  const std::string two =
      " is an encoder-decoder, whose state of two lengths isn't sized; decoders are";
  CHECK_EQ(ConfigError(SmallConfig("t5")), "config.json: \"t5\"" + two);
  CHECK_EQ(ConfigError(SmallConfig("llama", R"("is_encoder_decoder": true)")),
           "config.json: \"llama\"" + two);
  CHECK_EQ(ModelFromJson(SmallConfig("llama", R"("is_encoder_decoder": false)")).family, "llama");
}

TEST_CASE("what a family that can be run doesn't support is sized all the same, and says why") {
  const ModelSpec model =
      ModelFromJson(SmallConfig("llama", R"("rope_scaling": {"type": "dynamic", "factor": 2})"));
  CHECK_EQ(model.layers.size(), 4);
  CHECK_EQ(AttentionOf(model, 0).kv_heads, 2);
  CHECK_NE(model.sizing_only.find("rope_scaling.type \"dynamic\" is not supported"),
           std::string::npos);
  CHECK(ModelFromJson(SmallConfig("llama")).sizing_only.empty());
}

TEST_CASE("a GGUF architecture without a row is an error that names the nearest row") {
  FakeGguf file("qwen2\n");
  CHECK_NE(file.Message().find("m.gguf: key general.architecture \"qwen2\\x0a\" is not supported; "
                               "the nearest of "),
           std::string::npos);
  CHECK_NE(file.Message().find(" known names is qwen2, "), std::string::npos);
  Metadata empty("m.gguf");
  const auto model = ModelSpecFromGguf(
      empty, {.has = [](std::string_view) { return false; }, .rope_divisors = {}});
  REQUIRE_FALSE(model.has_value());
  CHECK_EQ(model.error().message, "m.gguf: key general.architecture is missing");
}

}  // namespace cairn
