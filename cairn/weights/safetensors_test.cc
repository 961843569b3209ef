#include "cairn/weights/safetensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "cairn/base/temp_folder_for_tests.h"

namespace cairn {
namespace {

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A file of this header and data.
std::string FileOf(const std::string& json, const std::string& data) {
  const uint64_t size = json.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + json + data;
}

std::string ErrorOf(const std::string& bytes) {
  const auto file = ParseSafetensors(AsBytes(bytes), "m.safetensors");
  return file ? "" : file.error().message;
}
std::string ErrorOfHeader(const std::string& json) { return ErrorOf(FileOf(json, "12345678")); }

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kExample =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[8,12]}})";

void Write(const std::string& path, const std::string& bytes) {
  REQUIRE(WriteFileAtomically(path, AsBytes(bytes)).has_value());
}

}  // namespace

TEST_CASE("a safetensors file gives its metadata and its tensors") {
  const std::string bytes = FileOf(kExample, "aaaaaaaabbbb");
  const auto parsed = ParseSafetensors(AsBytes(bytes), "m.safetensors");
  REQUIRE(parsed.has_value());
  const WeightFile& file = **parsed;
  CHECK_EQ(file.metadata().String("safetensors.format").value(), "pt");
  REQUIRE_EQ(file.tensors().size(), 2);
  const TensorInfo* a = file.Require("a").value();
  CHECK_EQ(a->shape, std::vector<int64_t>{1, 2});
  CHECK_EQ(a->dtype, DType::kF32);
  CHECK_EQ(std::memcmp(a->bytes.data(), "aaaaaaaa", a->bytes.size()), 0);
  CHECK_EQ(file.Find("b")->bytes.size(), 4);
  CHECK(Contains(file.Require("b").error().message,
                 "m.safetensors: tensor b has type \"F8_E4M3\", which is not supported"));
}

TEST_CASE("a header cut off or changed at any byte is an error or a file, never more") {
  const std::string whole = FileOf(kExample, "aaaaaaaabbbb");
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    REQUIRE_NE(ErrorOf(whole.substr(0, size)), "");
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char change : {'\1', '\2', '\x7f', '\x80'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      ErrorOf(changed);
    }
  }
}

TEST_CASE("a header size beyond the file or the bound is an error") {
  CHECK(Contains(ErrorOf("short"), "it has 5 bytes"));
  CHECK(Contains(ErrorOf(std::string(8, '\xff') + "{}"), "its header 18446744073709551615"));
  std::string large;
  large.resize(100'000'100, ' ');
  const uint64_t size = 100'000'001;
  std::memcpy(large.data(), &size, sizeof(size));
  CHECK(Contains(ErrorOf(large), "(at most 100000000)"));
}

TEST_CASE("ranges that leave the file, don't fit the shape or overlap are errors") {
  const auto with = [](const std::string& shape, const std::string& offsets) {
    return ErrorOfHeader(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" +
                         offsets + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})");
  };
  CHECK_EQ(with("[1]", "[0,4]"), "");
  CHECK_EQ(with("[]", "[0,4]"), "");
  CHECK_EQ(with("[0,5]", "[4,4]"), "");
  CHECK(Contains(with("[1]", "[8,12]"), "data_offsets 8 to 12, but there are 8 bytes"));
  CHECK(Contains(with("[1]", "[4,0]"), "data_offsets 4 to 0"));
  CHECK(Contains(with("[1]", "[0,9223372036854775807]"), "but there are 8 bytes"));
  CHECK(Contains(with("[2]", "[0,4]"), "tensor \"a\" has 2 elements of F32 in 4 bytes"));
  CHECK(Contains(with("[4294967296,4294967296]", "[0,4]"), "more than 2^63 elements"));
  CHECK(Contains(with("[9223372036854775807]", "[0,4]"), "elements of F32 in 4 bytes"));
  CHECK(Contains(with("[1]", "[4,8]"), "tensors \"a\" and \"b\" overlap"));
  CHECK(Contains(with("[2]", "[0,8]"), "tensors \"a\" and \"b\" overlap"));
  CHECK(Contains(ErrorOfHeader(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                               R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})"),
                 "there are two tensors \"a\""));
}

TEST_CASE("what is written is read back, and the same tensors give the same bytes") {
  const TempFolder folder;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> ints = {7};
  const std::vector<NamedTensor> tensors = {
      {"z", DType::kF32, {2, 3}, std::as_bytes(std::span(floats))},
      {"a \"quoted\"", DType::kI32, {1}, std::as_bytes(std::span(ints))},
      {"none", DType::kU8, {0}, {}}};
  REQUIRE(WriteSafetensors(folder.File("1.safetensors"), tensors).has_value());
  REQUIRE(WriteSafetensors(folder.File("2.safetensors"), tensors).has_value());
  const std::string bytes = ReadFile(folder.File("1.safetensors"), 1 << 20).value();
  CHECK_EQ(bytes, ReadFile(folder.File("2.safetensors"), 1 << 20).value());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  CHECK_EQ(header_bytes % 8, 0);
  CHECK(
      bytes.substr(8).starts_with(R"({"z":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"));
  const auto file = OpenWeightFile(folder.File("1.safetensors"));
  REQUIRE(file.has_value());
  const TensorInfo* z = (*file)->Require("z").value();
  CHECK_EQ(z->shape, std::vector<int64_t>{2, 3});
  CHECK(std::ranges::equal(z->bytes, std::as_bytes(std::span(floats))));
  const TensorInfo* a = (*file)->Require("a \"quoted\"").value();
  CHECK(std::ranges::equal(a->bytes, std::as_bytes(std::span(ints))));
  CHECK_EQ((*file)->Require("none").value()->bytes.size(), 0);
}

TEST_CASE("what safetensors can't hold is refused, and no file is made") {
  const TempFolder folder;
  const std::string block(18, 'x');
  const NamedTensor quantized = {"q", DType::kQ4_0, {32}, AsBytes(block)};
  CHECK(Contains(WriteSafetensors(folder.File("a"), {&quantized, 1}).error().message,
                 "safetensors can't hold q4_0 (tensor \"q\")"));
  CHECK_FALSE(FileExists(folder.File("a")));
  const NamedTensor wrong = {"w", DType::kF32, {2}, AsBytes(block)};
  CHECK_THROWS_AS(static_cast<void>(WriteSafetensors(folder.File("a"), {&wrong, 1})),
                  std::logic_error);
}

TEST_CASE("a folder opens its shards through the index") {
  const TempFolder folder;
  const std::string a = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  const std::string b = R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  Write(folder.File("x-1.safetensors"), FileOf(a, "aa"));
  Write(folder.File("x-2.safetensors"), FileOf(b, "bb"));
  const std::string index_path = folder.File("model.safetensors.index.json");
  const auto error = [&](const std::string& map) {
    Write(index_path, R"({"metadata":{"total_size":4,"x":[{}]},"weight_map":)" + map + "}");
    const auto file = OpenWeightFile(folder.path());
    return file ? "" : file.error().message;
  };
  CHECK_EQ(error(R"({"a":"x-1.safetensors","b":"x-2.safetensors"})"), "");
  const auto file = OpenWeightFile(folder.path());
  REQUIRE(file.has_value());
  CHECK_EQ(std::memcmp((*file)->Require("b").value()->bytes.data(), "bb", 2), 0);
  CHECK_EQ((*file)->where(), folder.path());

  CHECK(Contains(error(R"({"a":"../x-1.safetensors"})"), "is not the name of a file beside it"));
  CHECK(Contains(error(R"({"a":"/etc/passwd"})"), "is not the name of a file beside it"));
  CHECK(Contains(error(R"({"a":".."})"), "is not the name of a file beside it"));
  CHECK(Contains(error(R"({"a":""})"), "is not the name of a file beside it"));
  CHECK(Contains(error(R"({"a":"x-3.safetensors"})"), "x-3.safetensors: cannot open"));
  CHECK(Contains(error(R"({"a":"x-1.safetensors","c":"x-1.safetensors"})"),
                 "tensor \"c\" is missing, the index says it is here"));
  CHECK(Contains(error("{}"), "names 0 files in weight_map"));
  Write(folder.File("x-2.safetensors"), FileOf(a, "aa"));
  CHECK(Contains(error(R"({"a":"x-1.safetensors","a2":"x-2.safetensors"})"), "a2"));
  Write(folder.File("x-2.safetensors"), FileOf(a.substr(0, 2) + "b" + a.substr(3), "bb"));
  CHECK_EQ(error(R"({"a":"x-1.safetensors","b":"x-2.safetensors"})"), "");
}

TEST_CASE("one tensor in two shards is an error") {
  const TempFolder folder;
  const std::string two = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  Write(folder.File("1.safetensors"), FileOf(two, "ab"));
  Write(folder.File("2.safetensors"), FileOf(two, "ab"));
  Write(folder.File("model.safetensors.index.json"),
        R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  CHECK(Contains(OpenWeightFile(folder.path()).error().message, "there are two tensors \"a\""));
}

}  // namespace cairn
