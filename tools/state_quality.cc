#include "tools/state_quality.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/eval/excerpt.h"
#include "cairn/models/form_errors.h"
#include "cairn/weights/describe_model.h"
#include "cairn/weights/fingerprint.h"
#include "tools/generation.h"
#include "tools/measuring_text.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "cairn state forms 1";
constexpr TokenCount kMeasuredTokens{1024};
constexpr int64_t kMaxFileBytes = int64_t{1} << 24;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Result<std::unique_ptr<Model>> Load(const ModelArgs& args, const ModelSpec& spec,
                                    const StateCodecs& codecs, const KeyStandards& standards,
                                    TokenCount context, ThreadPool& pool) {
  CAIRN_ASSIGN(std::unique_ptr<WeightFile> file, OpenWeightFile(args.model));
  ModelOptions options;
  options.codecs = codecs;
  options.standards = standards;
  options.context = context;
  return LoadModel(std::move(file), spec, options, pool);
}

// Over the text by which keys are measured, half of it and the same once more, read in one piece:
// what finds a passage again needs old rows most, and text that goes on shows little of it.
Result<FormErrors> MeasureErrors(const Tokenizer& tokenizer, Model& reference, TokenCount context,
                                 const KeyStandards& standards, ThreadPool& pool) {
  CAIRN_ASSIGN(std::vector<TokenId> tokens, tokenizer.Encode(kMeasuringText));
  const TokenCount most = std::min(kMeasuredTokens, context);
  tokens.resize(std::min(tokens.size(), static_cast<size_t>(most.value()) / 2));
  const std::vector<TokenId> again = tokens;
  tokens.insert(tokens.end(), again.begin(), again.end());
  FormMeter meter(reference.spec(), context, standards, pool);
  reference.ObserveKeys(&meter);
  const SequenceRunner::Options options = {.context = most, .chunk = most};
  CAIRN_ASSIGN(const auto store, MakeStoreFor(reference, options, 1));
  CAIRN_ASSIGN(const auto runner, SequenceRunner::Make(reference, *store, options));
  const Status read = runner->Append(tokens);
  reference.ObserveKeys(nullptr);
  CAIRN_TRY(read);
  return meter.errors();
}

Result<FormReport> SearchFor(const ModelArgs& args, const ModelSpec& model,
                             const KeyStandards& standards, ThreadPool& pool) {
  CAIRN_ASSIGN(const StateGoal goal, StateGoalOf(args.state_quality));
  CAIRN_ASSIGN(const DescribedFile described, DescribeFile(args));
  CAIRN_ASSIGN(const Tokenizer tokenizer, OpenTokenizer(*described.file, args.model));
  CAIRN_ASSIGN(const SequenceRunner::Options runner, RunnerOptionsOf(args, model));
  const ProgressLine progress("choosing forms of state");
  const StateCodecs exact = {.keys = DType::kF32, .values = DType::kF32};
  CAIRN_ASSIGN(const auto reference, Load(args, model, exact, {}, runner.context, pool));
  CAIRN_ASSIGN(const FormErrors errors,
               MeasureErrors(tokenizer, *reference, runner.context, standards, pool));
  FormSearch search;
  search.input.tokenizer = &tokenizer;
  search.input.pool = &pool;
  search.input.text = EvalExcerpt();
  search.input.text_name = "the built-in text";
  search.input.context = std::min(kMeasuredTokens, runner.context);
  search.input.windows = 1;
  search.input.progress = [&](std::string_view what) {
    progress.Update(fmt::format("choosing forms of state: {}", what));
  };
  search.reference = {.name = "f32", .model = reference.get()};
  search.model = &model;
  search.errors = &errors;
  search.load = [&](const StateCodecs& codecs) {
    return Load(args, model, codecs, standards, runner.context, pool);
  };
  return SearchForms(search, goal, runner.context);
}

Json JsonOf(const FormReport& report) {
  Json layers = Json::array();
  for (const LayerForms& forms : report.layers) {
    layers.push_back({{"keys", NameOf(forms.keys)}, {"values", NameOf(forms.values)}});
  }
  return {{"quality", report.goal.name},
          {"context", report.context.value()},
          {"kl_wanted", report.goal.kl},
          {"kl_allowed", report.kl_allowed},
          {"copy_nats_allowed", report.goal.copy_nats},
          {"measured_tokens", report.measured_tokens.value()},
          {"kl", report.kl},
          {"kl_of_f16", report.kl_floor},
          {"copy_nats_over_f32", report.copy_over_f32},
          {"reached", report.reached},
          {"layers", std::move(layers)}};
}

Result<StateForm> FormOf(const Json& json, const char* key, const std::string& name) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: a layer without the text \"{}\"", name, key);
  }
  return StateFormFromName(fmt::format("{}: {}", name, key), json[key].get<std::string>(),
                           std::string_view(key) == "keys");
}

Status CheckSame(const std::string& name, const ModelArgs& args, const FormReport& report,
                 TokenCount context) {
  if (!args.state_quality.empty() && args.state_quality != report.goal.name) {
    return Fail(ErrorCode::kInvalidArgument,
                "--state-forms {}: it was made for --state-quality {}, not {}; another file, or "
                "none, would be right",
                name, report.goal.name, args.state_quality);
  }
  if (args.state_quality.empty() || report.context == context) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "--state-forms {}: it was made for a context of {} tokens, not {}; the same -c, or "
              "another file, would be right",
              name, report.context.value(), context.value());
}

}  // namespace

std::string FormReportJson(const FormReport& report, const std::string& fingerprint) {
  Json json = {{"format", kFormat}};
  if (!fingerprint.empty()) json["model"] = Hex(fingerprint);
  json.update(JsonOf(report));
  return json.dump(1);
}

Result<FormReport> FormReportFromJson(const std::string& text, const std::string& name,
                                      const std::string& fingerprint, const ModelSpec& model) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&](std::string_view what) {
    return Fail(ErrorCode::kInvalidArgument, "--state-forms {}: {}", name, what);
  };
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    return wrong("not a file of state forms");
  }
  if (json.value("model", Json()) != Hex(fingerprint)) return wrong("it is another model's");
  const Json layers = json.value("layers", Json());
  if (!layers.is_array() || layers.size() != model.layers.size()) {
    return wrong(fmt::format("it must have forms for {} layers", model.layers.size()));
  }
  FormReport report;
  const auto number = [&](const char* key, double& to) {
    if (json.contains(key) && json[key].is_number()) to = json[key].get<double>();
  };
  double context = 0;
  double measured = 0;
  number("context", context);
  number("kl_wanted", report.goal.kl);
  number("kl_allowed", report.kl_allowed);
  number("copy_nats_allowed", report.goal.copy_nats);
  number("measured_tokens", measured);
  number("kl", report.kl);
  number("kl_of_f16", report.kl_floor);
  number("copy_nats_over_f32", report.copy_over_f32);
  constexpr auto kMost = static_cast<double>(kMaxStateTokens.value());
  report.context = TokenCount(static_cast<int64_t>(std::clamp(context, 0.0, kMost)));
  report.measured_tokens = TokenCount(static_cast<int64_t>(std::clamp(measured, 0.0, kMost)));
  report.reached = json.value("reached", Json()) == Json(true);
  if (json.contains("quality") && json["quality"].is_string()) {
    report.goal.name = json["quality"].get<std::string>();
  }
  for (const Json& layer : layers) {
    LayerForms& forms = report.layers.emplace_back();
    CAIRN_ASSIGN(forms.keys, FormOf(layer, "keys", name));
    CAIRN_ASSIGN(forms.values, FormOf(layer, "values", name));
  }
  return report;
}

Result<FormReport> FormReportFor(const ModelArgs& args, const ModelSpec& model,
                                 const KeyStandards& standards, ThreadPool& pool) {
  const std::string& path = args.state_forms;
  if (path.empty()) return SearchFor(args, model, standards, pool);
  CAIRN_ASSIGN(const DescribedFile described, DescribeFile(args));
  CAIRN_ASSIGN(const std::string fingerprint, FingerprintOf(*described.file, args.model, pool));
  if (FileExists(path)) {
    CAIRN_ASSIGN(const std::string text, ReadFile(path, kMaxFileBytes));
    CAIRN_ASSIGN(FormReport report, FormReportFromJson(text, path, fingerprint, model));
    CAIRN_ASSIGN(const SequenceRunner::Options runner, RunnerOptionsOf(args, model));
    CAIRN_TRY(CheckSame(path, args, report, runner.context));
    return report;
  }
  if (args.state_quality.empty()) {
    return Fail(ErrorCode::kNotFound,
                "--state-forms {}: there is no such file; --state-quality beside it would make it",
                path);
  }
  CAIRN_ASSIGN(FormReport report, SearchFor(args, model, standards, pool));
  const std::string text = FormReportJson(report, fingerprint) + "\n";
  CAIRN_TRY(WriteFileAtomically(path, std::as_bytes(std::span(text))));
  return report;
}

std::string StateFormsJson(const ModelArgs& args, const std::optional<FormReport>& report) {
  if (report) return JsonOf(*report).dump();
  return Json{{"keys", args.key_type}, {"values", args.value_type}}.dump();
}

std::string FormReportLine(const FormReport& report, const ModelSpec& model) {
  const ChoiceBits bits = BitsOf(model, report.layers, report.context);
  const std::string line = fmt::format(
      "{}: keys {:.2f}, values {:.2f} bits; KL {:.4f} (f16 {:.4f}), copying {:+.3f} nats, over {} "
      "tokens",
      report.goal.name, bits.keys, bits.values, report.kl, report.kl_floor, report.copy_over_f32,
      WithSeparators(report.measured_tokens.value()));
  return report.reached ? line : line + "; NOT REACHED, the most exact forms are used";
}

}  // namespace cairn
