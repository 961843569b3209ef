#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "cairn/sizing/render.h"

namespace cairn {
namespace {

Section Example() {
  return {.key = "budget",
          .title = "Memory",
          .fields = {{.key = "left_bytes",
                      .label = "left",
                      .value = int64_t{2048},
                      .unit = Unit::kBytes,
                      .formula = "4 KiB - 2 KiB"}},
          .tables = {{.key = "parts",
                      .label = "",
                      .columns = {{"name", "what", Unit::kNone}, {"bytes", "size", Unit::kBytes}},
                      .rows = {{std::string("a long name that needs more than one line"),
                                int64_t{4096}},
                               {std::string("short"), int64_t{1}}}}},
          .bar = {{"used", Bytes(3072)}, {"free", Bytes(1024)}},
          .notes = {"A rule."},
          .warnings = {"Beware."}};
}

size_t WidestLine(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

TEST_CASE("a page shows fields, tables, the bar and warnings, and rules only when asked") {
  const std::array sections = {Example()};
  const std::string text = RenderText(sections, {});
  CHECK(text.starts_with("Memory\n"));
  CHECK(text.find("left  2,048 bytes (2.00 KiB)") != std::string::npos);
  CHECK(text.find("! Beware.") != std::string::npos);
  CHECK(text.find("A rule.") == std::string::npos);
  CHECK(text.find("4 KiB - 2 KiB") == std::string::npos);
  const std::string explained = RenderText(sections, {.explain = true});
  CHECK(explained.find("= 4 KiB - 2 KiB") != std::string::npos);
  CHECK(explained.find("A rule.") != std::string::npos);
}

TEST_CASE("the bar's stretches are in proportion") {
  const std::array sections = {Example()};
  const std::string text = RenderText(sections, {.columns = 86});
  const size_t begin = text.find('[');
  const std::string bar = text.substr(begin + 1, text.find(']') - begin - 1);
  CHECK(bar.size() == 72);
  CHECK(std::ranges::count(bar, '#') == 54);
  CHECK(std::ranges::count(bar, '.') == 18);
}

TEST_CASE("a narrow terminal breaks the longest cells and no line is wider than it") {
  const std::array sections = {Example()};
  const std::string wide = RenderText(sections, {.columns = 120});
  CHECK(wide.find("a long name that needs more than one line") != std::string::npos);
  const std::string narrow = RenderText(sections, {.columns = 50});
  CHECK(narrow.find("a long name that needs more than one line") == std::string::npos);
  CHECK(WidestLine(narrow) <= 50);
}

TEST_CASE("no line ends in spaces") {
  const std::array sections = {Example()};
  CHECK(RenderText(sections, {}).find(" \n") == std::string::npos);
}

}  // namespace cairn
