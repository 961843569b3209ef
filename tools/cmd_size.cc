// cairn size: the memory that a model's state takes, from its description alone.
#include <CLI/CLI.hpp>
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
  std::string model;
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

Result<StateCodecs> CodecsOf(const SizeArgs& args) {
  const auto read = [&](const char* flag, const std::string& own) -> Result<DType> {
    if (!own.empty()) return StateCodecFromName(flag, own);
    if (!args.type.empty()) return StateCodecFromName("--kv-dtype", args.type);
    return DType::kF16;
  };
  StateCodecs codecs;
  CAIRN_ASSIGN(codecs.keys, read("-ctk", args.key_type));
  CAIRN_ASSIGN(codecs.values, read("-ctv", args.value_type));
  return codecs;
}

Status RunSize(const SizeArgs& args) {
  SizingQuestion question;
  CAIRN_ASSIGN(question.codecs, CodecsOf(args));
  CAIRN_ASSIGN(const SizedModel model, ReadModel(args.model));
  question.batch = args.batch;
  for (const int64_t tokens : args.contexts) question.tokens.emplace_back(tokens);
  if (args.contexts.empty()) question.tokens.push_back(model.spec.context_length);
  CAIRN_ASSIGN(const Sizing sizing, SizeModel(model.spec, std::move(question), model.weights));
  const std::string report = args.json ? SizingJson(args.model, model.spec, sizing)
                                       : SizingText(args.model, model.spec, sizing);
  fmt::print("{}", report);
  return {};
}

}  // namespace

void AddSizeCommand(CLI::App& app, ChosenCommand& chosen) {
  static SizeArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("size", "Say how much memory a model's state takes");
  command.add_option("model", args.model, "A .gguf file, a Hugging Face folder or a config.json")
      ->required();
  command
      .add_option("-c,--context", args.contexts, "Tokens of each request (default: the model's)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--batch", args.batch, "Requests that share nothing");
  command.add_option("--cache-type-k", args.key_type, "-ctk: stored form of keys");
  command.add_option("--cache-type-v", args.value_type, "-ctv: stored form of values");
  command.add_option("--kv-dtype", args.type, "Stored form of both: f32, f16 (default), bf16");
  command.add_flag("--json", args.json, "Print JSON");
  command.callback([&chosen] {
    chosen = [] {
      const Status status = RunSize(args);
      return status ? 0 : ExitCodeOf(status.error());
    };
  });
}

}  // namespace cairn
