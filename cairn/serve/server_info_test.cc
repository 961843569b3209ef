#include "cairn/serve/server_info.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cairn/serve/model_for_tests.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

TEST_CASE("props say what requests get that name nothing, and where the files lie to nobody") {
  ModelForTests model;
  model.served.file = "tiny.gguf";
  model.served.answers_at_once = 7;
  model.served.defaults.sampling.temperature = 0.25;
  const Json props = Json::parse(PropsJson(model.served));
  const Json& settings = props["default_generation_settings"];
  CHECK(settings["n_ctx"] == 64);
  CHECK(settings["params"]["temperature"] == 0.25);
  CHECK(settings["params"]["top_k"] == 40);
  CHECK(settings["params"]["n_predict"] == -1);
  CHECK(props["total_slots"] == 7);
  CHECK(props["model_path"] == "tiny.gguf");
  CHECK(props["model_alias"] == "tiny");
  CHECK(props["modalities"] == Json{{"vision", false}, {"audio", false}});
  CHECK(props["build_info"] == "b-test");
  CHECK(props["chat_template"].is_string());
  model.served.defaults.max_tokens = 9;
  CHECK(Json::parse(
            PropsJson(model.served))["default_generation_settings"]["params"]["max_tokens"] == 9);
}

TEST_CASE("the list of models has the one that is served") {
  const ModelForTests model;
  const Json list = Json::parse(ModelsJson(model.served));
  CHECK(list["data"][0]["id"] == "tiny");
  CHECK(list["data"][0]["meta"]["n_ctx"] == 64);
}

}  // namespace
}  // namespace cairn
