#include "tools/model_args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "cairn/base/cpu_count.h"
#include "cairn/base/env.h"
#include "cairn/kernels/state_rows.h"
#include "cairn/models/runnable.h"
#include "cairn/weights/describe_model.h"
#include "cairn/weights/fingerprint.h"
#include "tools/key_standards_file.h"
#include "tools/state_quality.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr int kMaxThreads = 512;

Status RestrictCpus(const ModelArgs& args) {
  if (args.cpus.empty()) return {};
  const std::optional<std::vector<int>> cpus = ParseCpuList(args.cpus);
  if (!cpus) {
    return Fail(ErrorCode::kInvalidArgument,
                "--cpu-range {}: a list of processors and ranges like 0-3,8 would be right",
                args.cpus);
  }
  return RunOnCpus(*cpus);
}

Result<ModelOptions> ModelOptionsOf(const ModelArgs& args, const ModelSpec& spec, ThreadPool& pool,
                                    std::optional<FormReport>& forms) {
  ModelOptions options;
  CAIRN_ASSIGN(options.codecs, StateCodecsOf(args));
  CAIRN_ASSIGN(const SequenceRunner::Options runner, RunnerOptionsOf(args, spec));
  options.context = runner.context;
  if (args.ChoosesForms()) {
    CAIRN_ASSIGN(options.standards, KeyStandardsFor(args, spec, pool));
    CAIRN_ASSIGN(FormReport report, FormReportFor(args, spec, options.standards, pool));
    options.codecs.layers = report.layers;
    forms = std::move(report);
  }
  if (options.codecs.keys.transform == RowTransform::kStandardized) {
    CAIRN_ASSIGN(options.standards, KeyStandardsFor(args, spec, pool));
  }
  return options;
}

}  // namespace

void ModelArgs::AddModelFlag(CLI::App& command) {
  command.add_option("-m,--model", model, "A .gguf file or a Hugging Face folder")->required();
}

void ModelArgs::AddThreadFlag(CLI::App& command) {
  command.add_option("-t,--threads", threads, "Threads (default: one per core)")
      ->check(CLI::Range(1, kMaxThreads));
  command.add_option("--cpu-range", cpus, "Processors to run on, as in 0-3,8 (default: any)");
}

void ModelArgs::AddKeyStandardsFlag(CLI::App& command) {
  command.add_option("--key-standards", key_standards,
                     "File with what +std must know of the model; it is made if absent");
}

void ModelArgs::AddStateFlags(CLI::App& command) {
  command.add_option("--cache-type-k", key_type,
                     "-ctk: stored form of keys: " + StateCodecNames() + " (f8_e4m3: also fp8)");
  command.add_option("--cache-type-v", value_type,
                     "-ctv: stored form of values, the same; +rot behind either: rotated, +std "
                     "behind keys': standardised; then +ends: the first and last rows exactly");
  AddKeyStandardsFlag(command);
  command.add_option("--state-quality", state_quality,
                     "Chooses each layer's forms by what they cost this model: " +
                         StateGoalNames() + ", or a divergence in nats as 0.01");
  command.add_option("--state-forms", state_forms,
                     "File with each layer's forms; --state-quality makes it if it is absent");
}

void ModelArgs::AddContextFlags(CLI::App& command) {
  command.add_option("-c,--ctx-size", context, "Tokens that the sequence may hold")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command.add_option("-b,--batch-size", batch, "Tokens computed at once")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
}

Result<DType> StateCodecFromName(const std::string& flag, const std::string& name) {
  if (name == "fp8") return DType::kF8E4M3;
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype && IsStateCodec(*dtype)) return *dtype;
  return Fail(ErrorCode::kInvalidArgument, "{} {}: state can't be kept so, only as {}", flag, name,
              StateCodecNames());
}

Result<StateForm> StateFormFromName(const std::string& flag, std::string name, bool of_keys) {
  CAIRN_ASSIGN(StateForm form, TakeSuffixes(flag, name));
  CAIRN_ASSIGN(form.codec, StateCodecFromName(flag, name));
  CAIRN_TRY(CheckForm(flag, form, of_keys));
  return form;
}

Result<StateCodecs> StateCodecsOf(const ModelArgs& args) {
  StateCodecs codecs;
  const ModelArgs none;
  const bool named = args.key_type != none.key_type || args.value_type != none.value_type;
  if (args.ChoosesForms() && named) {
    return Fail(ErrorCode::kInvalidArgument,
                "-ctk {}, -ctv {}: --state-quality and --state-forms choose the forms; one or the "
                "other would be right",
                args.key_type, args.value_type);
  }
  if (!args.state_quality.empty()) CAIRN_TRY(StateGoalOf(args.state_quality));
  CAIRN_ASSIGN(codecs.keys, StateFormFromName("-ctk", args.key_type, true));
  CAIRN_ASSIGN(codecs.values, StateFormFromName("-ctv", args.value_type, false));
  return codecs;
}

Result<DescribedFile> DescribeFile(const ModelArgs& args) {
  DescribedFile described;
  CAIRN_ASSIGN(described.file, OpenWeightFile(args.model));
  CAIRN_ASSIGN(described.spec, DescribeModel(*described.file, args.model));
  CAIRN_TRY(CheckRunnable(described.spec));
  return described;
}

Result<OpenedModel> OpenModel(const ModelArgs& args) {
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(args));
  return OpenModel(args, std::move(described));
}

Result<OpenedModel> OpenModel(const ModelArgs& args, DescribedFile described) {
  OpenedModel opened;
  CAIRN_TRY(RestrictCpus(args));
  opened.pool = std::make_unique<ThreadPool>(args.threads > 0 ? args.threads : CpuCount());
  const int64_t start_us = NowMicroseconds();
  CAIRN_ASSIGN(const ModelOptions options,
               ModelOptionsOf(args, described.spec, *opened.pool, opened.forms));
  const ProgressLine progress("loading " + args.model);
  if (args.fingerprint) {
    CAIRN_ASSIGN(opened.fingerprint, FingerprintOf(*described.file, args.model, *opened.pool));
    opened.fingerprint += options.standards.Digest();
  }
  CAIRN_ASSIGN(opened.model, LoadModel(std::move(described.file), std::move(described.spec),
                                       options, *opened.pool));
  opened.load_time_us = NowMicroseconds() - start_us;
  return opened;
}

Result<std::unique_ptr<Model>> LoadModelOn(const ModelArgs& args, ThreadPool& pool) {
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(args));
  std::optional<FormReport> forms;
  CAIRN_ASSIGN(const ModelOptions options, ModelOptionsOf(args, described.spec, pool, forms));
  const ProgressLine progress("loading " + args.model);
  return LoadModel(std::move(described.file), std::move(described.spec), options, pool);
}

Result<SequenceRunner::Options> RunnerOptionsOf(const ModelArgs& args, const ModelSpec& spec) {
  // Recurrent models need no context length, and often name none.
  const int64_t named = spec.context_length.value();
  const int64_t own = named > 0 ? named : std::numeric_limits<int64_t>::max();
  if (args.context > own) {
    return Fail(ErrorCode::kInvalidArgument,
                "-c {}: {} was made for a context of {} tokens; that or less would be right",
                args.context, args.model, own);
  }
  SequenceRunner::Options options;
  options.context = TokenCount(args.context > 0 ? args.context : std::min(own, kDefaultContext));
  options.chunk = TokenCount(std::min(args.batch, options.context.value()));
  return options;
}

Result<std::unique_ptr<StateStore>> MakeStoreFor(const Model& model,
                                                 const SequenceRunner::Options& options,
                                                 int64_t sequences) {
  const Bytes each = StateBytesFor(model.layout(), options);
  return StateStore::Make(
      model.layout(),
      {.budget = each * sequences, .max_sequences = sequences, .reserved_tokens = options.context});
}

}  // namespace cairn
