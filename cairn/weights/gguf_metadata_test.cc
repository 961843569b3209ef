#include "cairn/weights/gguf_metadata.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <limits>

#include "cairn/weights/gguf.h"
#include "cairn/weights/gguf_builder_for_tests.h"

namespace cairn {
namespace {

using B = GgufBuilder;

Result<std::unique_ptr<WeightFile>> Parse(const std::string& bytes) {
  return ParseGguf(std::as_bytes(std::span(bytes)), "m.gguf");
}

// "" if it parses.
std::string ErrorOf(const GgufBuilder& builder) {
  const std::string bytes = builder.Build();
  const auto file = Parse(bytes);
  return file ? "" : file.error().message;
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every scalar and array type is read") {
  GgufBuilder builder;
  builder.Pair("u8", B::kU8, Raw<uint8_t>(200))
      .Pair("i8", B::kI8, Raw<int8_t>(-3))
      .Pair("u16", B::kU16, Raw<uint16_t>(60000))
      .Pair("i16", B::kI16, Raw<int16_t>(-300))
      .Pair("u32", B::kU32, Raw<uint32_t>(4'000'000'000))
      .Pair("i32", B::kI32, Raw<int32_t>(-70000))
      .Pair("u64", B::kU64, Raw<uint64_t>(5))
      .Pair("u64max", B::kU64, Raw(std::numeric_limits<uint64_t>::max()))
      .Pair("i64", B::kI64, Raw<int64_t>(-5))
      .Pair("f32", B::kF32, Raw(0.5F))
      .Pair("f64", B::kF64, Raw(0.25))
      .Pair("bool", B::kBool, Raw<uint8_t>(1))
      .Array("bools", B::kBool, 2, Raw<uint8_t>(1) + Raw<uint8_t>(0))
      .Array("i8s", B::kI8, 1, Raw<int8_t>(-1))
      .Array("u16s", B::kU16, 1, Raw<uint16_t>(7))
      .Array("i16s", B::kI16, 1, Raw<int16_t>(-7))
      .Array("i32s", B::kI32, 1, Raw<int32_t>(-9))
      .Array("u64s", B::kU64, 1, Raw<uint64_t>(9))
      .Array("i64s", B::kI64, 1, Raw<int64_t>(-9))
      .Array("f32s", B::kF32, 2, Raw(0.5F) + Raw(1.5F))
      .Array("f64s", B::kF64, 1, Raw(2.5))
      .Array("empty", B::kString, 0, "");
  const std::string bytes = builder.Build();
  const auto parsed = Parse(bytes);
  REQUIRE(parsed.has_value());
  const Metadata& metadata = (*parsed)->metadata();
  CHECK_EQ(metadata.Int("u8").value(), 200);
  CHECK_EQ(metadata.Int("i8").value(), -3);
  CHECK_EQ(metadata.Int("u16").value(), 60000);
  CHECK_EQ(metadata.Int("i16").value(), -300);
  CHECK_EQ(metadata.Int("u32").value(), 4'000'000'000);
  CHECK_EQ(metadata.Int("i32").value(), -70000);
  CHECK_EQ(metadata.Int("u64").value(), 5);
  CHECK_EQ(metadata.Float("u64max").value(), 18446744073709551616.0);
  CHECK_EQ(metadata.Int("i64").value(), -5);
  CHECK_EQ(metadata.Float("f32").value(), 0.5);
  CHECK_EQ(metadata.Float("f64").value(), 0.25);
  CHECK_EQ(metadata.Bool("bool").value(), true);
  CHECK_EQ(metadata.Ints("bools").value(), std::vector<int64_t>{1, 0});
  CHECK_EQ(metadata.Ints("i8s").value(), std::vector<int64_t>{-1});
  CHECK_EQ(metadata.Ints("u16s").value(), std::vector<int64_t>{7});
  CHECK_EQ(metadata.Ints("i16s").value(), std::vector<int64_t>{-7});
  CHECK_EQ(metadata.Ints("i32s").value(), std::vector<int64_t>{-9});
  CHECK_EQ(metadata.Ints("u64s").value(), std::vector<int64_t>{9});
  CHECK_EQ(metadata.Ints("i64s").value(), std::vector<int64_t>{-9});
  CHECK_EQ(metadata.Floats("f32s").value(), std::vector<double>{0.5, 1.5});
  CHECK_EQ(metadata.Floats("f64s").value(), std::vector<double>{2.5});
  CHECK_EQ(metadata.Strings("empty").value().size(), 0);
}

TEST_CASE("lengths that the file can't hold are errors before anything is allocated") {
  for (const uint64_t count :
       {uint64_t{1'000'000'000'000}, uint64_t{1} << 61, std::numeric_limits<uint64_t>::max()}) {
    for (const uint32_t type : {B::kU8, B::kU32, B::kF64, B::kString}) {
      const std::string error = ErrorOf(GgufBuilder().Array("k", type, count, "xxxxxxxxxxxxxxxx"));
      CHECK(Contains(error, "key \"k\" is an array of"));
      CHECK(Contains(error, "more than the file has room for"));
    }
    CHECK(Contains(ErrorOf(GgufBuilder().Pair("k", B::kString, Raw(count) + "x")),
                   "ends inside key \"k\""));
  }
}

TEST_CASE("arrays of more elements than any model has are refused") {
  const std::string many(kMaxGgufArrayElements / 2 + 1, '\0');
  GgufBuilder builder;
  builder.Array("a", B::kU8, many.size(), many);
  CHECK_EQ(ErrorOf(builder), "");
  builder.Array("b", B::kU8, many.size(), many);
  CHECK(Contains(ErrorOf(builder), "key \"b\": the arrays have more than 16777216 elements"));
}

TEST_CASE("keys and values that contradict the format are named") {
  CHECK(Contains(ErrorOf(GgufBuilder().Pair("", B::kU8, "x")), "key 0 has a name of 0 bytes"));
  CHECK(Contains(ErrorOf(GgufBuilder().Pair(std::string(70000, 'k'), B::kU8, "x")),
                 "key 0 has a name of 70000 bytes, expected 1 to 65535"));
  CHECK(Contains(ErrorOf(GgufBuilder().Pair("tokens", B::kU8, "x").Pair("tokens", B::kI8, "y")),
                 "key \"tokens\" is there twice"));
  CHECK(Contains(ErrorOf(GgufBuilder().Pair("k", 13, "x")),
                 "key \"k\" has the unknown value type 13"));
  CHECK(Contains(ErrorOf(GgufBuilder().Array("k", 99, 1, "x")), "unknown value type 99"));
  CHECK(Contains(ErrorOf(GgufBuilder().Pair("k", B::kBool, "\2")), "bool of value 2"));
  CHECK(Contains(ErrorOf(GgufBuilder().Array("k", B::kArray, 1, std::string(64, '\0'))),
                 "key \"k\" is an array of arrays"));
  CHECK(Contains(ErrorOf(GgufBuilder().Array("k", B::kU64, 1, Raw(~uint64_t{0}))),
                 "key \"k\" has the element 18446744073709551615"));
  CHECK(Contains(ErrorOf(GgufBuilder().Pair("a\nb", B::kU8, "")), "key \"a\\x0ab\""));
}

}  // namespace cairn
