// The estimator as WebAssembly: what the page calls.
//
// Texts go in and out as NUL-terminated UTF-8 in the module's memory. The caller owns what it
// allocates; an answer is valid until the next call. Single-threaded.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cairn/base/dtype.h"
#include "cairn/sizing/format.h"
#include "cairn/sizing/hardware.h"
#include "cairn/sizing/model_source.h"
#include "cairn/sizing/question.h"
#include "cairn/sizing/report.h"
#include "cairn/sizing/request.h"
#include "cairn/sizing/section.h"
#include "cairn/spec/catalog.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json TableView(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns) columns.push_back(column.label);
  Json rows = Json::array();
  Json numbers = Json::array();  // whether a column's cells are numbers
  for (size_t i = 0; i < table.columns.size(); ++i) {
    numbers.push_back(!table.rows.empty() && IsNumber(table.rows.front()[i]));
  }
  for (const std::vector<Cell>& cells : table.rows) {
    Json row = Json::array();
    for (size_t i = 0; i < cells.size(); ++i) {
      row.push_back(TableCellText(cells[i], table.columns[i].unit));
    }
    rows.push_back(std::move(row));
  }
  return {{"key", table.key},
          {"label", table.label},
          {"columns", std::move(columns)},
          {"numbers", std::move(numbers)},
          {"rows", std::move(rows)}};
}

// A section with every cell as the text that people read in the terminal.
Json SectionView(const Section& section) {
  Json view = {{"key", section.key},          {"title", section.title}, {"fields", Json::array()},
               {"tables", Json::array()},     {"bar", Json::array()},   {"notes", section.notes},
               {"warnings", section.warnings}};
  for (const Field& field : section.fields) {
    view["fields"].push_back({{"key", field.key},
                              {"label", field.label},
                              {"text", CellText(field.value, field.unit)},
                              {"formula", field.formula}});
  }
  for (const Table& table : section.tables) view["tables"].push_back(TableView(table));
  for (const BarPart& part : section.bar) {
    view["bar"].push_back(
        {{"label", part.label}, {"bytes", part.bytes.value()}, {"text", HumanBytes(part.bytes)}});
  }
  return view;
}

Result<std::string> Answer(std::string_view model, std::string_view question, bool explain) {
  CAIRN_ASSIGN(const ModelSource source, ModelSourceFromJson(model));
  CAIRN_ASSIGN(SizeRequest request, SizeRequestFromJson(question));
  CAIRN_ASSIGN(SizedModel sized, SizedModelOf(source));
  CAIRN_ASSIGN(const SizeReport report, AnswerSizeRequest(std::move(sized), std::move(request)));
  Json sections = Json::array();
  for (const Section& section : SectionsOf(report, explain)) {
    sections.push_back(SectionView(section));
  }
  return Dump({{"json", ReportJson(report, 2)}, {"sections", std::move(sections)}});
}

// State after each of the question's contexts; the page draws it.
Result<std::string> Curve(std::string_view model, std::string_view question) {
  CAIRN_ASSIGN(const ModelSource source, ModelSourceFromJson(model));
  CAIRN_ASSIGN(SizeRequest request, SizeRequestFromJson(question));
  CAIRN_ASSIGN(SizedModel sized, SizedModelOf(source));
  request.gpu.clear();
  CAIRN_ASSIGN(const SizeReport report, AnswerSizeRequest(std::move(sized), std::move(request)));
  const Sizing& sizing = report.sizing;
  Json json = {{"tokens", Json::array()}, {"total", Json::array()}, {"groups", Json::array()}};
  for (const SizeAnswer& answer : sizing.answers) {
    json["tokens"].push_back(answer.tokens.value());
    json["total"].push_back(answer.total.TotalBytes().value());
  }
  for (const LayerGroup& group : sizing.groups) {
    Json bytes = Json::array();
    for (const StateAmount& amount : group.amounts) bytes.push_back(amount.TotalBytes().value());
    json["groups"].push_back(
        {{"kind", group.kind}, {"layers", group.layers.size()}, {"bytes", std::move(bytes)}});
  }
  return Dump(json);
}

// What the controls offer; of the question the card, by its own name.
Result<std::string> Choices(std::string_view question) {
  Json codecs = Json::array();
  for (const DType codec : SizedCodecs()) codecs.push_back(InfoOf(codec).name);
  Json weights = Json::array();
  for (int i = 0; i < kDTypeCount; ++i) weights.push_back(InfoOf(static_cast<DType>(i)).name);
  Json gpus = Json::array();
  for (const Gpu& gpu : Gpus()) {
    gpus.push_back({{"name", gpu.name}, {"memory", HumanBytes(gpu.Memory())}});
  }
  Json card = {{"name", ""}, {"count", 1}};
  if (const auto request = SizeRequestFromJson(question); request && !request->gpu.empty()) {
    card["name"] = request->gpu;
    if (const auto choice = ParseGpu(request->gpu)) {
      card = {{"name", choice->gpu->name}, {"count", choice->count}};
    }
  }
  Json models = Json::array();
  for (const CatalogEntry& entry : Catalog()) models.push_back(entry.name);
  return Dump({{"codecs", std::move(codecs)},
               {"weights", std::move(weights)},
               {"models", std::move(models)},
               {"gpus", std::move(gpus)},
               {"gpu", std::move(card)},
               {"defaults", Json::parse(SizeRequestJson(SizeRequest()))}});
}

// Keeps the text where the page can read it.
const char* Hand(Result<std::string> answer) {
  static std::string kept;
  kept = answer ? *std::move(answer) : Dump({{"error", answer.error().message}});
  return kept.c_str();
}

}  // namespace
}  // namespace cairn

extern "C" {

[[clang::export_name("cairn_allocate")]] char* cairn_allocate(size_t bytes) {
  return static_cast<char*>(std::malloc(bytes));
}

[[clang::export_name("cairn_free")]] void cairn_free(char* text) { std::free(text); }

[[clang::export_name("cairn_choices")]] const char* cairn_choices(const char* question) {
  return cairn::Hand(cairn::Choices(question));
}

// `explain` is "true" or "false".
[[clang::export_name("cairn_size")]] const char* cairn_size(const char* model, const char* question,
                                                            const char* explain) {
  return cairn::Hand(cairn::Answer(model, question, std::string_view(explain) == "true"));
}

[[clang::export_name("cairn_curve")]] const char* cairn_curve(const char* model,
                                                              const char* question) {
  return cairn::Hand(cairn::Curve(model, question));
}
}
