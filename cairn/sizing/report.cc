#include "cairn/sizing/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace cairn {
namespace {

// Keys stay in the order that a person would read them in.
using Json = nlohmann::ordered_json;

// --- words -----------------------------------------------------------------------------------

std::string_view LifetimeWord(Lifetime::Kind kind) {
  switch (kind) {
    case Lifetime::Kind::kAll:
      return "full";
    case Lifetime::Kind::kWindow:
      return "sliding";
    case Lifetime::Kind::kChunk:
      return "chunked";
  }
  return "";
}

const Rows* FirstRows(const LayerState& state) {
  for (const Component& component : state.components) {
    if (const auto* rows = std::get_if<Rows>(&component)) return rows;
  }
  return nullptr;
}

// What a layer's growing rows do; "fixed" if it has none, "shared" if it reads another's.
std::string_view KindOf(const LayerState& state) {
  if (state.components.empty()) return "none";
  if (const Rows* rows = FirstRows(state)) return LifetimeWord(rows->lifetime.kind);
  return std::holds_alternative<Alias>(state.components.front()) ? "shared" : "fixed";
}

// Runs of consecutive layers, both ends included.
std::vector<std::pair<int32_t, int32_t>> RunsOf(const std::vector<LayerIndex>& layers) {
  std::vector<std::pair<int32_t, int32_t>> runs;
  for (const LayerIndex layer : layers) {
    if (!runs.empty() && runs.back().second + 1 == layer.value()) {
      runs.back().second = layer.value();
    } else {
      runs.emplace_back(layer.value(), layer.value());
    }
  }
  return runs;
}

// --- JSON ------------------------------------------------------------------------------------

struct ComponentJson {
  Json operator()(const Rows& rows) const {
    Json json = {{"kind", "rows"},
                 {"name", rows.name},
                 {"heads", rows.heads},
                 {"width", rows.width},
                 {"elements_per_row", rows.ElementsPerRow().value()},
                 {"tokens_per_row", rows.tokens_per_row.value()},
                 {"lifetime", LifetimeWord(rows.lifetime.kind)},
                 {"codec", InfoOf(rows.codec).name},
                 {"bytes_per_row", BytesOf(rows.codec, rows.ElementsPerRow()).value()}};
    if (rows.lifetime.kind == Lifetime::Kind::kWindow)
      json["window"] = rows.lifetime.tokens.value();
    if (rows.lifetime.kind == Lifetime::Kind::kChunk) json["chunk"] = rows.lifetime.tokens.value();
    return json;
  }
  Json operator()(const Fixed& fixed) const {
    return {{"kind", "fixed"},
            {"name", fixed.name},
            {"elements", fixed.elements.value()},
            {"dtype", InfoOf(fixed.dtype).name}};
  }
  Json operator()(const Alias& alias) const {
    return {{"kind", "alias"}, {"layer", alias.layer.value()}};
  }
};

Json AmountJson(const StateAmount& amount) {
  return {{"content_elements", amount.content_elements.value()},
          {"content_bytes", amount.content_bytes.value()},
          {"allocated_bytes", amount.allocated_bytes.value()}};
}

Json GroupJson(const LayerGroup& group, const SizingQuestion& question) {
  Json json = {{"kind", KindOf(group.state)},
               {"indices", RunsOf(group.layers)},
               {"count", group.layers.size()}};
  json["components"] = Json::array();
  for (const Component& component : group.state.components) {
    json["components"].push_back(std::visit(ComponentJson(), component));
  }
  json["elements_per_token"] = group.elements_per_token.value();
  json["bytes_per_token"] = group.bytes_per_token.value();
  json["fixed_bytes_per_request"] = group.fixed_bytes_per_request.value();
  json["sizes"] = Json::array();
  for (size_t i = 0; i < group.amounts.size(); ++i) {
    Json size = {{"tokens", question.tokens[i].value()}};
    size.update(AmountJson(group.amounts[i]));
    json["sizes"].push_back(std::move(size));
  }
  return json;
}

Json AnswerJson(const SizeAnswer& answer, int64_t batch, TokenCount context_length) {
  Json json = {{"tokens", answer.tokens.value()},
               {"batch", batch},
               {"exceeds_context_length", answer.tokens > context_length}};
  json.update(AmountJson(answer.total));
  json["per_request"] = AmountJson(answer.per_request);
  return json;
}

// --- text ------------------------------------------------------------------------------------

std::string Grouped(int64_t value) {
  std::string digits = fmt::format("{}", value);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string HumanBytes(Bytes bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes.value());
  if (value < 1024) return fmt::format("{} bytes", bytes.value());
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{} bytes ({:.2f} {})", Grouped(bytes.value()), value, kUnits[unit]);
}

struct ComponentText {
  std::string operator()(const Rows& rows) const {
    return fmt::format("{} {} x {} {}", rows.name, rows.heads, rows.width, InfoOf(rows.codec).name);
  }
  std::string operator()(const Fixed& fixed) const {
    return fmt::format("{} {} {}", fixed.name, Grouped(fixed.elements.value()),
                       InfoOf(fixed.dtype).name);
  }
  std::string operator()(const Alias& alias) const {
    return fmt::format("reads layer {}", alias.layer.value());
  }
};

std::string KindText(const LayerState& state) {
  const Rows* rows = FirstRows(state);
  if (rows == nullptr || rows->lifetime.kind == Lifetime::Kind::kAll) {
    return std::string(KindOf(state));
  }
  return fmt::format("{} {}", KindOf(state), Grouped(rows->lifetime.tokens.value()));
}

// "0-4, 6-10 (10)"; many runs are cut.
std::string LayersText(const LayerGroup& group) {
  constexpr size_t kMaxRuns = 4;
  std::string text;
  const auto runs = RunsOf(group.layers);
  for (size_t i = 0; i < std::min(runs.size(), kMaxRuns); ++i) {
    const auto [first, last] = runs[i];
    text += i == 0 ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  if (runs.size() > kMaxRuns) text += ", ..";
  return fmt::format("{} ({})", text, group.layers.size());
}

using TableRow = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces between, no trailing spaces.
std::string TableText(const std::vector<TableRow>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      fmt::format_to(std::back_inserter(line), "{:<{}}", row[i],
                     i + 1 < row.size() ? widths[i] + 2 : 0);
    }
    text += line + "\n";
  }
  return text;
}

std::string LayersTable(const Sizing& sizing) {
  std::vector<TableRow> rows = {{"layers", "kind", "kept by each", "bytes per token"}};
  for (const LayerGroup& group : sizing.groups) {
    std::string components;
    for (const Component& component : group.state.components) {
      if (!components.empty()) components += ", ";
      components += std::visit(ComponentText(), component);
    }
    rows.push_back({LayersText(group), KindText(group.state), components,
                    Grouped(group.bytes_per_token.value())});
  }
  return TableText(rows);
}

std::string AnswersTable(const Sizing& sizing) {
  std::vector<TableRow> rows = {{"context", "batch", "state", "allocated in blocks"}};
  for (const SizeAnswer& answer : sizing.answers) {
    rows.push_back({Grouped(answer.tokens.value()), Grouped(sizing.question.batch),
                    HumanBytes(answer.total.content_bytes),
                    HumanBytes(answer.total.allocated_bytes)});
  }
  return TableText(rows);
}

}  // namespace

std::string SizingJson(std::string_view name, const ModelSpec& model, const Sizing& sizing) {
  Json json = {{"model", name},
               {"family", model.family},
               {"context_length", model.context_length.value()},
               {"parameters", sizing.parameters.value()},
               {"weights_bytes", nullptr},
               {"kv_dtype",
                {{"keys", InfoOf(sizing.question.codecs.keys).name},
                 {"values", InfoOf(sizing.question.codecs.values).name}}},
               {"elements_per_token", sizing.elements_per_token.value()},
               {"bytes_per_token", sizing.bytes_per_token.value()},
               {"fixed_bytes_per_request", sizing.fixed_bytes_per_request.value()}};
  if (sizing.weights && sizing.weights->bytes) {
    json["weights_bytes"] = sizing.weights->bytes->value();
  }
  json["sizes"] = Json::array();
  for (const SizeAnswer& answer : sizing.answers) {
    json["sizes"].push_back(AnswerJson(answer, sizing.question.batch, model.context_length));
  }
  json["layers"] = Json::array();
  for (const LayerGroup& group : sizing.groups) {
    json["layers"].push_back(GroupJson(group, sizing.question));
  }
  // A path may hold any bytes; those that aren't UTF-8 become replacement characters.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string SizingText(std::string_view name, const ModelSpec& model, const Sizing& sizing) {
  std::string weights = Grouped(sizing.parameters.value());
  if (sizing.weights && sizing.weights->bytes) {
    weights += " in " + HumanBytes(*sizing.weights->bytes);
  }
  std::string text = fmt::format("{}: {}, {} layers, context {}\n", name, model.family,
                                 model.layers.size(), Grouped(model.context_length.value()));
  text += TableText({{"parameters", weights},
                     {"state per token", HumanBytes(sizing.bytes_per_token)},
                     {"state fixed", HumanBytes(sizing.fixed_bytes_per_request) + " per request"}});
  text += "\n" + LayersTable(sizing);
  if (!sizing.answers.empty()) text += "\n" + AnswersTable(sizing);
  return text;
}

}  // namespace cairn
