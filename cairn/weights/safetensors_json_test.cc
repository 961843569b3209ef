#include "cairn/weights/safetensors_json.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

// "" if it parses.
std::string HeaderError(const std::string& json) {
  Metadata metadata("m.safetensors");
  const auto entries = ParseSafetensorsHeader(json, metadata);
  return entries ? "" : entries.error().message;
}
std::string IndexError(const std::string& json) {
  const auto files = ParseSafetensorsIndex(json, "index.json");
  return files ? "" : files.error().message;
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a header lists its tensors in order, with the strings of its metadata") {
  Metadata metadata("m.safetensors");
  const auto entries = ParseSafetensorsHeader(
      R"({"z":{"shape":[1,2],"data_offsets":[4,12],"dtype":"F32"},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"NEW","shape":[],"data_offsets":[0,4]}})",
      metadata);
  REQUIRE(entries.has_value());
  REQUIRE_EQ(entries->size(), 2);
  const SafetensorsEntry& z = entries->front();
  CHECK_EQ(z.name, "z");
  CHECK_EQ(z.type, "F32");
  CHECK_EQ(z.shape, std::vector<int64_t>{1, 2});
  CHECK_EQ(z.begin, 4);
  CHECK_EQ(z.end, 12);
  CHECK_EQ(entries->back().type, "NEW");
  CHECK_EQ(metadata.String("safetensors.format").value(), "pt");
}

TEST_CASE("a header that is not what the format says is named") {
  CHECK_EQ(HeaderError("{}"), "");
  CHECK_EQ(HeaderError("{}   "), "");
  CHECK(Contains(HeaderError(""), "header: not valid JSON"));
  CHECK(Contains(HeaderError("{} {}"), "not valid JSON at byte"));
  CHECK(Contains(HeaderError("[]"), "header: expected an object"));
  CHECK(Contains(HeaderError("1"), "header: expected an object"));
  CHECK(Contains(HeaderError(R"({"a":1})"), R"(header: key "a": expected an object)"));
  CHECK(Contains(HeaderError(R"({"a":{}})"), R"(key "a": expected an object)"));
  CHECK(Contains(HeaderError(R"({"a":{"dtype":1}})"), R"(key "a" / "dtype")"));
  CHECK(Contains(HeaderError(R"({"a":{"dtype":"F32","dtype":"F32"}})"), R"("dtype")"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":{}}})"), R"(key "a" / "shape")"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":[-1]}})"), R"(key "a" / "shape")"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":[1.5]}})"), R"(key "a" / "shape")"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":["1"]}})"), R"(key "a" / "shape")"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":[[1]]}})"), R"(key "a" / "shape")"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":[18446744073709551615]}})"), "below 2^63"));
  CHECK(Contains(HeaderError(R"({"a":{"shape":[1],"shape":[1]}})"), R"("shape")"));
  CHECK(Contains(HeaderError(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})"),
                 R"(key "a": expected an object)"));
  CHECK(Contains(HeaderError(R"({"a":{"extra":[1]}})"), R"(key "a" / "extra")"));
  CHECK(Contains(HeaderError(R"({"__metadata__":{"k":1}})"), R"(key "__metadata__" / "k")"));
  CHECK(Contains(HeaderError(R"({"__metadata__":{"k":"1","k":"2"}})"), "is there twice"));
  CHECK(Contains(HeaderError("{\"\xff\":1}"), "not valid JSON"));
}

TEST_CASE("deep nesting is an error, not a stack overflow") {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    CHECK_NE(HeaderError(deep), "");
    CHECK_NE(HeaderError("{\"a\":{\"shape\":" + deep), "");
  }
}

TEST_CASE("an index maps tensors to files, whatever else it says") {
  const auto files = ParseSafetensorsIndex(
      R"({"metadata":{"total_size":4,"x":[{},null,true,-1,1.5]},"weight_map":{"b":"2","a":"1"}})",
      "index.json");
  REQUIRE(files.has_value());
  CHECK_EQ(*files, std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}});
  CHECK_EQ(IndexError("{}"), "");
  CHECK(Contains(IndexError(""), "index.json: not valid JSON"));
  CHECK(Contains(IndexError("[]"), "index.json: expected names of files"));
  CHECK(Contains(IndexError(R"({"weight_map":[]})"), "expected names of files"));
  CHECK(Contains(IndexError(R"({"weight_map":{"a":1}})"),
                 R"(index.json: key "weight_map" / "a": expected names of files)"));
  CHECK(Contains(IndexError(R"({"weight_map":{"a":{}}})"), "expected names of files"));
  CHECK(Contains(IndexError(R"({"weight_map":{"a":"1","a":"2"}})"), "is there twice"));
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"m\":";
  CHECK_EQ(IndexError(deep), R"(index.json: key "m" / "m" / "m": more than 16 deep)");
}

}  // namespace cairn
