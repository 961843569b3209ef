#include "cairn/weights/describe_gguf.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/weights/gguf_builder_for_tests.h"

namespace cairn {
namespace {

constexpr uint32_t kF16 = 1;
constexpr uint32_t kUnknown = 99;

void Number(GgufBuilder& file, const std::string& key, uint32_t value) {
  file.Pair(key, GgufBuilder::kU32, Raw(value));
}

// Two layers of 4 heads and 32 channels.
GgufBuilder Described(const std::string& architecture) {
  GgufBuilder file;
  file.Pair("general.architecture", GgufBuilder::kString, RawText(architecture));
  Number(file, architecture + ".block_count", 2);
  Number(file, architecture + ".embedding_length", 32);
  Number(file, architecture + ".feed_forward_length", 48);
  Number(file, architecture + ".attention.head_count", 4);
  Number(file, architecture + ".attention.head_count_kv", 2);
  Number(file, architecture + ".context_length", 128);
  Number(file, architecture + ".vocab_size", 64);
  return file;
}

void Split(GgufBuilder& file, uint16_t number, uint16_t count) {
  file.Pair("split.no", GgufBuilder::kU16, Raw(number));
  file.Pair("split.count", GgufBuilder::kU16, Raw(count));
}

GgufBuilder OtherPart(uint16_t number, uint16_t count) {
  GgufBuilder file;
  Split(file, number, count);
  return file;
}

std::string Written(const TempFolder& folder, const std::string& name, const std::string& bytes) {
  std::ofstream(folder.File(name), std::ios::binary) << bytes;
  return folder.File(name);
}

DescribedWeights Describe(const std::string& path) {
  const auto described = DescribeGgufForSizing(path);
  REQUIRE_MESSAGE(described.has_value(), (described ? "" : described.error().message));
  return *described;
}

bool Notes(const DescribedWeights& described, const std::string& part) {
  for (const std::string& note : described.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string Weights(uint64_t elements) { return std::string(2 * elements, '\0'); }

}  // namespace

TEST_CASE("a whole file's parameters and bytes are those of its table") {
  const TempFolder folder;
  GgufBuilder file = Described("internlm2");
  file.Tensor("token_embd.weight", {32, 64}, kF16, Weights(2048));
  file.Tensor("blk.0.attn_q.bias", {32}, kF16, Weights(32));
  const DescribedWeights whole = Describe(Written(folder, "m.gguf", file.Build()));
  REQUIRE(whole.weights.has_value());
  CHECK_EQ(whole.weights->parameters, ElementCount(2080));
  CHECK_EQ(whole.weights->bytes, Bytes(4160));
  CHECK(whole.notes.empty());
  CHECK(whole.model.tied_head);
  CHECK(std::get<AttentionSpec>(whole.model.layers[0].mixer).qkv_bias);
  CHECK_FALSE(std::get<AttentionSpec>(whole.model.layers[1].mixer).qkv_bias);
}

TEST_CASE("the first part of a file is sized; its weights count once its table is whole") {
  const TempFolder folder;
  GgufBuilder file = Described("qwen2");
  file.Tensor("token_embd.weight", {32, 64}, kF16, Weights(2048));
  file.Tensor("output.weight", {32, 64}, kF16, Weights(2048));
  const std::string bytes = file.Build();
  const size_t data = bytes.size() - 2 * 4096;
  const DescribedWeights table = Describe(Written(folder, "a.gguf", bytes.substr(0, data + 100)));
  REQUIRE(table.weights.has_value());
  CHECK_EQ(table.weights->parameters, ElementCount(4096));
  CHECK_EQ(table.weights->bytes, Bytes(8192));
  CHECK(Notes(table, "holds only the first"));
  const DescribedWeights cut = Describe(Written(folder, "b.gguf", bytes.substr(0, data - 50)));
  CHECK_FALSE(cut.weights.has_value());
  CHECK(Notes(cut, "ends inside its table of tensors, of which 1 of 2 lines are whole"));
  CHECK_EQ(cut.model.layers.size(), 2);
}

TEST_CASE("forms without a known size don't stop the sizing") {
  const TempFolder folder;
  GgufBuilder file = Described("qwen2");
  file.Tensor("a", {32, 64}, kUnknown, std::string(1024, '\0'));
  file.Tensor("b", {32, 64}, kUnknown, std::string(512, '\0'));
  const std::string bytes = file.Build();
  const DescribedWeights whole = Describe(Written(folder, "m.gguf", bytes));
  CHECK_EQ(whole.weights->parameters, ElementCount(4096));
  CHECK_EQ(whole.weights->bytes, Bytes(1536));
  CHECK_EQ(whole.weights->by_type[0].type, "type 99");
  const DescribedWeights cut =
      Describe(Written(folder, "c.gguf", bytes.substr(0, bytes.size() - 1536)));
  CHECK_EQ(cut.weights->parameters, ElementCount(4096));
  CHECK_FALSE(cut.weights->bytes.has_value());
  CHECK(Notes(cut, "The bytes of the weights aren't known: 2 tensors are stored as type 99"));
}

TEST_CASE("the parts of a split file are one model, whichever is given") {
  const TempFolder folder;
  GgufBuilder first = Described("qwen2");
  Split(first, 0, 3);
  first.Tensor("token_embd.weight", {32, 64}, kF16, Weights(2048));
  GgufBuilder second = OtherPart(1, 3);
  second.Tensor("output.weight", {32, 64}, kF16, Weights(2048));
  GgufBuilder third = OtherPart(2, 3);
  third.Tensor("output_norm.weight", {32}, kF16, Weights(32));
  const std::string given = Written(folder, "m-00001-of-00003.gguf", first.Build());
  const std::string other = Written(folder, "m-00002-of-00003.gguf", second.Build());
  const DescribedWeights partly = Describe(given);
  CHECK_FALSE(partly.weights.has_value());
  CHECK(Notes(partly, "split into 3 files and part 3 isn't beside"));
  Written(folder, "m-00003-of-00003.gguf", third.Build());
  for (const std::string& path : {given, other}) {
    const DescribedWeights whole = Describe(path);
    REQUIRE(whole.weights.has_value());
    CHECK_EQ(whole.weights->parameters, ElementCount(2048 + 2048 + 32));
    CHECK(whole.notes.empty());
    CHECK_FALSE(whole.model.tied_head);
  }
}

TEST_CASE("a later part without the first, and counts that can't be, are refused") {
  const TempFolder folder;
  const std::string later = Written(folder, "x-00002-of-00003.gguf", OtherPart(1, 3).Build());
  CHECK_NE(DescribeGgufForSizing(later).error().message.find("is part 2 of a model split into 3"),
           std::string::npos);
  const std::string beyond = Written(folder, "y.gguf", OtherPart(7, 3).Build());
  CHECK_FALSE(DescribeGgufForSizing(beyond).has_value());
  GgufBuilder unnamed = Described("qwen2");
  Split(unnamed, 0, 3);
  const DescribedWeights alone = Describe(Written(folder, "z.gguf", unnamed.Build()));
  CHECK(Notes(alone, "part 2, 3 isn't beside"));
}

TEST_CASE("older latent files come with a note on what another engine keeps") {
  const TempFolder folder;
  GgufBuilder file = Described("deepseek2");
  Number(file, "deepseek2.attention.kv_lora_rank", 16);
  Number(file, "deepseek2.attention.key_length", 12);
  Number(file, "deepseek2.attention.value_length", 8);
  Number(file, "deepseek2.rope.dimension_count", 4);
  const DescribedWeights described = Describe(Written(folder, "m.gguf", file.Build()));
  CHECK_EQ(KindOf(described.model.layers[0].mixer), "mla");
  CHECK(Notes(described, "llama.cpp keeps the whole keys and values"));
}

TEST_CASE("an adapter is no model, and a file cut in its vocabulary is one with a note") {
  const TempFolder folder;
  GgufBuilder adapter = Described("qwen2");
  adapter.Pair("general.type", GgufBuilder::kString, RawText("adapter"));
  const auto refused = DescribeGgufForSizing(Written(folder, "a.gguf", adapter.Build()));
  REQUIRE_FALSE(refused.has_value());
  CHECK_NE(refused.error().message.find("key general.type is \"adapter\""), std::string::npos);

  GgufBuilder file = Described("qwen2");
  file.Array("tokenizer.ggml.tokens", GgufBuilder::kString, 2, RawText("first") + RawText("end"));
  const std::string bytes = file.Build();
  const DescribedWeights cut =
      Describe(Written(folder, "m.gguf", bytes.substr(0, bytes.size() - 5)));
  CHECK_EQ(cut.model.layers.size(), 2);
  CHECK_EQ(cut.model.vocabulary, 2);
  CHECK_FALSE(cut.weights.has_value());
  CHECK(
      Notes(cut, "ends inside its vocabulary, in key \"tokenizer.ggml.tokens\" behind 8 of its 9"));
}

TEST_CASE("the name of a part has its number and their count") {
  const auto name = ParseGgufPartName("a/b-00002-of-00012.gguf");
  REQUIRE(name.has_value());
  CHECK_EQ(name->stem, "a/b");
  CHECK_EQ(name->number, 2);
  CHECK_EQ(name->count, 12);
  CHECK_EQ(PathOfGgufPart(*name, 3), "a/b-00003-of-00012.gguf");
  for (const char* other : {"b.gguf", "-00001-of-00002.gguf", "b-0000x-of-00002.gguf",
                            "b-00001_of-00002.gguf", "b-00000-of-00002.gguf", ""}) {
    CHECK_FALSE(ParseGgufPartName(other).has_value());
  }
}

}  // namespace cairn
