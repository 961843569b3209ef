#include "cairn/serve/state_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cairn {
namespace {

TEST_CASE("the report says what is held, by class and tier, and how often a prefix was there") {
  StateFigures state;
  state.budget_bytes = 1000;
  state.live_bytes = 300;
  state.classes = {{.kind = "window", .tokens = 24, .block_bytes = 100, .live_blocks = 3},
                   {.kind = "rows"}};
  state.opened_tokens = 200;
  state.memory_tokens = 100;
  state.loaded_tokens = 50;
  state.tiers = {{.name = "disk", .objects = 4, .bytes = 77, .tokens_loaded = 30},
                 {.name = "store", .tokens_loaded = 20}};
  EngineStats engine;
  engine.running = 2;
  const auto report = nlohmann::json::parse(StateReportJson(state, engine));
  CHECK(report["occupancy"]["classes"][0]["live_bytes"] == 300);
  CHECK(report["occupancy"]["classes"][0]["kind"] == "window");
  CHECK(report["occupancy"]["classes"][0]["tokens"] == 24);
  CHECK(report["occupancy"]["classes"][1]["tokens"].is_null());
  CHECK(report["hits"]["tokens_by_origin"] ==
        nlohmann::json{{"memory", 100}, {"disk", 30}, {"store", 20}});
  CHECK(report["tiers"][1]["tokens_loaded"] == 20);
  CHECK(report["hits"]["rate_memory"] == 0.5);
  CHECK(report["hits"]["rate"] == 0.75);
  CHECK(report["tiers"][0]["name"] == "disk");
  CHECK(report["engine"]["running"] == 2);
  CHECK(report["problem"].is_null());
}

TEST_CASE("the report says what bytes are for, and how the tree looks, where that is known") {
  StateFigures state;
  state.use = {.kept_bytes = 7, .waiting_bytes = 2};
  state.tiers = {{.name = "disk"}};
  state.shown_nodes = {{.tokens = 9},
                       {.parent = 0, .bytes = 5, .locked = true, .tier_tokens = {{4}}}};
  const auto report = nlohmann::json::parse(StateReportJson(state, {}));
  CHECK(report["bytes_by_use"]["kept"] == 7);
  CHECK(report["bytes_by_use"]["waiting_to_be_written"] == 2);
  CHECK(report["tree"]["shown"][0]["parent"] == -1);
  CHECK(report["tree"]["shown"][1]["parent"] == 0);
  CHECK(report["tree"]["shown"][1]["locked"] == true);
  CHECK(report["tree"]["shown"][0]["on_tiers"].is_null());
  CHECK(report["tree"]["shown"][1]["on_tiers"] == nlohmann::json{{"disk", 4}});
  const auto bare = nlohmann::json::parse(StateReportJson({}, {}));
  CHECK(bare["bytes_by_use"].is_null());
  CHECK(bare["tree"]["shown"].empty());
}

TEST_CASE("rates before anything was asked are zero") {
  const auto report = nlohmann::json::parse(StateReportJson({}, {}));
  CHECK(report["hits"]["rate"] == 0);
}

}  // namespace
}  // namespace cairn
