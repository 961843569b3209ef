#include <doctest/doctest.h>

#include <array>

#include "cairn/sizing/render.h"

namespace cairn {
namespace {

Section Example() {
  return {.key = "cards",
          .title = "Cards",
          .fields = {{.key = "count", .label = "cards", .value = int64_t{1200}}},
          .tables = {{.key = "list",
                      .label = "",
                      .columns = {{"name", "name", Unit::kNone}, {"bytes", "memory", Unit::kBytes}},
                      .rows = {{std::string("a|b, \"c\""), int64_t{1024}}}}},
          .warnings = {"Read this."}};
}

}  // namespace

TEST_CASE("Markdown is a heading, tables with a rule line, and notes") {
  const std::array sections = {Example()};
  const std::string text = RenderMarkdown(sections, false);
  CHECK(text ==
        "## Cards\n\n| | |\n|---|---:|\n| cards | 1,200 |\n\n| name | memory |\n|---|---:|\n"
        "| a\\|b, \"c\" | 1.00 KiB |\n\n**Note:** Read this.\n");
}

TEST_CASE("CSV has bare numbers and quotes what would break a row") {
  const std::array sections = {Example()};
  CHECK(RenderCsv(sections) ==
        "section,key,value\ncards,count,1200\n\nsection,table,name,bytes\n"
        "cards,list,\"a|b, \"\"c\"\"\",1024\n");
}

}  // namespace cairn
