#include "cairn/sizing/model_source.h"

#include <doctest/doctest.h>

#include <limits>

#include "cairn/spec/families_for_tests.h"

namespace cairn {
namespace {

// The model that a page makes of the source.
Result<SizedModel> Carried(const ModelSource& source) {
  CAIRN_ASSIGN(const ModelSource read, ModelSourceFromJson(ModelSourceJson(source)));
  return SizedModelOf(read);
}

TEST_CASE("a carried config.json is the same model, with the file's weights and notes") {
  ModelSource source{.name = "m",
                     .description = {.where = "m/config.json", .config = SmallConfig("llama")}};
  source.weights = {.parameters = ElementCount(7), .bytes = Bytes(14)};
  source.notes = {"one tensor is odd"};
  const auto model = Carried(source);
  REQUIRE(model.has_value());
  CHECK(model->name == "m");
  CHECK(StateSpecOf(model->spec, {}) == StateSpecOf(ModelFromJson(*source.description.config), {}));
  REQUIRE(model->weights.has_value());
  CHECK(model->weights->parameters == ElementCount(7));
  CHECK(model->weights->bytes == Bytes(14));
  CHECK(model->notes == source.notes);
}

TEST_CASE("weights of unknown size stay unknown") {
  ModelSource source{.name = "m", .description = {.where = "m", .config = SmallConfig("llama")}};
  CHECK_FALSE(Carried(source)->weights.has_value());
  source.weights = {.parameters = ElementCount(7), .bytes = std::nullopt};
  CHECK_FALSE(Carried(source)->weights->bytes.has_value());
}

TEST_CASE("a malformed config is the same error, carried or not") {
  for (const std::string& config : {std::string(), std::string("{"), SmallConfig("lama")}) {
    const ModelSource source{.name = "m",
                             .description = {.where = "m/config.json", .config = config}};
    const auto carried = Carried(source);
    REQUIRE_FALSE(carried.has_value());
    CHECK(carried.error().message == SizedModelOf(source).error().message);
    CHECK(carried.error().message.starts_with("m/config.json: "));
  }
}

TEST_CASE("a carried GGUF file is the same model, and long word lists are only counted") {
  FakeGguf file("llama");
  file.metadata.Set("tokenizer.ggml.tokens", std::vector<std::string>(30'000, "word"));
  file.Set("attention.head_count_kv", std::vector<int64_t>{2, 2, 4, 1});
  file.Set("rope.freq_base", 5.0);
  file.Set("odd", std::numeric_limits<double>::infinity());
  file.Set("large", MetadataValue(std::numeric_limits<uint64_t>::max()));
  ModelSource source{.name = "m.gguf", .description = {.where = "m.gguf"}};
  GgufDescription& gguf = source.description.gguf.emplace(file.metadata);
  for (const bool head : {false, true}) {
    if (head) {
      file.tensors.insert("output.weight");
      gguf.rows["output.weight"] = 30'000;
    }
    const auto model = Carried(source);
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    CHECK(model->spec.vocabulary == 30'000);
    CHECK(model->spec.tied_head == !head);
    CHECK(StateSpecOf(model->spec, {}) == StateSpecOf(file.Model(), {}));
  }
  CHECK(ModelSourceJson(source).size() < 2000);
}

TEST_CASE("a vocabulary that was passed over keeps its size") {
  FakeGguf file("llama");
  Metadata passed("m.gguf");
  for (const auto& [key, value] : file.metadata.values()) {
    if (key != "tokenizer.ggml.tokens") passed.Set(key, value);
  }
  passed.SetSkippedArray("tokenizer.ggml.tokens", 777);
  ModelSource source{.name = "m.gguf", .description = {.where = "m.gguf"}};
  source.description.gguf.emplace(passed);
  CHECK(Carried(source)->spec.vocabulary == 777);
  source.description.gguf->complete = false;
  CHECK_FALSE(ModelSourceFromJson(ModelSourceJson(source))->description.gguf->complete);
}

TEST_CASE("a model known by name is carried as that name") {
  const ModelSource source{.name = "m",
                           .description = {.where = "layers=3,kv_heads=2,head_dim=64"}};
  CHECK(Carried(source)->spec.layers.size() == 3);
}

TEST_CASE("what is no description is an error and never a crash") {
  for (const char* text :
       {"", "[]", "{\"name\": 1}", "{\"config\": 1}", "{\"gguf\": {}}",
        "{\"gguf\": {\"metadata\": {}, \"rows\": {\"a\": \"b\"}}}", "{\"weights\": {}}",
        "{\"gguf\": 3}", "{\"weights\": {\"parameters\": 1, \"bytes\": \"x\"}}",
        "{\"notes\": {}}"}) {
    CAPTURE(text);
    const auto source = ModelSourceFromJson(text);
    REQUIRE_FALSE(source.has_value());
    CHECK(source.error().message.starts_with("the model's description: "));
  }
  CHECK_FALSE(SizedModelOf(*ModelSourceFromJson("{}")).has_value());
}

}  // namespace
}  // namespace cairn
