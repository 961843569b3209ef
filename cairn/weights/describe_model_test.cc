#include "cairn/weights/describe_model.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <span>
#include <string>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/weights/gguf.h"
#include "cairn/weights/gguf_builder_for_tests.h"

namespace cairn {
namespace {

constexpr uint32_t kTensorF32 = 0;
constexpr uint32_t kTensorF16 = 1;

GgufBuilder LlamaFile() {
  GgufBuilder file;
  const auto number = [&](const char* key, uint32_t value) {
    file.Pair(key, GgufBuilder::kU32, Raw(value));
  };
  file.Pair("general.architecture", GgufBuilder::kString, RawText("llama"));
  number("llama.block_count", 2);
  number("llama.embedding_length", 32);
  number("llama.feed_forward_length", 48);
  number("llama.attention.head_count", 4);
  number("llama.attention.head_count_kv", 2);
  number("llama.context_length", 128);
  number("llama.vocab_size", 64);
  file.Pair("llama.attention.layer_norm_rms_epsilon", GgufBuilder::kF32, Raw(1e-5f));
  return file;
}

Result<ModelSpec> Describe(const GgufBuilder& builder) {
  const std::string bytes = builder.Build();
  const auto file = ParseGguf(std::as_bytes(std::span(bytes)), "test.gguf");
  REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error().message));
  return DescribeModel(**file, "test.gguf");
}

const AttentionSpec& FirstAttention(const ModelSpec& spec) {
  return std::get<AttentionSpec>(spec.layers.front().mixer);
}

}  // namespace

TEST_CASE("a GGUF file describes its model by its metadata and tensor table") {
  const Result<ModelSpec> plain = Describe(LlamaFile());
  REQUIRE_MESSAGE(plain.has_value(), (plain ? "" : plain.error().message));
  CHECK(plain->layers.size() == 2);
  CHECK(plain->tied_head);
  CHECK(FirstAttention(*plain).rope->scaling == RopeScaling());

  GgufBuilder file = LlamaFile();
  file.Tensor("output.weight", {32, 64}, kTensorF32, std::string(32 * 64 * 4, '\0'));
  file.Tensor("rope_freqs.weight", {4}, kTensorF32, Raw(1.0f) + Raw(2.0f) + Raw(3.0f) + Raw(4.0f));
  const Result<ModelSpec> scaled = Describe(file);
  REQUIRE_MESSAGE(scaled.has_value(), (scaled ? "" : scaled.error().message));
  CHECK_FALSE(scaled->tied_head);
  CHECK(FirstAttention(*scaled).rope->scaling ==
        RopeScaling(RopeDivisors{{1.0f, 2.0f, 3.0f, 4.0f}}));
}

TEST_CASE("rotation divisors that are no row of f32 are an error that names them") {
  GgufBuilder file = LlamaFile();
  file.Tensor("rope_freqs.weight", {4}, kTensorF16, std::string(8, '\0'));
  const Result<ModelSpec> spec = Describe(file);
  REQUIRE_FALSE(spec);
  CHECK(spec.error().code == ErrorCode::kCorrupt);
  CHECK(spec.error().message.find("rope_freqs.weight") != std::string::npos);
}

TEST_CASE("safetensors are described by the config.json of their folder") {
  const std::string folder = "tests/golden/llama_gqa";
  for (const std::string& path : {folder, folder + "/model.safetensors"}) {
    const auto file = OpenWeightFile(path);
    REQUIRE(file.has_value());
    const Result<ModelSpec> spec = DescribeModel(**file, path);
    REQUIRE_MESSAGE(spec.has_value(), (spec ? "" : spec.error().message));
    CHECK(spec->layers.size() == 5);
  }
}

TEST_CASE("safetensors without a config.json are an error that names it") {
  const TempFolder empty;
  const std::string path = empty.File("model.safetensors");
  std::filesystem::copy_file("tests/golden/llama_gqa/model.safetensors", path);
  const auto file = OpenWeightFile(path);
  REQUIRE(file.has_value());
  const Result<ModelSpec> spec = DescribeModel(**file, path);
  REQUIRE_FALSE(spec);
  CHECK(spec.error().message.find("config.json") != std::string::npos);
  CHECK(spec.error().IsBadInput());
}

}  // namespace cairn
