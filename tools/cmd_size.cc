// cairn size: the memory that a model's state takes, from its description alone.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/sizing/report.h"
#include "cairn/sizing/sizing.h"
#include "cairn/spec/families.h"
#include "cairn/spec/hf_config.h"
#include "cairn/weights/describe_model.h"
#include "cairn/weights/weight_file.h"
#include "tools/commands.h"
#include "tools/size_args.h"
#include "tools/size_page.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

Result<WeightTotals> TotalsOf(const WeightFile& file) {
  int64_t parameters = 0;
  Bytes bytes;
  bool all_known = true;
  for (const TensorInfo& tensor : file.tensors()) {
    int64_t elements = 1;
    bool overflow = false;
    for (const int64_t dimension : tensor.shape) {
      overflow = overflow || __builtin_mul_overflow(elements, dimension, &elements);
    }
    if (overflow || __builtin_add_overflow(parameters, elements, &parameters)) {
      return Fail(ErrorCode::kCorrupt, "{}: tensor {} has more elements than can be counted",
                  file.where(), tensor.name);
    }
    bytes += Bytes(static_cast<int64_t>(tensor.bytes.size()));
    all_known = all_known && tensor.dtype.has_value();
  }
  WeightTotals totals;
  totals.parameters = ElementCount(parameters);
  if (all_known) totals.bytes = bytes;
  return totals;
}

Result<SizedModel> ReadConfig(const std::string& path) {
  CAIRN_ASSIGN(const std::string json, ReadFile(path, HfConfig::kMaxBytes));
  CAIRN_ASSIGN(ModelSpec spec, ModelSpecFromConfig(json, path));
  return SizedModel{.name = path, .spec = std::move(spec)};
}

// A folder needs its config.json only; weights are counted where they are complete.
Result<SizedModel> ReadFolder(const std::string& path) {
  const std::string config = path + "/config.json";
  if (!FileExists(config)) {
    return Fail(ErrorCode::kNotFound,
                "{}: no config.json in this folder; a model's folder, a config.json or a .gguf "
                "file would be right",
                path);
  }
  CAIRN_ASSIGN(SizedModel model, ReadConfig(config));
  const auto file = OpenWeightFile(path);
  if (!file && file.error().code == ErrorCode::kNotFound) return model;
  if (!file) return std::unexpected(file.error());
  CAIRN_ASSIGN(model.weights, TotalsOf(**file));
  return model;
}

Result<SizedModel> ReadModel(const std::string& path) {
  if (IsDirectory(path)) return ReadFolder(path);
  if (path.ends_with(".json")) return ReadConfig(path);
  CAIRN_ASSIGN(const std::unique_ptr<WeightFile> file, OpenWeightFile(path));
  SizedModel model;
  CAIRN_ASSIGN(model.spec, DescribeModel(*file, path));
  CAIRN_ASSIGN(model.weights, TotalsOf(*file));
  return model;
}

TextStyle StyleOf(const SizeArgs& args) {
  return {.columns = OutputColumns(), .blocks = OutputIsTerminal(), .explain = args.explain};
}

Result<std::string> ReportOf(const SizeArgs& args, const std::string& path) {
  CAIRN_ASSIGN(const SizeArgs::Format format, args.ChosenFormat());
  CAIRN_ASSIGN(SizeRequest request, args.Request());
  CAIRN_ASSIGN(SizedModel model, ReadModel(path));
  model.name = path;
  CAIRN_ASSIGN(SizeReport report, AnswerSizeRequest(std::move(model), std::move(request)));
  CAIRN_ASSIGN(std::optional<Section> profile,
               ProfileSectionOf(args.ProfileWithFlags(), report.model.spec));
  if (profile) report.sections.push_back(*std::move(profile));
  if (!args.html.empty()) {
    CAIRN_TRY(WriteSizePage(args.html, path, report));
    return fmt::format("{}: the page, to be opened in a browser\n", args.html);
  }
  switch (format) {
    case SizeArgs::Format::kText:
      return ReportText(report, StyleOf(args));
    case SizeArgs::Format::kJson:
      return ReportJson(report, args.models.size() == 1 ? 2 : -1);
    case SizeArgs::Format::kMarkdown:
      return ReportMarkdown(report, args.explain);
    case SizeArgs::Format::kCsv:
      return ReportCsv(report);
  }
  return std::string();
}

// Of several models each is reported, also when others can't be sized.
int SizeEach(const SizeArgs& args) {
  int exit_code = 0;
  bool first = true;
  for (const std::string& path : args.models) {
    const Result<std::string> report = ReportOf(args, path);
    if (report) {
      fmt::print("{}{}", first || args.json ? "" : "\n", *report);
      first = false;
      continue;
    }
    exit_code = std::max(exit_code, ExitCodeOf(report.error()));
    if (args.json && args.models.size() > 1) {
      fmt::print("{}", ErrorJsonLine(path, report.error()));
    }
  }
  return exit_code;
}

}  // namespace

void AddSizeCommand(CLI::App& app, ChosenCommand& chosen) {
  static SizeArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("size", "Say how much memory a model's state takes");
  args.AddFlags(command);
  command.callback([&chosen] { chosen = [] { return SizeEach(args); }; });
}

}  // namespace cairn
