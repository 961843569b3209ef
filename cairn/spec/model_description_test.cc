#include "cairn/spec/model_description.h"

#include <doctest/doctest.h>

#include "cairn/spec/catalog.h"
#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

TEST_CASE("a config.json's text is read as that file") {
  const ModelDescription good = {.where = "m/config.json", .config = SmallConfig("llama")};
  CHECK(ModelSpecOf(good)->family == "llama");
  const auto bad = ModelSpecOf({.where = "m/config.json", .config = ""});
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message.starts_with("m/config.json: not JSON"));
}

TEST_CASE("a GGUF file's tensors are asked for by name and size") {
  const FakeGguf file("llama");
  ModelDescription description = {.where = "m.gguf"};
  description.gguf = GgufDescription{.metadata = file.metadata, .rows = {{"output.weight", 9}}};
  CHECK_FALSE(ModelSpecOf(description)->tied_head);
  const GgufTensors tensors = description.gguf->Tensors();
  CHECK(tensors.has("output.weight"));
  CHECK(tensors.rows("output.weight") == 9);
  CHECK_FALSE(tensors.rows("output").has_value());
  CHECK(tensors.complete);
}

TEST_CASE("without a file it is a name or a shape") {
  const std::string name(Catalog().front().name);
  const auto named = ModelSpecOf({.where = name});
  REQUIRE(named.has_value());
  CHECK(named->layers.size() == ModelFromName(name)->layers.size());
  CHECK(ModelSpecOf({.where = "layers=3,kv_heads=2,head_dim=64"})->layers.size() == 3);
  CHECK_FALSE(ModelSpecOf({.where = "no such model"}).has_value());
}

}  // namespace
}  // namespace cairn
