#include "tools/size_models.h"

#include <fmt/format.h>

#include <utility>

#include "cairn/base/env.h"
#include "cairn/sizing/parameters.h"
#include "cairn/spec/catalog.h"
#include "cairn/spec/hf_config.h"
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

// The config.json that the model was described by, if it was one.
std::string ConfigTextOf(const std::string& path) {
  const std::string file = IsDirectory(path) ? path + "/config.json" : path;
  if (!file.ends_with(".json") || !FileExists(file)) return {};
  const Result<std::string> text = ReadFile(file, HfConfig::kMaxBytes);
  return text ? *text : std::string();
}

Result<SizedModel> ReadPath(const std::string& path) {
  CAIRN_ASSIGN(DescribedWeights described, DescribeForSizing(path));
  SizedModel model;
  model.name = path;
  model.weights = TotalsOf(described);
  model.spec = std::move(described.model);
  model.notes = std::move(described.notes);
  model.config = ConfigTextOf(path);
  return model;
}

}  // namespace

Result<SizedModel> ReadSizedModel(const std::string& name) {
  if (FileExists(name) || IsDirectory(name)) return ReadPath(name);
  SizedModel model;
  model.name = name;
  if (name.find('=') != std::string::npos) {
    CAIRN_ASSIGN(model.spec, ModelFromName(name));
    return model;
  }
  CAIRN_ASSIGN(const CatalogEntry entry, FindInCatalog(name));
  CAIRN_ASSIGN(model.config, ConfigJsonOf(entry));
  CAIRN_ASSIGN(model.spec, SpecOf(entry));
  model.name = std::string(entry.name);
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
