// docs/models.md lists what runs: its table is what the goldens' own descriptions say.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "cairn/models/runnable.h"
#include "cairn/spec/families.h"
#include "tests/model_for_tests.h"

namespace cairn {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Words in the order in which they first came.
class Words {
 public:
  void Add(const std::string& word) {
    if (std::ranges::find(words_, word) == words_.end()) words_.push_back(word);
  }
  std::string Text() const { return fmt::format("{}", fmt::join(words_, ", ")); }

 private:
  std::vector<std::string> words_;
};

std::string NetworkOf(const FeedForwardSpec& network) {
  if (std::holds_alternative<GatedMlpSpec>(network)) return "gated";
  if (std::holds_alternative<MlpSpec>(network)) return "two matrices";
  return std::holds_alternative<MixtureSpec>(network) ? "experts" : "none";
}

struct Row {
  Words goldens;
  Words mixers;
  Words networks;
  Words state;
};

void AddGolden(const std::string& name, std::map<std::string, Row>& rows) {
  const std::string json = ReadText(GoldenFolder(name) + "/config.json");
  const auto model = ModelSpecFromConfig(json, name);
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(CheckRunnable(*model).has_value());
  Row& row = rows[nlohmann::json::parse(json).at("model_type").get<std::string>()];
  row.goldens.Add(name);
  for (const LayerSpec& layer : model->layers) {
    row.mixers.Add(KindOf(layer.mixer));
    row.networks.Add(NetworkOf(layer.feed_forward));
  }
  for (const LayerState& layer : StateSpecOf(*model, {}).layers) {
    for (const Component& component : layer.components) {
      if (const auto* rows_kept = std::get_if<Rows>(&component)) row.state.Add(rows_kept->name);
      if (const auto* fixed = std::get_if<Fixed>(&component)) row.state.Add(fixed->name);
    }
  }
}

}  // namespace

TEST_CASE("docs/models.md lists the families that run, and what each keeps") {
  std::map<std::string, Row> rows;
  for (const std::string& name : GoldenNames()) AddGolden(name, rows);
  std::string table;
  for (const auto& [type, row] : rows) {
    table += fmt::format("| {} | {} | {} | {} | {} |\n", type, row.mixers.Text(),
                         row.networks.Text(), row.state.Text(), row.goldens.Text());
  }
  const std::string page = ReadText("docs/models.md");
  const std::string rule = "|---|---|---|---|---|\n";
  const size_t begin = page.find(rule);
  REQUIRE(begin != std::string::npos);
  const size_t end = page.find("\n\n", begin);
  REQUIRE(end != std::string::npos);
  const std::string listed = page.substr(begin + rule.size(), end + 1 - begin - rule.size());
  CHECK_MESSAGE(listed == table, "the rows ought to be\n", table);
}

}  // namespace cairn
