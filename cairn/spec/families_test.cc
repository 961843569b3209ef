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
           "config.json: text_config.model_type is missing");
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
  CHECK_EQ(ConfigError(R"({"model_type": "llama"})"), "config.json: num_hidden_layers is missing");
  CHECK_EQ(ConfigError(R"({"model_type": "gemma3_text", "num_hidden_layers": 2})"),
           "config.json: vocab_size is missing");
}

TEST_CASE("a model type without a row is an error that lists those which begin alike") {
  CHECK_EQ(ConfigError(R"({"model_type": "mamba\n2"})"),
           "config.json: model_type \"mamba\\x0a2\" is not supported; supported: mamba, mamba2");
  CHECK_EQ(ConfigError(R"({"model_type": "kimi", "text_config": {"model_type": "smollm4"}})"),
           "config.json: text_config.model_type \"smollm4\" is not supported; supported: smollm3");
  const std::string unlike = ConfigError(R"({"model_type": "", "hidden_size": 64})");
  CHECK_NE(unlike.find("types, llama and qwen3 among them"), std::string::npos);
  CHECK_EQ(ConfigError(R"({"hidden_size": 64})"), "config.json: model_type is missing");
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

TEST_CASE("a GGUF architecture without a row is an error that lists the rows") {
  FakeGguf file("qwen2\n");
  CHECK_EQ(file.Message(),
           "m.gguf: key general.architecture \"qwen2\\x0a\" is not supported; supported: llama, "
           "smollm3, gemma, gemma2, gemma3");
  Metadata empty("m.gguf");
  const auto model = ModelSpecFromGguf(
      empty, {.has = [](std::string_view) { return false; }, .rope_divisors = {}});
  REQUIRE_FALSE(model.has_value());
  CHECK_EQ(model.error().message, "m.gguf: key general.architecture is missing");
}

}  // namespace cairn
