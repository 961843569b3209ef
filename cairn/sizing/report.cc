#include "cairn/sizing/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cairn/sizing/explain.h"
#include "cairn/sizing/format.h"

namespace cairn {
namespace {

// "0-4, 6-10"; many runs are cut.
std::string LayersText(const std::vector<LayerIndex>& layers) {
  constexpr size_t kMaxRuns = 4;
  std::string text;
  const auto runs = RunsOf(layers);
  for (size_t i = 0; i < std::min(runs.size(), kMaxRuns); ++i) {
    const auto [first, last] = runs[i];
    text += i == 0 ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return runs.size() > kMaxRuns ? text + ", .." : text;
}

// "sliding 4,096"
std::string KindText(const LayerGroup& group) {
  for (const Component& component : group.state.components) {
    const auto* rows = std::get_if<Rows>(&component);
    if (rows == nullptr || rows->exact_copy || rows->lifetime.KeepsAll()) continue;
    return fmt::format("{} {}", group.kind, Grouped(rows->lifetime.tokens.value()));
  }
  return group.kind;
}

std::string KeptText(const LayerGroup& group) {
  if (group.sources.empty()) return ComponentsFormula(group.state);
  return "reads layer " + LayersText({group.sources.begin(), group.sources.end()});
}

Table LayersTable(const Sizing& sizing) {
  Table table = {.key = "groups",
                 .label = "",
                 .columns = {{"indices", "layers"},
                             {"count", "count"},
                             {"kind", "kind"},
                             {"kept", "kept by each"},
                             {"bytes_per_token", "bytes per token"},
                             {"fixed_bytes", "fixed bytes"}}};
  for (const LayerGroup& group : sizing.groups) {
    table.rows.push_back({LayersText(group.layers), static_cast<int64_t>(group.layers.size()),
                          KindText(group), KeptText(group), group.bytes_per_token.value(),
                          group.fixed_bytes_per_request.value()});
  }
  return table;
}

// Heads and widths of what grows, as a plain number where all layers agree.
Cell Distinct(const std::set<int64_t>& values) {
  if (values.empty()) return {};
  if (values.size() == 1) return *values.begin();
  return fmt::format("{}", fmt::join(values, " / "));
}

// The rows that the calculators people know print, under the names they print them.
void AddCalculatorFields(const SizeReport& report, std::vector<Field>& fields) {
  std::set<int64_t> heads;
  std::set<int64_t> widths;
  for (const LayerGroup& group : report.sizing.groups) {
    for (const Component& component : group.state.components) {
      const auto* rows = std::get_if<Rows>(&component);
      if (rows == nullptr || (rows->name != "keys" && rows->name != "latent")) continue;
      heads.insert(rows->heads);
      widths.insert(rows->width);
    }
  }
  const auto layers = static_cast<int64_t>(report.model.spec.layers.size());
  const Bytes per_token = report.sizing.bytes_per_token;
  fields.push_back({.key = "layers", .label = "layers", .value = layers});
  fields.push_back({.key = "num_kv_heads", .label = "num_kv_heads", .value = Distinct(heads)});
  fields.push_back({.key = "head_dim", .label = "head_dim", .value = Distinct(widths)});
  fields.push_back(
      {.key = "per_token_bytes", .label = "per_token_bytes", .value = per_token.value()});
  fields.push_back({.key = "per_token_kib",
                    .label = "per_token_kib",
                    .value = fmt::format("{:.1f}", static_cast<double>(per_token.value()) / 1024)});
}

Section ModelSection(const SizeReport& report) {
  const ModelSpec& model = report.model.spec;
  const Sizing& sizing = report.sizing;
  Section section = {.key = "model", .title = report.model.name};
  std::vector<Field>& fields = section.fields;
  fields.push_back({.key = "family", .label = "family", .value = model.family});
  fields.push_back({.key = "architecture", .label = "architecture", .value = AttentionName(model)});
  if (model.context_length > TokenCount(0)) {
    fields.push_back({.key = "trained_context",
                      .label = "context of the model",
                      .value = CellOf(model.context_length),
                      .unit = Unit::kTokens});
  }
  const bool counted = sizing.parameters.has_value();
  fields.push_back({.key = "parameters",
                    .label = "parameters",
                    .value = counted ? Cell(sizing.parameters->value())
                                     : Cell("not counted: " + model.uncounted)});
  if (sizing.weights && sizing.weights->bytes) {
    fields.push_back({.key = "weights_bytes",
                      .label = "weights in the file",
                      .value = CellOf(*sizing.weights->bytes),
                      .unit = Unit::kBytes});
  }
  const StateCodecs& codecs = sizing.question.codecs;
  fields.push_back(
      {.key = "kv_dtype",
       .label = "state stored as",
       .value = fmt::format("keys {}, values {}", NameOf(codecs.keys), NameOf(codecs.values))});
  AddCalculatorFields(report, fields);
  fields.push_back({.key = "fixed_bytes_per_request",
                    .label = "fixed per request",
                    .value = CellOf(sizing.fixed_bytes_per_request),
                    .unit = Unit::kBytes});
  return section;
}

Section LayersSection(const SizeReport& report) {
  return {.key = "layer_groups",
          .title = "What the layers keep",
          .tables = {LayersTable(report.sizing)}};
}

Section StagesSection(const SizeReport& report) {
  const Parallelism& parallel = report.request.parallel;
  Section section = {
      .key = "cards",
      .title = fmt::format("State of a card (tp {}, pp {}, dp {}, dcp {}: {} cards)", parallel.tp,
                           parallel.pp, parallel.dp, parallel.dcp, parallel.Cards())};
  Table table = {.key = "stages",
                 .label = "",
                 .columns = {{"stage", "stage"},
                             {"layers", "layers"},
                             {"context", "context"},
                             {"requests", "requests"},
                             {"bytes_per_token", "bytes per token"},
                             {"kv_bytes", "grows", Unit::kBytes},
                             {"state_bytes", "fixed", Unit::kBytes},
                             {"total_rounded", "a card keeps"},
                             {"total_bytes", "in bytes"}}};
  for (const StageSizing& stage : report.stages) {
    for (const SizeAnswer& answer : stage.sizing.answers) {
      table.rows.push_back(
          {int64_t{stage.rank.stage},
           fmt::format("{}-{}", stage.rank.first_layer.value(), stage.rank.end_layer.value() - 1),
           answer.tokens.value(), answer.requests, stage.sizing.bytes_per_token.value(),
           answer.total.kv_bytes.value(), answer.total.state_bytes.value(),
           HumanBytes(answer.total.TotalBytes()), answer.total.TotalBytes().value()});
    }
  }
  section.tables.push_back(std::move(table));
  return section;
}

Section TotalsSection(const SizeReport& report) {
  Section section = {.key = "sizes", .title = "State of all requests"};
  Table table = {.key = "answers",
                 .label = "",
                 .columns = {{"tokens", "context"},
                             {"requests", "requests"},
                             {"kv_bytes", "grows", Unit::kBytes},
                             {"state_bytes", "fixed", Unit::kBytes},
                             {"allocated_bytes", "in blocks", Unit::kBytes},
                             {"total_rounded", "total"},
                             {"total_bytes", "total in bytes"}}};
  for (const SizeAnswer& answer : report.sizing.answers) {
    table.rows.push_back({answer.tokens.value(), answer.requests, answer.total.kv_bytes.value(),
                          answer.total.state_bytes.value(), answer.total.allocated_bytes.value(),
                          HumanBytes(answer.total.TotalBytes()),
                          answer.total.TotalBytes().value()});
  }
  section.tables.push_back(std::move(table));
  return section;
}

// "context_length", "total_gib" and the closing line of the calculators.
Section ClosingSection(const SizeReport& report) {
  Section section = {.key = "total", .title = ""};
  if (report.sizing.answers.empty()) return section;
  const SizeAnswer& answer = report.sizing.answers.back();
  const auto bytes = static_cast<double>(answer.total.TotalBytes().value());
  const std::string gib = fmt::format("{:.4f}", bytes / (int64_t{1} << 30));
  section.fields.push_back({.key = "context_length",
                            .label = "context_length",
                            .value = fmt::format("{}", answer.tokens.value())});
  section.fields.push_back({.key = "total_gib", .label = "total_gib", .value = gib});
  const std::vector<RequestGroup>& mix = report.request.question.requests;
  const bool alike = std::ranges::adjacent_find(mix, std::ranges::not_equal_to(),
                                                &RequestGroup::tokens) == mix.end();
  section.fields.push_back(
      {.key = "total",
       .label = "total",
       .value = fmt::format("{} GiB ({:.4f} GB) for {}{} tokens, batch={}", gib, bytes / 1e9,
                            alike ? "" : "up to ", answer.tokens.value(), answer.requests)});
  return section;
}

}  // namespace

std::vector<Section> SectionsOf(const SizeReport& report, bool explain) {
  std::vector<Section> sections = {ModelSection(report), LayersSection(report)};
  if (explain) sections.push_back(ExplainSection(report));
  for (const Section& section : report.sections) sections.push_back(section);
  if (!report.request.parallel.IsOne()) sections.push_back(StagesSection(report));
  sections.push_back(TotalsSection(report));
  if (!report.warnings.empty()) {
    sections.push_back({.key = "warnings", .title = "Mind", .warnings = report.warnings});
  }
  sections.push_back(ClosingSection(report));
  return sections;
}

std::string ReportText(const SizeReport& report, const TextStyle& style) {
  return RenderText(SectionsOf(report, style.explain), style);
}

std::string ReportMarkdown(const SizeReport& report, bool explain) {
  return RenderMarkdown(SectionsOf(report, explain), explain);
}

std::string ReportCsv(const SizeReport& report) { return RenderCsv(SectionsOf(report, false)); }

}  // namespace cairn
