#include "cairn/eval/plot.h"

#include <doctest/doctest.h>

#include <limits>

namespace cairn {
namespace {

EvalRow RowOf(std::string_view task, std::string setting, int64_t bytes, double loss) {
  EvalRow row = {.task = FindEvalTask(task), .setting = std::move(setting)};
  row.context = TokenCount(512);
  row.cost.bytes = Bytes(bytes);
  row.loss = loss;
  return row;
}

int64_t CountOf(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("the frontier leaves out what another beats in both bytes and loss") {
  const std::vector<PlotPoint> points = {{"f32", 32, 0},    {"f16", 16, 0.1}, {"bad", 17, 0.5},
                                         {"q4", 4, 1},      {"same", 4, 1},   {"worse", 4, 2},
                                         {"equal", 16, 0.1}};
  CHECK(FrontierOf(points) == std::vector<size_t>{3, 1, 0});
  CHECK(FrontierOf({}).empty());
}

TEST_CASE("a plot has a panel for each task and context with a point for each setting") {
  const std::string svg = EvalPlot(
      std::vector<EvalRow>{RowOf("kl", "f32 <again>", 4 << 20, 0),
                           RowOf("kl", "f16", 2 << 20, 0.001), RowOf("kl", "q4_0", 1 << 19, 0.2),
                           RowOf("copy", "f32", 4 << 20, 0.1), RowOf("copy", "f16", 2 << 20, 0.1)});
  CHECK(CountOf(svg, "<g ") == 2);
  CHECK(CountOf(svg, "<circle ") == 5);
  CHECK(CountOf(svg, "class=\"f\"") == 2);
  CHECK(svg.find("f32 &lt;again&gt;") != std::string::npos);
  CHECK(svg.find(">1 MiB<") != std::string::npos);  // ticks are powers of two
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("one point, equal points and no rows make a plot without numbers that are none") {
  for (const auto& rows :
       {std::vector<EvalRow>{}, std::vector<EvalRow>{RowOf("kl", "f32", 1 << 20, 0)},
        std::vector<EvalRow>{RowOf("ppl", "a", 4096, 20), RowOf("ppl", "b", 4096, 20)}}) {
    const std::string svg = EvalPlot(rows);
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(CountOf(svg, "<circle ") == static_cast<int64_t>(rows.size()));
  }
}

}  // namespace cairn
