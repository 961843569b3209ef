#include "tools/size_models.h"

#include <fmt/format.h>

#include <utility>

#include "cairn/base/env.h"
#include "cairn/sizing/parameters.h"
#include "cairn/spec/catalog.h"
#include "cairn/weights/describe_for_sizing.h"

namespace cairn {
namespace {

// A file that states bytes only is of as many weights as the shapes say.
std::optional<WeightTotals> TotalsOf(const DescribedWeights& described) {
  if (!described.weights) return std::nullopt;
  std::optional<ElementCount> parameters = described.weights->parameters;
  if (!parameters) parameters = ParameterCount(described.model);
  if (!parameters) return std::nullopt;
  return WeightTotals{.parameters = *parameters, .bytes = described.weights->bytes};
}

Result<SizedModel> ReadPath(const std::string& path) {
  CAIRN_ASSIGN(DescribedWeights described, DescribeForSizing(path));
  SizedModel model;
  model.name = path;
  model.weights = TotalsOf(described);
  model.description = std::move(described.description);
  model.spec = std::move(described.model);
  model.notes = std::move(described.notes);
  return model;
}

}  // namespace

Result<SizedModel> ReadSizedModel(const std::string& name) {
  if (FileExists(name) || IsDirectory(name)) return ReadPath(name);
  SizedModel model;
  CAIRN_ASSIGN(model.spec, ModelFromName(name));
  const Result<CatalogEntry> entry = FindInCatalog(name);
  model.name = entry ? std::string(entry->name) : name;
  model.description.where = model.name;
  return model;
}

Section CatalogSection() {
  Section section = {
      .key = "catalogue",
      .title = fmt::format("Models that can be sized by name ({})", Catalog().size())};
  Table table = {.key = "models",
                 .label = "",
                 .columns = {{"name", "name"}, {"aliases", "also"}, {"source", "facts from"}}};
  for (const CatalogEntry& entry : Catalog()) {
    table.rows.push_back({std::string(entry.name), std::string(entry.aliases),
                          std::string(SourceText(entry.source))});
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace cairn
