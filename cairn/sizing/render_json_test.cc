#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "cairn/sizing/render.h"

namespace cairn {

TEST_CASE("a section is an object of its fields, tables and sentences") {
  const std::array sections = {Section{
      .key = "s",
      .title = "S",
      .fields = {{.key = "n", .label = "N", .value = int64_t{5}, .formula = "2 + 3"},
                 {.key = "none", .label = "", .value = {}},
                 {.key = "wild", .label = "", .value = std::numeric_limits<double>::infinity()}},
      .tables = {{.key = "t",
                  .label = "",
                  .columns = {{"a", "A"}, {"b", "B"}},
                  .rows = {{std::string("x"), true}, {std::string("y"), 0.5}}}},
      .notes = {"why"},
      .warnings = {"careful"}}};
  const auto json = nlohmann::json::parse(RenderJson(sections, -1));
  CHECK(json["s"]["n"] == 5);
  CHECK(json["s"]["none"].is_null());
  CHECK(json["s"]["wild"].is_null());
  CHECK(json["s"]["t"][0]["a"] == "x");
  CHECK(json["s"]["t"][0]["b"] == true);
  CHECK(json["s"]["t"][1]["b"] == 0.5);
  CHECK(json["s"]["formulas"]["n"] == "2 + 3");
  CHECK(json["s"]["notes"][0] == "why");
  CHECK(json["s"]["warnings"][0] == "careful");
}

}  // namespace cairn
