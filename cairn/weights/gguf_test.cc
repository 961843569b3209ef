#include "cairn/weights/gguf.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "cairn/weights/gguf_builder_for_tests.h"

namespace cairn {
namespace {

using B = GgufBuilder;
constexpr uint32_t kGgmlF32 = 0;
constexpr uint32_t kGgmlQ8 = 8;
constexpr uint32_t kGgmlIq2Xxs = 16;

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<std::unique_ptr<WeightFile>> Parse(const std::string& bytes) {
  return ParseGguf(AsBytes(bytes), "m.gguf");
}

// "" if it parses.
std::string ErrorOf(const std::string& bytes) {
  const auto file = Parse(bytes);
  return file ? "" : file.error().message;
}
std::string ErrorOf(const GgufBuilder& builder) { return ErrorOf(builder.Build()); }

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

GgufBuilder Example() {
  GgufBuilder builder;
  builder.Pair("general.architecture", B::kString, RawText("llama"))
      .Pair("llama.block_count", B::kU32, Raw<uint32_t>(2))
      .Array("llama.heads", B::kU32, 2, Raw<uint32_t>(4) + Raw<uint32_t>(8))
      .Array("tokens", B::kString, 2, RawText("a") + RawText(""))
      .Tensor("a.weight", {2, 3}, kGgmlF32, std::string(24, 'a'))
      .Tensor("b.weight", {32, 2}, kGgmlQ8, std::string(68, 'b'))
      .Tensor("c.weight", {256}, kGgmlIq2Xxs, std::string(66, 'c'));
  return builder;
}

}  // namespace

TEST_CASE("a GGUF file gives its metadata and its tensors, outermost dimension first") {
  for (const uint32_t version : {2u, 3u}) {
    GgufBuilder builder = Example();
    builder.version = version;
    const std::string bytes = builder.Build();
    const auto parsed = Parse(bytes);
    REQUIRE(parsed.has_value());
    const WeightFile& file = **parsed;
    CHECK_EQ(file.where(), "m.gguf");
    CHECK_EQ(file.metadata().String("general.architecture").value(), "llama");
    CHECK_EQ(file.metadata().Int("llama.block_count").value(), 2);
    CHECK_EQ(file.metadata().Ints("llama.heads").value(), std::vector<int64_t>{4, 8});
    CHECK_EQ(file.metadata().Strings("tokens").value()[0], "a");
    REQUIRE_EQ(file.tensors().size(), 3);
    const TensorInfo* a = file.Require("a.weight").value();
    CHECK_EQ(a->shape, std::vector<int64_t>{3, 2});
    CHECK_EQ(a->dtype, DType::kF32);
    const TensorInfo* b = file.Require("b.weight").value();
    CHECK_EQ(b->type_name, "q8_0");
    CHECK_EQ(std::memcmp(b->bytes.data(), std::string(68, 'b').data(), b->bytes.size()), 0);
    CHECK_EQ(b->bytes.size(), 68);
  }
}

TEST_CASE("a tensor of an unsupported type opens, and its use names tensor and type") {
  const std::string bytes = Example().Build();
  const auto file = Parse(bytes);
  REQUIRE(file.has_value());
  const TensorInfo* c = (*file)->Find("c.weight");
  REQUIRE(c != nullptr);
  CHECK_EQ(c->dtype, std::nullopt);
  const auto used = (*file)->Require("c.weight");
  CHECK_EQ(used.error().code, ErrorCode::kUnsupported);
  CHECK(Contains(used.error().message,
                 "m.gguf: tensor c.weight has type \"iq2_xxs\", which is not supported; supported "
                 "are f32 f16 bf16 q8_0"));
}

TEST_CASE("an absent tensor is named, and a part of a split model is explained") {
  const std::string whole = Example().Build();
  const auto file = Parse(whole);
  REQUIRE(file.has_value());
  CHECK_EQ((*file)->Find("x"), nullptr);
  CHECK_EQ((*file)->Require("x").error().message, "m.gguf: tensor x is missing");
  const std::string part = Example().Pair("split.count", B::kU16, Raw<uint16_t>(3)).Build();
  const auto part_file = Parse(part);
  REQUIRE(part_file.has_value());
  CHECK(Contains((*part_file)->Require("x").error().message, "split into 3 files"));
}

TEST_CASE("a file cut off at any byte is an error and never more") {
  const std::string whole = Example().Build();
  // The last tensor is of an unsupported type, so the end of its data is not known to be needed.
  const size_t needed = whole.size() - 96;
  REQUIRE_EQ(ErrorOf(whole.substr(0, needed)), "");
  for (size_t size = 0; size < needed; ++size) {
    CAPTURE(size);
    REQUIRE_NE(ErrorOf(whole.substr(0, size)), "");
  }
}

TEST_CASE("any one byte changed is an error or a file, never more") {
  const std::string whole = Example().Build();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x7f, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto file = Parse(changed);
      if (!file) CHECK(file.error().message.starts_with("m.gguf: "));
    }
  }
}

TEST_CASE("files that are not little-endian GGUF 2 or 3 say what they are") {
  GgufBuilder builder = Example();
  CHECK(Contains(ErrorOf(""), "ends inside the header"));
  CHECK(Contains(ErrorOf("GGML" + builder.Build().substr(4)), "starts with \"GGML\""));
  builder.version = 1;
  CHECK(Contains(ErrorOf(builder), "GGUF version 1, expected 2 or 3"));
  builder.version = 4;
  CHECK(Contains(ErrorOf(builder), "GGUF version 4, expected 2 or 3"));
  builder.version = 3u << 24;
  CHECK(Contains(ErrorOf(builder), "big-endian"));
}

TEST_CASE(
    "counts of keys or tensors that the file can't hold are errors before anything is allocated") {
  for (const uint64_t count :
       {uint64_t{1'000'000'000'000}, uint64_t{1} << 61, std::numeric_limits<uint64_t>::max()}) {
    GgufBuilder pairs = Example();
    pairs.claimed_pairs = count;
    CHECK_NE(ErrorOf(pairs), "");
    GgufBuilder tensors = Example();
    tensors.claimed_tensors = count;
    CHECK_NE(ErrorOf(tensors), "");
  }
}

TEST_CASE("tensors that contradict the format are named") {
  const std::string row(64, 'x');
  const auto with = [&](const std::vector<uint64_t>& dimensions, uint32_t type) {
    return ErrorOf(GgufBuilder().Tensor("t", dimensions, type, row));
  };
  CHECK_EQ(with({16}, kGgmlF32), "");
  CHECK(Contains(ErrorOf(GgufBuilder().Tensor("", {1}, kGgmlF32, row)), "a name of 0 bytes"));
  CHECK(Contains(ErrorOf(Example().Tensor("a.weight", {1}, kGgmlF32, row)),
                 "there are two tensors \"a.weight\""));
  CHECK(Contains(with({}, kGgmlF32), "tensor \"t\" has 0 dimensions"));
  CHECK(Contains(with({1, 1, 1, 1, 1}, kGgmlF32), "has 5 dimensions, expected 1 to 4"));
  CHECK(Contains(with({4, 0}, kGgmlF32), "has a dimension of size 0"));
  CHECK(Contains(with({~uint64_t{0}}, kGgmlF32), "has a dimension of size 18446744073709551615"));
  const uint64_t large = uint64_t{1} << 32;
  CHECK(Contains(with({large, large}, kGgmlF32), "has more than 2^63 elements"));
  CHECK(Contains(with({large, large}, kGgmlIq2Xxs), "has more than 2^63 elements"));
  CHECK(Contains(with({large, large / 4}, kGgmlF32), "is larger than 2^63 bytes"));
  CHECK(Contains(with({large}, kGgmlF32), "but the data has only 64"));
  CHECK(Contains(with({17}, kGgmlF32), "takes 68 bytes at offset 0, but the data has only 64"));
  CHECK(Contains(with({48}, kGgmlQ8),
                 "has rows of 48 elements, which the blocks of 32 of q8_0 don't divide"));
  CHECK(Contains(with({16, 32}, kGgmlQ8), "has rows of 16 elements"));
}

TEST_CASE("tensor offsets outside, misaligned or shared are errors") {
  const std::string row(64, 'x');
  const auto at = [&](uint64_t offset) {
    return ErrorOf(
        GgufBuilder().Tensor("t", {16}, kGgmlF32, row).Tensor("u", {16}, kGgmlF32, row, offset));
  };
  CHECK_EQ(at(64), "");
  CHECK(Contains(at(96), "takes 64 bytes at offset 96, but the data has only 128"));
  CHECK(Contains(at(uint64_t{1} << 63), "tensor \"u\" takes 64 bytes"));
  CHECK(Contains(at(~uint64_t{31}), "tensor \"u\" takes 64 bytes"));
  CHECK(Contains(at(65), "starts at offset 65, which is not a multiple of 32"));
  CHECK(Contains(at(32), "tensors \"t\" and \"u\" overlap"));
  CHECK(Contains(at(0), "tensors \"t\" and \"u\" overlap"));
}

TEST_CASE("the alignment must be a power of two of a sensible size") {
  const auto aligned = [](uint32_t claimed, uint64_t used) {
    GgufBuilder builder;
    builder.alignment = used;
    builder.Pair("general.alignment", B::kU32, Raw(claimed));
    builder.Tensor("t", {16}, kGgmlF32, std::string(64, 'x'));
    builder.Tensor("u", {16}, kGgmlF32, std::string(64, 'x'));
    return ErrorOf(builder);
  };
  for (const uint32_t right : {1u, 8u, 64u, 4096u}) CHECK_EQ(aligned(right, right), "");
  for (const uint32_t wrong : {0u, 3u, 48u, 1u << 21, 1u << 31}) {
    CHECK(Contains(aligned(wrong, 32), "key general.alignment is"));
  }
  CHECK(Contains(aligned(4096, 32), "ends inside the padding"));
  CHECK(Contains(ErrorOf(Example().Pair("general.alignment", B::kString, RawText("32"))),
                 "key general.alignment is a string, expected an integer"));
}

TEST_CASE("a file without tensors is fine: it may hold a vocabulary only") {
  CHECK_EQ(ErrorOf(GgufBuilder().Pair("k", B::kU8, "x")), "");
  CHECK_EQ(ErrorOf(GgufBuilder()), "");
}

}  // namespace cairn
