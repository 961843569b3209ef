#include "cairn/spec/facts.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

std::string JsonOf(std::string_view facts, KeyStyle style = KeyStyle::kConfig) {
  const auto json = JsonOfFacts(facts, "name", style);
  return json ? *json : json.error().message;
}

std::string ErrorOf(std::string_view facts) {
  const auto json = JsonOfFacts(facts, "name", KeyStyle::kConfig);
  REQUIRE_FALSE(json.has_value());
  CHECK(json.error().IsBadInput());
  CHECK_EQ(json.error().message.find('\n'), std::string::npos);
  return json.error().message;
}

}  // namespace

TEST_CASE("short keys become those of a config, others stay") {
  CHECK_EQ(
      JsonOf("llama layers=2 tied=true n_group=3"),
      R"({"model_type":"llama","num_hidden_layers":2,"tie_word_embeddings":true,"n_group":3})");
  CHECK_EQ(JsonOf("layers=2,kv_heads=8", KeyStyle::kAsWritten), R"({"layers":2,"kv_heads":8})");
}

TEST_CASE("a comma goes on with a list unless a pair follows") {
  CHECK_EQ(JsonOf("t=a,b,layers=2"), R"({"t":["a","b"],"num_hidden_layers":2})");
  CHECK_EQ(JsonOf("t=2*(a,b),c"), R"({"t":["a","b","a","b","c"]})");
  CHECK_EQ(JsonOf("t=3*0,1"), R"({"t":[0,0,0,1]})");
  CHECK_EQ(JsonOf("t=1*a"), R"({"t":["a"]})");
  CHECK_EQ(JsonOf("t=[a] u=[]"), R"({"t":["a"],"u":[]})");
  CHECK_EQ(JsonOf("t=(a)"), R"({"t":["a"]})");
}

TEST_CASE("keys with dots and braces make objects") {
  CHECK_EQ(JsonOf("a.heads=2 a.b.c=1.5"), R"({"a":{"num_attention_heads":2,"b":{"c":1.5}}})");
  CHECK_EQ(JsonOf("b=2*{x.y=1 z=null},{x.y=2}"),
           R"({"b":[{"x":{"y":1},"z":null},{"x":{"y":1},"z":null},{"x":{"y":2}}]})");
}

TEST_CASE("letters of a pattern are one word") {
  CHECK_EQ(JsonOf("p=M-M*-E"), R"({"p":"M-M*-E"})");
  CHECK_EQ(JsonOf("p=inf q=nan r=-1.5e3 s=-2"), R"({"p":"inf","q":"nan","r":-1500.0,"s":-2})");
}

TEST_CASE("what isn't facts is refused with its place") {
  CHECK_EQ(ErrorOf("llama layers"),
           R"("name": after layers found the end, expected = and a value)");
  CHECK_EQ(ErrorOf("=3"), R"("name": at the start found "=", expected key=value)");
  CHECK_EQ(ErrorOf("layers=2 layers=3"), R"("name": layers comes twice, expected each key once)");
  CHECK_EQ(ErrorOf("layers=2 num_hidden_layers=3"),
           R"("name": num_hidden_layers comes twice, expected each key once)");
  CHECK_EQ(ErrorOf("layers="), R"("name": after layers found the end, expected a value)");
  CHECK_EQ(ErrorOf("layers=2;heads=3"), R"("name": after layers found ";", expected key=value)");
  CHECK_EQ(ErrorOf("a=(1"), R"("name": after a found the end, expected ))");
  CHECK_EQ(ErrorOf("a=1 a.b=2"), R"("name": a.b comes twice, expected each key once)");
  CHECK_EQ(ErrorOf("a.=2"),
           R"("name": after a. found the end, expected a key without a dot at its end)");
  CHECK_EQ(ErrorOf("a=600*1"), R"("name": after a found "1", expected 1 to 512 repetitions)");
  CHECK_EQ(ErrorOf("a=0*1"), R"("name": after a found "1", expected 1 to 512 repetitions)");
}

TEST_CASE("depth and length are bounded") {
  CHECK_NE(ErrorOf("a=" + std::string(100, '[')).find("at most 8 levels"), std::string::npos);
  CHECK_NE(ErrorOf("a=" + std::string(100, '(')).find("at most 8 levels"), std::string::npos);
  std::string braces;
  for (int i = 0; i < 100; ++i) braces += "a={";
  CHECK_NE(ErrorOf(braces).find("at most 8 levels"), std::string::npos);
  CHECK_NE(ErrorOf("a=300*[300*[300*[300*1]]]").find("at most 65536 values in all"),
           std::string::npos);
  CHECK_NE(ErrorOf("a=500*(500*1)").find("a list of at most 4096"), std::string::npos);
  CHECK_NE(ErrorOf("a=" + std::string(size_t{1} << 17, '1')).find("expected at most 65536"),
           std::string::npos);
}

TEST_CASE("the keys of facts are named as written") {
  CHECK_EQ(KeysOfFacts("llama layers=2 a.heads=3 b={c=1},{d.e=2}"),
           std::vector<std::string>{"model_type", "layers", "a.heads", "b", "b.c", "b.d.e"});
  CHECK(KeysOfFacts("layers=").empty());
}

}  // namespace cairn
