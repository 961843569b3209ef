#include "cairn/weights/describe_for_sizing.h"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/weights/gguf_builder_for_tests.h"
#include "cairn/weights/safetensors.h"

namespace cairn {
namespace {

constexpr const char* kConfig = R"({"model_type": "qwen2", "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "vocab_size": 256, "max_position_embeddings": 128})";

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void WriteTensor(const std::string& path) {
  const std::array<std::byte, 48> bytes = {};
  const std::vector<NamedTensor> tensors = {{"a", DType::kF16, {4, 6}, bytes}};
  REQUIRE(WriteSafetensors(path, tensors).has_value());
}

std::string SmallGguf() {
  GgufBuilder file;
  const auto number = [&](const char* key, uint32_t value) {
    file.Pair(key, GgufBuilder::kU32, Raw(value));
  };
  file.Pair("general.architecture", GgufBuilder::kString, RawText("qwen2"));
  number("qwen2.block_count", 3);
  number("qwen2.embedding_length", 64);
  number("qwen2.attention.head_count", 4);
  return file.Build();
}

DescribedWeights Describe(const std::string& path) {
  const auto described = DescribeForSizing(path);
  REQUIRE_MESSAGE(described.has_value(), (described ? "" : described.error().message));
  return *described;
}

std::string MessageFor(const std::string& path) {
  const auto described = DescribeForSizing(path);
  REQUIRE_FALSE(described.has_value());
  CHECK(described.error().IsBadInput());
  CHECK_EQ(described.error().message.find('\n'), std::string::npos);
  return described.error().message;
}

}  // namespace

TEST_CASE("a config.json is a description without weights") {
  const TempFolder folder;
  Write(folder.File("config.json"), kConfig);
  for (const std::string& path : {folder.path(), folder.File("config.json")}) {
    const DescribedWeights described = Describe(path);
    CHECK_EQ(described.model.layers.size(), 2);
    CHECK_FALSE(described.weights.has_value());
    CHECK(described.notes.empty());
  }
}

TEST_CASE("a folder's weights are counted where they are whole, else taken from the index") {
  const TempFolder folder;
  Write(folder.File("config.json"), kConfig);
  WriteTensor(folder.File("model.safetensors"));
  const DescribedWeights whole = Describe(folder.path());
  CHECK_EQ(whole.weights->parameters, ElementCount(24));
  CHECK_EQ(whole.weights->bytes, Bytes(48));
  CHECK_EQ(Describe(folder.File("model.safetensors")).weights->bytes, Bytes(48));

  Write(folder.File("model.safetensors"), "not whole");
  const DescribedWeights broken = Describe(folder.path());
  CHECK_FALSE(broken.weights.has_value());
  CHECK_EQ(broken.notes.size(), 1);

  std::filesystem::remove(folder.File("model.safetensors"));
  Write(folder.File("model.safetensors.index.json"),
        R"({"metadata": {"total_size": 12345}, "weight_map": {"a": "m-1.safetensors"}})");
  const DescribedWeights indexed = Describe(folder.path());
  CHECK_EQ(indexed.weights->bytes, Bytes(12345));
  CHECK_FALSE(indexed.weights->parameters.has_value());
  CHECK_EQ(indexed.notes.size(), 1);
  for (const char* text : {"[", "{}", R"({"metadata": {"total_size": -1}})",
                           R"({"metadata": {"total_size": 1e300}})", R"({"metadata": 3})"}) {
    Write(folder.File("model.safetensors.index.json"), text);
    const DescribedWeights unknown = Describe(folder.path());
    CHECK_FALSE(unknown.weights.has_value());
    CHECK_EQ(unknown.notes.size(), 1);
  }
}

TEST_CASE("a GGUF file is known by its content, and alone in a folder by the folder") {
  const TempFolder folder;
  Write(folder.File("m.bin"), SmallGguf());
  CHECK_EQ(Describe(folder.File("m.bin")).model.layers.size(), 3);
  std::filesystem::rename(folder.File("m.bin"), folder.File("m.gguf"));
  Write(folder.File("mmproj-m.gguf"), SmallGguf());
  CHECK_EQ(Describe(folder.path()).model.layers.size(), 3);
  Write(folder.File("n.gguf"), SmallGguf());
  CHECK_NE(MessageFor(folder.path()).find("has 2 GGUF models, m.gguf and n.gguf"),
           std::string::npos);
}

TEST_CASE("a split model in a folder is one model") {
  const TempFolder folder;
  Write(folder.File("m-00001-of-00002.gguf"), SmallGguf());
  Write(folder.File("m-00002-of-00002.gguf"), SmallGguf());
  CHECK_EQ(Describe(folder.path()).model.layers.size(), 3);
}

TEST_CASE("a cache folder is the snapshot that its ref names, or its only one") {
  const TempFolder folder;
  Write(folder.File("snapshots/abc/config.json"), kConfig);
  CHECK_EQ(Describe(folder.path()).model.layers.size(), 2);
  Write(folder.File("snapshots/def/m.gguf"), SmallGguf());
  CHECK_NE(MessageFor(folder.path()).find("has 2 snapshots"), std::string::npos);
  Write(folder.File("refs/main"), "def\n");
  CHECK_EQ(Describe(folder.path()).model.layers.size(), 3);
  Write(folder.File("refs/main"), "../..");
  CHECK_NE(MessageFor(folder.path()).find("has 2 snapshots"), std::string::npos);
}

TEST_CASE("what isn't a model is an error of one line") {
  const TempFolder folder;
  CHECK_NE(MessageFor(folder.path()).find("no config.json in this folder"), std::string::npos);
  MessageFor(folder.File("none"));
  MessageFor(folder.File("none.gguf"));
  MessageFor("");
  Write(folder.File("text.gguf"), "text");
  Write(folder.File("empty.gguf"), "");
  Write(folder.File("short.gguf"), "GG");
  Write(folder.File("text.safetensors"), "text");
  Write(folder.File("config.json"), "{");
  for (const char* name :
       {"text.gguf", "empty.gguf", "short.gguf", "text.safetensors", "config.json"}) {
    MessageFor(folder.File(name));
  }
}

}  // namespace cairn
