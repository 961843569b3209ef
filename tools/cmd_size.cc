// cairn size: the memory that a model's state takes, from its description alone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/sizing/compare.h"
#include "cairn/sizing/report.h"
#include "tools/commands.h"
#include "tools/size_args.h"
#include "tools/size_models.h"
#include "tools/size_page.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

TextStyle StyleOf(const SizeArgs& args) {
  return {.columns = OutputColumns(), .blocks = OutputIsTerminal(), .explain = args.explain};
}

Result<SizeReport> Answer(const SizeArgs& args, const std::string& name) {
  CAIRN_ASSIGN(SizeRequest request, args.Request());
  CAIRN_ASSIGN(SizedModel model, ReadSizedModel(name));
  return AnswerSizeRequest(std::move(model), std::move(request));
}

// People asked about the state, unless they named a card or asked for all.
void LeaveOutUnasked(const SizeArgs& args, SizeReport& report) {
  const SizeRequest& cards = args.cards;
  if (args.full || !cards.gpu.empty() || cards.memory_gib > 0) return;
  std::erase_if(report.sections, [&](const Section& section) {
    if (section.key == "weights") return cards.weights_dtype.empty();
    if (section.key == "fleet") return !cards.fleet;
    if (section.key == "bounds") return cards.bandwidth_gbs == 0 && cards.tflops == 0;
    if (section.key == "transfers") return cards.link.empty();
    return section.key == "activations" || section.key == "budget";
  });
}

Result<std::string> ReportOf(const SizeArgs& args, const std::string& name) {
  CAIRN_ASSIGN(const SizeArgs::Format format, args.ChosenFormat());
  CAIRN_ASSIGN(SizeReport report, Answer(args, name));
  if (!args.html.empty()) {
    CAIRN_TRY(WriteSizePage(args.html, report));
    return fmt::format("{}: the page, to be opened in a browser\n", args.html);
  }
  if (format == SizeArgs::Format::kJson) {
    return ReportJson(report, args.models.size() == 1 ? 2 : -1);
  }
  LeaveOutUnasked(args, report);
  if (format == SizeArgs::Format::kMarkdown) return ReportMarkdown(report, args.explain);
  if (format == SizeArgs::Format::kCsv) return ReportCsv(report);
  return ReportText(report, StyleOf(args));
}

// Of several models each is reported, also when others can't be sized.
int SizeEach(const SizeArgs& args) {
  int exit_code = 0;
  bool first = true;
  for (const std::string& name : args.models) {
    const Result<std::string> report = ReportOf(args, name);
    if (report) {
      fmt::print("{}{}", first || args.json ? "" : "\n", *report);
      first = false;
      continue;
    }
    exit_code = std::max(exit_code, ExitCodeOf(report.error()));
    if (args.json && args.models.size() > 1) {
      fmt::print("{}", ErrorJsonLine(name, report.error()));
    }
  }
  return exit_code;
}

Result<std::string> Rendered(const SizeArgs& args, const Section& section) {
  CAIRN_ASSIGN(const SizeArgs::Format format, args.ChosenFormat());
  const std::span<const Section> sections(&section, 1);
  if (format == SizeArgs::Format::kJson) return RenderJson(sections, 2);
  if (format == SizeArgs::Format::kMarkdown) return RenderMarkdown(sections, args.explain);
  if (format == SizeArgs::Format::kCsv) return RenderCsv(sections);
  return RenderText(sections, StyleOf(args));
}

// `cairn size compare A B C`: all must be known, for a row that is missing says nothing.
Result<std::string> Comparison(const SizeArgs& args) {
  std::vector<SizeReport> reports;
  for (const std::string& name : std::span(args.models).subspan(1)) {
    SizeArgs same = args;
    // Lengths must be alike to be compared: the common one, where none is asked for.
    if (same.contexts.empty() && same.requests_file.empty()) same.contexts = {4096, 32768, 131072};
    CAIRN_ASSIGN(SizeReport report, Answer(same, name));
    reports.push_back(std::move(report));
  }
  std::vector<ComparedModel> models;
  for (const SizeReport& report : reports) {
    models.push_back({.name = report.model.name,
                      .sizing = &report.sizing,
                      .context_length = report.model.spec.context_length});
  }
  return Rendered(args, CompareSection(models));
}

int RunSize(const SizeArgs& args) {
  if (!args.list && args.models.empty()) {
    return ExitCodeOf({ErrorCode::kInvalidArgument,
                       "size: expected a model: a file, a folder, a name (cairn size --list) or a "
                       "shape such as layers=32,kv_heads=8,head_dim=128"});
  }
  const bool compares = !args.list && args.models.size() > 1 && args.models.front() == "compare";
  if (!args.list && !compares) return SizeEach(args);
  const Result<std::string> text = compares ? Comparison(args) : Rendered(args, CatalogSection());
  if (!text) return ExitCodeOf(text.error());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace

void AddSizeCommand(CLI::App& app, ChosenCommand& chosen) {
  static SizeArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("size", "Say how much memory a model's state takes");
  args.AddFlags(command);
  command.callback([&chosen] { chosen = [] { return RunSize(args); }; });
}

}  // namespace cairn
