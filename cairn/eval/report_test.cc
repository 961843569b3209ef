#include "cairn/eval/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cairn/sizing/render.h"

namespace cairn {
namespace {

EvalRow RowOf(std::string_view task, std::string setting, int64_t bytes, double value) {
  EvalRow row = {.task = FindEvalTask(task), .setting = std::move(setting)};
  row.context = TokenCount(512);
  row.cost = {Bytes(bytes), 4.5, std::nullopt};
  row.cells.assign(row.task->columns.size(), Cell(value));
  row.loss = value;
  return row;
}

std::vector<EvalRow> SomeRows() {
  return {RowOf("copy", "f32", 4096, 0.25), RowOf("copy", "q4_0", 512, 0.5),
          RowOf("kl", "q4_0", 512, 0.125)};
}

const EvalSubject kSubject = {.model = "some \xff model", .text = "a text", .seed = 3};

}  // namespace

TEST_CASE("JSON is one document with a row for each measured row, whatever bytes a name has") {
  const auto document = nlohmann::json::parse(EvalJson(kSubject, SomeRows()));
  CHECK(document["seed"] == 3);
  CHECK(document["text"] == "a text");
  REQUIRE(document["rows"].size() == 3);
  const auto& row = document["rows"][1];
  CHECK(row["task"] == "copy");
  CHECK(row["setting"] == "q4_0");
  CHECK(row["context"] == 512);
  CHECK(row["state_bytes"] == 512);
  CHECK(row["key_bits"] == 4.5);
  CHECK(row["value_bits"].is_null());
  CHECK(row["copy_nats"] == 0.5);
  CHECK(document["rows"][2]["kl_mean"] == 0.125);
}

TEST_CASE("a report has a table for each task that was measured, with its note, and no other") {
  const std::vector<EvalRow> rows = SomeRows();
  const std::vector<Section> sections = EvalSections(kSubject, rows);
  REQUIRE(sections.size() == 3);
  CHECK(sections[1].key == "kl");
  CHECK(sections[2].key == "copy");
  CHECK(sections[2].tables.front().rows.size() == 2);
  const std::string markdown = RenderMarkdown(sections, true);
  CHECK(markdown.find("| q4_0 | 512 | 512 bytes | 4.50 | - | 0.5000 |") != std::string::npos);
  CHECK(markdown.find("Four passages") != std::string::npos);
  CHECK(markdown.find("Perplexity") == std::string::npos);
}

}  // namespace cairn
