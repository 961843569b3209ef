#include "cairn/spec/catalog.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

std::string NameOf(std::string_view name) {
  const auto entry = FindInCatalog(name);
  return entry ? std::string(entry->name) : entry.error().message;
}

}  // namespace

TEST_CASE("every entry of the catalogue is a model with a layout and a source") {
  CHECK_GE(Catalog().size(), 200);
  for (const CatalogEntry& entry : Catalog()) {
    CAPTURE(entry.name);
    const auto model = SpecOf(entry);
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    CHECK(StateLayout::Make(StateSpecOf(*model, {})).has_value());
    CHECK_FALSE(SourceText(entry.source).empty());
    CHECK_NE(entry.name.find('/'), std::string_view::npos);
  }
}

TEST_CASE("no two entries answer to one name") {
  std::set<std::string_view> names;
  for (const CatalogEntry& entry : Catalog()) {
    CAPTURE(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK_EQ(NameOf(entry.name), entry.name);
    CHECK_EQ(NameOf(entry.name.substr(entry.name.find('/') + 1)), entry.name);
    std::string_view rest = entry.aliases;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(", "), rest.size());
      CHECK_EQ(NameOf(rest.substr(0, comma)), entry.name);
      rest.remove_prefix(std::min(comma + 2, rest.size()));
    }
  }
}

TEST_CASE("a model is found as people write it") {
  CHECK_EQ(NameOf("meta-llama/Llama-2-7b-hf"), "meta-llama/Llama-2-7b-hf");
  CHECK_EQ(NameOf("llama 2 7b"), "meta-llama/Llama-2-7b-hf");
  CHECK_EQ(NameOf("Llama_3.1_8B"), "meta-llama/Llama-3.1-8B");
  CHECK_EQ(NameOf("QWEN3.5-4B"), "Qwen/Qwen3.5-4B");
  CHECK_EQ(NameOf("Gemma 1 7B"), "google/gemma-7b");
  CHECK_EQ(NameOf("DeepSeek-V3"), "deepseek-ai/DeepSeek-V3");
}

TEST_CASE("an unknown name gets the nearest ones") {
  CHECK_NE(NameOf("Qwen3-8C").find("Qwen/Qwen3-8B"), std::string::npos);
  CHECK_NE(NameOf("mixtral").find("mistralai/Mixtral-8x7B-v0.1"), std::string::npos);
  CHECK_NE(NameOf("lama-2-7b").find("meta-llama/Llama-2-7b-hf"), std::string::npos);
  const std::string far = NameOf("zzzzzzzzzzzzzzzz");
  CHECK_EQ(far.find("near:"), std::string::npos);
  CHECK_NE(far.find("no such file, nor a model of the catalogue"), std::string::npos);
  CHECK_EQ(NameOf("a\nb").find('\n'), std::string::npos);
  CHECK_NE(NameOf(std::string(1000, 'x')).find("expected at most 200"), std::string::npos);
}

TEST_CASE("a name with an equals sign is a shape") {
  const auto shape = ModelFromName("layers=2,kv_heads=1,head_dim=8");
  REQUIRE(shape.has_value());
  CHECK_EQ(shape->layers.size(), 2);
  const auto named = ModelFromName("Qwen3-8B");
  REQUIRE(named.has_value());
  CHECK_EQ(named->layers.size(), 36);
  CHECK_EQ(named->context_length, TokenCount(40960));
  CHECK_FALSE(ModelFromName("").has_value());
  for (const char* name : {"layers=2,kv_heads=1,head_dim=8", "qwen3-8b"}) {
    const auto json = ConfigJsonOfName(name);
    REQUIRE(json.has_value());
    const auto model = ModelSpecFromConfig(*json, name);
    REQUIRE(model.has_value());
    CHECK(StateSpecOf(*model, {}) == StateSpecOf(*ModelFromName(name), {}));
  }
  CHECK_FALSE(ConfigJsonOfName("qwen-none").has_value());
}

}  // namespace cairn
