#include "cairn/weights/gguf_header.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/weights/gguf_builder_for_tests.h"
#include "cairn/weights/weight_file_for_tests.h"

namespace cairn {
namespace {

constexpr uint32_t kF16 = 1;
constexpr uint32_t kIq2Xxs = 16;
constexpr uint32_t kUnknown = 99;

GgufBuilder SmallFile() {
  GgufBuilder file;
  file.Pair("general.architecture", GgufBuilder::kString, RawText("llama"));
  file.Array("some.numbers", GgufBuilder::kI32, 2, Raw(int32_t{4}) + Raw(int32_t{-5}));
  file.Array("tokenizer.ggml.tokens", GgufBuilder::kString, 3,
             RawText("a") + RawText("bc") + RawText(""));
  file.Array("tokenizer.ggml.scores", GgufBuilder::kF32, 3, std::string(12, '\0'));
  file.Pair("tokenizer.chat_template", GgufBuilder::kString, RawText(std::string(50, 'x')));
  file.Pair("last", GgufBuilder::kU8, Raw(uint8_t{1}));
  file.Tensor("a", {8, 4}, kF16, std::string(64, '\0'));
  file.Tensor("b", {256, 2}, kIq2Xxs, std::string(132, '\0'));
  return file;
}

Result<GgufHeader> Parse(const std::string& bytes, uint64_t file_bytes) {
  return ParseGgufHeader(std::as_bytes(std::span(bytes)), file_bytes, "m.gguf");
}

Result<GgufHeader> Parse(const std::string& bytes) { return Parse(bytes, bytes.size()); }

// A file of `size` bytes, nearly all of them a hole.
void WriteSparse(const std::string& path, const std::string& start, uint64_t size) {
  std::ofstream(path, std::ios::binary) << start;
  std::filesystem::resize_file(path, size);
}

}  // namespace

TEST_CASE("a header has the description and the table, and of the vocabulary the sizes") {
  const std::string bytes = SmallFile().Build();
  const auto header = Parse(bytes);
  REQUIRE_MESSAGE(header.has_value(), (header ? "" : header.error().message));
  CHECK_EQ(*header->metadata.String("general.architecture"), "llama");
  CHECK_EQ(*header->metadata.Ints("some.numbers"), std::vector<int64_t>{4, -5});
  CHECK_EQ(header->metadata.ArraySize("tokenizer.ggml.tokens"), 3);
  CHECK_EQ(header->metadata.ArraySize("tokenizer.ggml.scores"), 3);
  CHECK_FALSE(header->metadata.Has("tokenizer.chat_template"));
  CHECK_EQ(*header->metadata.Int("last"), 1);
  CHECK(header->complete());
  REQUIRE_EQ(header->tensors.size(), 2);
  CHECK_EQ(header->tensors[0].bytes, 64);
  CHECK_EQ(header->tensors[1].bytes, 2 * 66);
  CHECK_EQ(header->data_offset + 64 + 160, bytes.size());
}

TEST_CASE("cut anywhere, a file is a description, or one line says how many bytes are needed") {
  const std::string bytes = SmallFile().Build();
  const uint64_t table_end = Parse(bytes)->header_bytes;
  std::string states;  // e: error, v: inside the vocabulary, t: inside the table, w: whole
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto header = Parse(bytes.substr(0, size));
    char state = 'e';
    if (header) {
      state = header->complete() ? 'w' : 't';
      if (!header->cut_key.empty()) state = 'v';
      CHECK_EQ(header->complete(), size >= table_end);
      if (!header->complete()) CHECK_GT(header->header_bytes, size);
    } else {
      CheckMessage(header.error().message);
      CHECK(header.error().IsBadInput());
    }
    if (states.empty() || states.back() != state) states += state;
  }
  CHECK_EQ(states, "evevevetw");
}

TEST_CASE("where a description is cut, the error says what is there and what is needed") {
  const std::string bytes = SmallFile().Build();
  const size_t at = bytes.find("some.numbers") + 20;
  const auto cut = Parse(bytes.substr(0, at));
  REQUIRE_FALSE(cut.has_value());
  CHECK_EQ(cut.error().message,
           fmt::format("m.gguf: the file ends inside key \"some.numbers\"; of its 6 keys the first "
                       "{} bytes hold 1, at least {} bytes are needed",
                       at, at + 8));
}

TEST_CASE("cut in its vocabulary, a header has the keys before and the vocabulary's size") {
  const std::string bytes = SmallFile().Build();
  const auto header = Parse(bytes.substr(0, bytes.find("bc")));
  REQUIRE(header.has_value());
  CHECK_EQ(header->cut_key, "tokenizer.ggml.tokens");
  CHECK_EQ(header->whole_keys, 2);
  CHECK_EQ(header->stated_keys, 6);
  CHECK_EQ(header->metadata.ArraySize("tokenizer.ggml.tokens"), 3);
  CHECK(header->tensors.empty());
  CHECK_FALSE(header->complete());
}

TEST_CASE("changed anywhere, a header is read or refused with one line") {
  const std::string bytes = SmallFile().Build();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const char byte : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string changed = bytes;
      changed[at] = byte;
      const auto header = Parse(changed);
      if (!header) CheckMessage(header.error().message);
    }
  }
}

TEST_CASE("a form without a known size takes the bytes up to the next tensor or the end") {
  GgufBuilder file;
  file.Tensor("a", {8, 4}, kUnknown, std::string(96, '\0'));
  file.Tensor("b", {8, 4}, kF16, std::string(64, '\0'));
  file.Tensor("c", {8, 4}, kUnknown, std::string(32, '\0'));
  const std::string bytes = file.Build();
  const auto header = Parse(bytes);
  REQUIRE(header.has_value());
  CHECK_EQ(header->tensors[0].bytes, 96);
  CHECK_EQ(header->tensors[1].bytes, 64);
  CHECK_EQ(header->tensors[2].bytes, 32);
  // Where the data isn't there the end of the file says nothing.
  const auto cut = Parse(bytes.substr(0, header->data_offset + 10));
  REQUIRE(cut.has_value());
  CHECK_EQ(cut->tensors[0].bytes, 96);
  CHECK_FALSE(cut->tensors[2].bytes.has_value());
}

TEST_CASE("rows that a form's blocks don't divide are measured by their place") {
  GgufBuilder file;
  file.Tensor("a", {8, 4}, kIq2Xxs, std::string(96, '\0'));
  CHECK_EQ(Parse(file.Build())->tensors[0].bytes, 96);
}

TEST_CASE("two tensors of one name are refused") {
  GgufBuilder file;
  file.Tensor("a", {8}, kF16, std::string(16, '\0'));
  file.Tensor("a", {8}, kF16, std::string(16, '\0'));
  CHECK_EQ(Parse(file.Build()).error().message, "m.gguf: there are two tensors \"a\"");
}

TEST_CASE("counts and sizes that no file can have neither allocate nor hang") {
  GgufBuilder many = SmallFile();
  many.claimed_tensors = UINT64_MAX;
  CheckMessage(Parse(many.Build()).error().message);
  GgufBuilder pairs = SmallFile();
  pairs.claimed_pairs = UINT64_MAX;
  CheckMessage(Parse(pairs.Build()).error().message);
  for (const uint32_t type : {GgufBuilder::kString, GgufBuilder::kI64, GgufBuilder::kArray, 77U}) {
    for (const char* key : {"tokenizer.ggml.tokens", "numbers"}) {
      GgufBuilder array;
      array.Array(key, type, UINT64_MAX, std::string(100, '\0'));
      const auto parsed = Parse(array.Build());
      if (parsed) {
        CHECK_EQ(parsed->cut_key, "tokenizer.ggml.tokens");
      } else {
        CheckMessage(parsed.error().message);
      }
    }
  }
}

TEST_CASE("a header longer than the first read is read on") {
  const TempFolder folder;
  GgufBuilder file = SmallFile();
  std::string tokens;
  constexpr uint64_t kTokens = 200'000;
  for (uint64_t i = 0; i < kTokens; ++i) tokens += RawText("some token");
  file.Array("tokenizer.ggml.more", GgufBuilder::kString, kTokens, tokens);
  const std::string path = folder.File("m.gguf");
  std::ofstream(path, std::ios::binary) << file.Build();
  const auto header = ReadGgufHeader(path);
  REQUIRE_MESSAGE(header.has_value(), (header ? "" : header.error().message));
  CHECK(header->complete());
  CHECK_EQ(header->metadata.ArraySize("tokenizer.ggml.more"), kTokens);
}

TEST_CASE("the header of a file of 100 GB is read in less than 200 ms") {
  const TempFolder folder;
  GgufBuilder file = SmallFile();
  std::string tokens;
  constexpr uint64_t kTokens = 250'000;
  for (uint64_t i = 0; i < kTokens; ++i) tokens += RawText(fmt::format("token{}", i));
  file.Array("tokenizer.ggml.merges", GgufBuilder::kString, kTokens, tokens);
  file.Array("tokenizer.ggml.token_type", GgufBuilder::kI32, kTokens, std::string(4 * kTokens, 1));
  for (int i = 0; i < 2000; ++i) {
    file.Tensor(fmt::format("blk.{}.ffn_gate_exps.weight", i), {5120, 9000}, kF16, "",
                uint64_t{50} * 1024 * 1024 * static_cast<uint64_t>(i));
  }
  const std::string path = folder.File("m.gguf");
  WriteSparse(path, file.Build(), uint64_t{100} * 1000 * 1000 * 1000);
  double best_ms = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const auto header = ReadGgufHeader(path);
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    REQUIRE_MESSAGE(header.has_value(), (header ? "" : header.error().message));
    CHECK(header->complete());
    CHECK_EQ(header->tensors.size(), 2002);
    best_ms = std::min(best_ms, ms.count());
  }
  MESSAGE("header of a 100 GB file: " << best_ms << " ms");
  CHECK_LT(best_ms, 200);
}

}  // namespace cairn
