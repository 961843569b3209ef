#include "cairn/sizing/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// Layers that keep rows for each token, or read another layer's.
size_t AttentionLayers(const Sizing& sizing) {
  size_t count = 0;
  for (const LayerGroup& group : sizing.groups) {
    const bool attends = std::ranges::any_of(
        group.state.components,
        [](const Component& component) { return !std::holds_alternative<Fixed>(component); });
    if (attends) count += group.layers.size();
  }
  return count;
}

size_t AllLayers(const Sizing& sizing) {
  size_t count = 0;
  for (const LayerGroup& group : sizing.groups) count += group.layers.size();
  return count;
}

Cell ShareCell(Bytes part, Bytes whole) {
  if (whole == Bytes(0)) return {};
  return static_cast<double>(part.value()) / static_cast<double>(whole.value());
}

Table ModelsTable(const std::vector<ComparedModel>& models) {
  Table table = {.key = "models",
                 .label = "Models",
                 .columns = {{"model", "model"},
                             {"parameters", "parameters"},
                             {"layer_count", "layers"},
                             {"attention_layers", "with rows"},
                             {"kinds", "kinds"},
                             {"context_length", "context", Unit::kTokens},
                             {"bytes_per_token", "a token", Unit::kBytesPerToken},
                             {"bytes_per_token_share", "of the first", Unit::kTimes},
                             {"fixed_bytes_per_request", "fixed", Unit::kBytes}}};
  const Bytes first = models.front().sizing->bytes_per_token;
  for (const ComparedModel& model : models) {
    const Sizing& sizing = *model.sizing;
    const bool bounded = model.context_length > TokenCount(0);
    table.rows.push_back({model.name, sizing.parameters ? CellOf(*sizing.parameters) : Cell(),
                          static_cast<int64_t>(AllLayers(sizing)),
                          static_cast<int64_t>(AttentionLayers(sizing)), LayerKinds(sizing),
                          bounded ? CellOf(model.context_length) : Cell(),
                          CellOf(sizing.bytes_per_token), ShareCell(sizing.bytes_per_token, first),
                          CellOf(sizing.fixed_bytes_per_request)});
  }
  return table;
}

Table LengthsTable(const std::vector<ComparedModel>& models) {
  Table table = {.key = "lengths",
                 .label = "State",
                 .columns = {{"tokens", "tokens", Unit::kTokens},
                             {"requests", "requests"},
                             {"model", "model"},
                             {"kv_bytes", "rows", Unit::kBytes},
                             {"state_bytes", "fixed", Unit::kBytes},
                             {"total_bytes", "total", Unit::kBytes},
                             {"kv_share", "rows of the first", Unit::kTimes},
                             {"total_share", "of the first", Unit::kTimes}}};
  const std::vector<SizeAnswer>& firsts = models.front().sizing->answers;
  for (size_t i = 0; i < firsts.size(); ++i) {
    for (const ComparedModel& model : models) {
      const SizeAnswer& answer = model.sizing->answers[i];
      const StateAmount& total = answer.total;
      table.rows.push_back({CellOf(answer.tokens), answer.requests, model.name,
                            CellOf(total.kv_bytes), CellOf(total.state_bytes),
                            CellOf(total.TotalBytes()),
                            ShareCell(total.kv_bytes, firsts[i].total.kv_bytes),
                            ShareCell(total.TotalBytes(), firsts[i].total.TotalBytes())});
    }
  }
  return table;
}

}  // namespace

std::string LayerKinds(const Sizing& sizing) {
  std::vector<std::pair<std::string, size_t>> kinds;
  for (const LayerGroup& group : sizing.groups) {
    const auto same = std::ranges::find(kinds, group.kind, &std::pair<std::string, size_t>::first);
    if (same != kinds.end()) {
      same->second += group.layers.size();
    } else {
      kinds.emplace_back(group.kind, group.layers.size());
    }
  }
  std::vector<std::string> words;
  for (const auto& [kind, count] : kinds) words.push_back(fmt::format("{} {}", count, kind));
  return fmt::format("{}", fmt::join(words, ", "));
}

Section CompareSection(const std::vector<ComparedModel>& models) {
  CAIRN_CHECK(!models.empty());
  for (const ComparedModel& model : models) {
    CAIRN_CHECK(model.sizing != nullptr);
    CAIRN_CHECK(model.sizing->answers.size() == models.front().sizing->answers.size());
  }
  Section section = {.key = "compare", .title = "Models side by side"};
  section.tables = {ModelsTable(models), LengthsTable(models)};
  section.notes = {
      "Bytes of a token are at the margin: what one more takes once every window is full.",
      "Shares are of the first model's figure; 0.25x is a quarter of it."};
  for (const ComparedModel& model : models) {
    const bool bounded = model.context_length > TokenCount(0);
    for (const SizeAnswer& answer : model.sizing->answers) {
      if (!bounded || answer.tokens <= model.context_length) continue;
      section.warnings.push_back(fmt::format("{} is made for {} tokens; {} are asked for.",
                                             model.name, model.context_length.value(),
                                             answer.tokens.value()));
      break;
    }
  }
  return section;
}

}  // namespace cairn
