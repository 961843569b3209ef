#include "cairn/weights/gguf_table.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "cairn/weights/gguf_builder_for_tests.h"

namespace cairn {
namespace {

ByteReader ReaderOf(const std::string& bytes) {
  return ByteReader(std::as_bytes(std::span(bytes)));
}

std::string Line(const std::string& name, const std::vector<uint64_t>& sizes) {
  std::string line = RawText(name) + Raw(static_cast<uint32_t>(sizes.size()));
  for (const uint64_t size : sizes) line += Raw(size);
  return line + Raw(uint32_t{1}) + Raw(uint64_t{64});
}

}  // namespace

TEST_CASE("a file starts with its magic, version and counts") {
  const std::string bytes = "GGUF" + Raw(uint32_t{3}) + Raw(uint64_t{7}) + Raw(uint64_t{9});
  ByteReader reader = ReaderOf(bytes);
  const auto counts = ReadGgufCounts(reader, "m.gguf");
  REQUIRE(counts.has_value());
  CHECK_EQ(counts->tensors, 7);
  CHECK_EQ(counts->pairs, 9);
  CHECK_EQ(reader.wanted(), 0);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    ByteReader short_reader = ReaderOf(cut);
    CHECK_FALSE(ReadGgufCounts(short_reader, "m.gguf").has_value());
    CHECK_GT(short_reader.wanted(), size);
  }
  const std::string other = "GGML" + bytes.substr(4);
  ByteReader other_reader = ReaderOf(other);
  CHECK_FALSE(ReadGgufCounts(other_reader, "m.gguf").has_value());
  CHECK_EQ(other_reader.wanted(), 0);
}

TEST_CASE("a tensor's line lists the innermost size first") {
  const std::string bytes = Line("a.weight", {2, 3, 4});
  ByteReader reader = ReaderOf(bytes);
  const auto line = ReadGgufTensorLine(reader, 0, "m.gguf");
  REQUIRE(line.has_value());
  CHECK_EQ(line->name, "a.weight");
  CHECK_EQ(line->shape, std::vector<int64_t>{4, 3, 2});
  CHECK_EQ(line->elements, 24);
  CHECK_EQ(line->type, 1);
  CHECK_EQ(line->offset, 64);
}

TEST_CASE("a line that contradicts itself is an error that isn't for want of bytes") {
  const std::vector<std::vector<uint64_t>> shapes = {
      {}, {0}, {1, 1, 1, 1, 1}, {uint64_t{1} << 63}, {uint64_t{1} << 40, uint64_t{1} << 40}};
  for (const auto& shape : shapes) {
    const std::string bytes = Line("a", shape);
    ByteReader reader = ReaderOf(bytes);
    const auto line = ReadGgufTensorLine(reader, 0, "m.gguf");
    REQUIRE_FALSE(line.has_value());
    CHECK_EQ(reader.wanted(), 0);
    CHECK_EQ(line.error().message.find('\n'), std::string::npos);
  }
}

TEST_CASE("the alignment is a power of two") {
  Metadata metadata("m.gguf");
  CHECK_EQ(*GgufAlignment(metadata), 32);
  metadata.Set("general.alignment", int64_t{64});
  CHECK_EQ(*GgufAlignment(metadata), 64);
  for (const int64_t wrong : {int64_t{0}, int64_t{-32}, int64_t{48}, int64_t{1} << 40}) {
    metadata.Set("general.alignment", wrong);
    CHECK_FALSE(GgufAlignment(metadata).has_value());
  }
}

}  // namespace cairn
