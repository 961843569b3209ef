// A SizeReport as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/sizing/explain.h"
#include "cairn/sizing/report.h"

namespace cairn {
namespace {

// Keys stay in the order that a person would read them in.
using Json = nlohmann::ordered_json;

std::string_view LifetimeWord(Lifetime::Kind kind) {
  switch (kind) {
    case Lifetime::Kind::kAll:
      return "full";
    case Lifetime::Kind::kWindow:
      return "sliding";
    case Lifetime::Kind::kChunk:
      return "chunked";
    case Lifetime::Kind::kFirst:
      return "first";
  }
  return "";
}

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
                 {"bytes_per_row", BytesPerRow(rows).value()}};
    if (rows.lifetime.kind == Lifetime::Kind::kWindow)
      json["window"] = rows.lifetime.tokens.value();
    if (rows.lifetime.kind == Lifetime::Kind::kChunk) json["chunk"] = rows.lifetime.tokens.value();
    if (rows.lifetime.kind == Lifetime::Kind::kFirst) json["first"] = rows.lifetime.tokens.value();
    if (rows.lifetime.chunks_before > 1) json["chunks_before"] = rows.lifetime.chunks_before;
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
          {"allocated_bytes", amount.allocated_bytes.value()},
          {"kv_bytes", amount.kv_bytes.value()},
          {"state_bytes", amount.state_bytes.value()},
          {"open_window_bytes", amount.open_window_bytes.value()},
          {"total_bytes", amount.TotalBytes().value()}};
}

// What one layer of the group keeps, in the words of the models' papers.
void AddSummary(const LayerState& state, Json& json) {
  for (const char* key : {"k", "v", "latent", "index"}) json[key] = 0;
  Json states = Json::array();
  for (const Component& component : state.components) {
    if (const auto* rows = std::get_if<Rows>(&component)) {
      const int64_t elements = rows->ElementsPerRow().value();
      if (rows->name == "keys") json["k"] = elements;
      if (rows->name == "values") json["v"] = elements;
      if (rows->name == "latent") json["latent"] = elements;
      if (rows->name == "index_keys") json["index"] = elements;
      if (rows->name == "compressed") json["ratio"] = rows->tokens_per_row.value();
      if (!rows->lifetime.KeepsAll() && !rows->open_window && !rows->exact_copy) {
        json["window"] = rows->lifetime.tokens.value();
      }
    } else if (const auto* fixed = std::get_if<Fixed>(&component)) {
      states.push_back({fixed->name, fixed->elements.value(), InfoOf(fixed->dtype).name});
    }
  }
  if (!states.empty()) json["states"] = std::move(states);
}

Json GroupJson(const LayerGroup& group, const Sizing& sizing) {
  Json json = {
      {"kind", group.kind}, {"indices", RunsOf(group.layers)}, {"count", group.layers.size()}};
  AddSummary(group.state, json);
  if (!group.sources.empty()) {
    json["sources"] = Json::array();
    for (const LayerIndex source : group.sources) json["sources"].push_back(source.value());
  }
  json["components"] = Json::array();
  for (const Component& component : group.state.components) {
    json["components"].push_back(std::visit(ComponentJson(), component));
  }
  json["elements_per_token"] = group.elements_per_token.value();
  json["bytes_per_token"] = group.bytes_per_token.value();
  json["fixed_bytes_per_request"] = group.fixed_bytes_per_request.value();
  json["sizes"] = Json::array();
  for (size_t i = 0; i < group.amounts.size(); ++i) {
    Json size = {{"tokens", sizing.answers[i].tokens.value()}};
    size.update(AmountJson(group.amounts[i]));
    json["sizes"].push_back(std::move(size));
  }
  return json;
}

Json AnswerJson(const SizeAnswer& answer, TokenCount context_length) {
  Json json = {
      {"tokens", answer.tokens.value()},
      {"batch", answer.requests},
      {"exceeds_context_length", context_length > TokenCount(0) && answer.tokens > context_length}};
  json.update(AmountJson(answer.total));
  json["per_request"] = AmountJson(answer.per_request);
  return json;
}

Json ParallelJson(const SizeReport& report) {
  const Parallelism& parallel = report.request.parallel;
  Json json = {{"tp", parallel.tp}, {"pp", parallel.pp},   {"dp", parallel.dp},
               {"ep", parallel.ep}, {"dcp", parallel.dcp}, {"cards", parallel.Cards()}};
  json["stages"] = Json::array();
  for (const StageSizing& stage : report.stages) {
    Json each = {{"stage", stage.rank.stage},
                 {"first_layer", stage.rank.first_layer.value()},
                 {"end_layer", stage.rank.end_layer.value()},
                 {"bytes_per_token", stage.sizing.bytes_per_token.value()},
                 {"fixed_bytes_per_request", stage.sizing.fixed_bytes_per_request.value()}};
    each["sizes"] = Json::array();
    for (const SizeAnswer& answer : stage.sizing.answers) {
      Json size = {{"tokens", answer.tokens.value()}, {"batch", answer.requests}};
      size.update(AmountJson(answer.total));
      each["sizes"].push_back(std::move(size));
    }
    json["stages"].push_back(std::move(each));
  }
  return json;
}

void AddWeights(const Sizing& sizing, const ModelSpec& model, Json& json) {
  if (sizing.parameters) {
    json["parameters"] = sizing.parameters->value();
  } else {
    json["parameters_note"] = model.uncounted;
  }
  if (sizing.weights && sizing.weights->bytes) {
    json["weights_bytes"] = sizing.weights->bytes->value();
  }
}

Json HeadJson(const SizeReport& report) {
  const ModelSpec& model = report.model.spec;
  const Sizing& sizing = report.sizing;
  Json json = {{"model", report.model.name},
               {"family", model.family},
               {"architecture", AttentionName(model)},
               {"context_length", nullptr},
               {"parameters", nullptr},
               {"weights_bytes", nullptr},
               {"kv_dtype",
                {{"keys", NameOf(sizing.question.codecs.keys)},
                 {"values", NameOf(sizing.question.codecs.values)}}},
               {"shared_prefix", sizing.question.shared_prefix.value()},
               {"elements_per_token", sizing.elements_per_token.value()},
               {"bytes_per_token", sizing.bytes_per_token.value()},
               {"fixed_bytes_per_request", sizing.fixed_bytes_per_request.value()}};
  if (model.context_length > TokenCount(0)) {
    json["context_length"] = model.context_length.value();
  }
  AddWeights(sizing, model, json);
  if (!sizing.answers.empty()) {
    const StateAmount& last = sizing.answers.back().total;
    json["kv_bytes"] = last.kv_bytes.value();
    json["state_bytes"] = last.state_bytes.value();
    json["total_bytes"] = last.TotalBytes().value();
  }
  return json;
}

Json ObjectOf(const SizeReport& report) {
  Json json = HeadJson(report);
  json["sizes"] = Json::array();
  for (const SizeAnswer& answer : report.sizing.answers) {
    json["sizes"].push_back(AnswerJson(answer, report.model.spec.context_length));
  }
  json["layers"] = Json::array();
  for (const LayerGroup& group : report.sizing.groups) {
    json["layers"].push_back(GroupJson(group, report.sizing));
  }
  json["parallel"] = ParallelJson(report);
  // What sections say is written once, by RenderJson.
  json.update(Json::parse(RenderJson(report.sections, -1)));
  json["explain"] = ExplainSection(report).notes;
  json["warnings"] = report.warnings;
  return json;
}

// A path may hold any bytes; those that aren't UTF-8 become replacement characters.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ReportJson(const SizeReport& report, int indent) {
  return Dump(ObjectOf(report), indent);
}

std::string ErrorJsonLine(std::string_view name, const Error& error) {
  return Dump({{"model", name}, {"error", error.message}}, -1);
}

}  // namespace cairn
