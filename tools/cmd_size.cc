// cairn size: the memory that a model's state takes, from its description alone.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
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
#include "tools/model_args.h"

namespace cairn {
namespace {

struct SizeArgs {
  std::vector<std::string> models;
  std::vector<int64_t> contexts;  // empty: the model's own
  int64_t batch = 1;
  std::string type;  // of keys and values
  std::string key_type;
  std::string value_type;
  bool json = false;
};

struct SizedModel {
  ModelSpec spec;
  std::optional<WeightTotals> weights;
};

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
  return SizedModel{std::move(spec), std::nullopt};
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

// Forms that some engine keeps keys and values in; this one may not be among them.
Result<DType> SizedCodecFromName(const char* flag, const std::string& name) {
  constexpr std::array kCodecs = {DType::kF32,  DType::kF16,   DType::kBF16, DType::kF8E4M3,
                                  DType::kQ8_0, DType::kQ4_0,  DType::kQ4_1, DType::kQ5_0,
                                  DType::kQ5_1, DType::kIQ4_NL};
  if (name == "fp8" || name == "fp8_e4m3") return DType::kF8E4M3;
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype && std::ranges::find(kCodecs, *dtype) != kCodecs.end()) return *dtype;
  return Fail(ErrorCode::kInvalidArgument,
              "{} {}: no such state type; f32, f16, bf16, fp8, q8_0, q5_1, q5_0, q4_1, q4_0 and "
              "iq4_nl are",
              flag, name);
}

Result<StateCodecs> CodecsOf(const SizeArgs& args) {
  const auto read = [&](const char* flag, const std::string& own) -> Result<DType> {
    if (!own.empty()) return SizedCodecFromName(flag, own);
    if (!args.type.empty()) return SizedCodecFromName("--kv-dtype", args.type);
    return DType::kF16;
  };
  StateCodecs codecs;
  CAIRN_ASSIGN(codecs.keys, read("-ctk", args.key_type));
  CAIRN_ASSIGN(codecs.values, read("-ctv", args.value_type));
  return codecs;
}

// The model's own context, or a common one where its file names none.
TokenCount DefaultContext(const ModelSpec& spec) {
  constexpr TokenCount kUnnamed{4096};
  return spec.context_length > TokenCount(0) ? spec.context_length : kUnnamed;
}

Result<std::string> ReportOf(const SizeArgs& args, const std::string& path) {
  SizingQuestion question;
  CAIRN_ASSIGN(question.codecs, CodecsOf(args));
  CAIRN_ASSIGN(const SizedModel model, ReadModel(path));
  question.batch = args.batch;
  for (const int64_t tokens : args.contexts) question.tokens.emplace_back(tokens);
  if (args.contexts.empty()) question.tokens.push_back(DefaultContext(model.spec));
  CAIRN_ASSIGN(const Sizing sizing, SizeModel(model.spec, std::move(question), model.weights));
  if (!args.json) return SizingText(path, model.spec, sizing);
  return args.models.size() == 1 ? SizingJson(path, model.spec, sizing)
                                 : SizingJsonLine(path, model.spec, sizing);
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
    if (args.json) fmt::print("{}", ErrorJsonLine(path, report.error()));
  }
  return exit_code;
}

}  // namespace

void AddSizeCommand(CLI::App& app, ChosenCommand& chosen) {
  static SizeArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("size", "Say how much memory a model's state takes");
  command
      .add_option(
          "model", args.models,
          "A .gguf file, a Hugging Face folder or a config.json; several give a report each")
      ->required();
  command
      .add_option("-c,--context", args.contexts, "Tokens of each request (default: the model's)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--batch", args.batch, "Requests that share nothing");
  command.add_option("--cache-type-k", args.key_type, "-ctk: stored form of keys");
  command.add_option("--cache-type-v", args.value_type, "-ctv: stored form of values");
  command.add_option("--kv-dtype", args.type,
                     "Stored form of both: f32, f16 (default), bf16, fp8, q8_0, q4_0, ...");
  command.add_flag("--json", args.json, "Print JSON, one line a model if there are several");
  command.callback([&chosen] {
    chosen = [] {
      if (args.models.size() > 1) return SizeEach(args);
      const Result<std::string> report = ReportOf(args, args.models.front());
      if (!report) return ExitCodeOf(report.error());
      fmt::print("{}", *report);
      return 0;
    };
  });
}

}  // namespace cairn
