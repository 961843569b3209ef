#include "cairn/sizing/page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cairn {
namespace {

TEST_CASE("the page is the template with the model and the question where the marker was") {
  SizeRequest request;
  request.question.batch = 3;
  const std::string page = EstimatorPage(
      "<p>@CAIRN_DATA@</p>",
      {.name = "a", .description = {.where = "a/config.json", .config = "{\"x\": 1}"}}, request);
  REQUIRE(page.starts_with("<p>"));
  REQUIRE(page.ends_with("</p>"));
  const auto data = nlohmann::json::parse(page.substr(3, page.size() - 7));
  CHECK(data["model"]["name"] == "a");
  CHECK(data["model"]["config"] == "{\"x\": 1}");
  CHECK(data["question"]["batch"] == 3);
}

TEST_CASE("a name or config can't bring markup into the page") {
  const std::string hostile = "</script><script>alert(1)</script><!--\xff";
  const std::string page = EstimatorPage(
      "@CAIRN_DATA@", {.name = hostile, .description = {.where = hostile, .config = hostile}},
      SizeRequest());
  CHECK(page.find('<') == std::string::npos);
  const auto data = nlohmann::json::parse(page);
  CHECK(data["model"]["name"] == "</script><script>alert(1)</script><!--\xef\xbf\xbd");
}

}  // namespace
}  // namespace cairn
