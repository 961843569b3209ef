#include "tools/size_args.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <climits>
#include <optional>
#include <system_error>
#include <utility>

#include "cairn/base/dtype.h"
#include "cairn/base/env.h"
#include "cairn/sizing/profile.h"
#include "cairn/sizing/question.h"
#include "tools/model_args.h"

namespace cairn {
namespace {

template <typename Number>
std::optional<Number> NumberIn(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The parser would read an empty value as 0 and say of a wrong one only that it is wrong. Every
// flag's own range ends within an int's.
std::string ProblemOf(const std::string& type, const std::string& value) {
  if (value.empty()) return "empty, expected a value";
  if (type.starts_with("INT") && !NumberIn<int>(value)) {
    return fmt::format("{}, expected an integer up to {}", value, INT_MAX);
  }
  if (type.starts_with("FLOAT") && !NumberIn<double>(value)) {
    return fmt::format("{}, expected a number", value);
  }
  return {};
}

void CheckValues(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 0 || option->get_positional()) continue;
    option->check([type = option->get_type_name()](const std::string& value) {
      return ProblemOf(type, value);
    });
  }
}

// 0 stands for "not given" where sizes and rates are kept.
std::string ProblemOfZero(const std::string& value) {
  return NumberIn<double>(value) == 0.0 ? fmt::format("{}, expected more than 0", value) : "";
}

Result<DType> CodecOfBytes(int bytes) {
  if (bytes == 1) return DType::kF8E4M3;
  if (bytes == 2) return DType::kBF16;
  if (bytes == 4) return DType::kF32;
  return Fail(ErrorCode::kInvalidArgument, "--dtype-bytes {}, expected 1, 2 or 4", bytes);
}

Result<StateCodecs> CodecsOf(const SizeArgs& args) {
  if (args.dtype_bytes != 0 && !args.type.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--dtype-bytes {} and --kv-dtype {}: expected one",
                args.dtype_bytes, args.type);
  }
  const auto read = [&](const char* flag, const std::string& own) -> Result<StateForm> {
    if (!own.empty()) return SizedFormFromName(flag, own);
    if (!args.type.empty()) return SizedFormFromName("--kv-dtype", args.type);
    if (args.dtype_bytes != 0) return CodecOfBytes(args.dtype_bytes);
    return DType::kF16;
  };
  StateCodecs codecs;
  CAIRN_ASSIGN(codecs.keys, read("-ctk", args.key_type));
  CAIRN_ASSIGN(codecs.values, read("-ctv", args.value_type));
  CAIRN_TRY(CheckForm("-ctk", codecs.keys, true));
  CAIRN_TRY(CheckForm("-ctv", codecs.values, false));
  return codecs;
}

void AddMixFlags(SizeArgs& args, CLI::App& command) {
  command
      .add_option("-c,--context,--context-length", args.contexts,
                  "Tokens of each request (default: the model's own context)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("-b,--batch,--batch-size", args.batch, "Requests at once");
  command.add_option("--requests", args.requests_file,
                     "A file with a line for each kind of request: TOKENS or COUNT x TOKENS");
  command.add_option("--shared-prefix", args.shared_prefix,
                     "First tokens that all requests share; their rows are kept once");
}

void AddFormFlags(SizeArgs& args, CLI::App& command) {
  command.add_option("--kv-dtype", args.type,
                     "Stored form of keys and values: f32, f16 (default), bf16, fp8, q8_0, ...");
  command.add_option("--cache-type-k", args.key_type, "-ctk: stored form of keys");
  command.add_option("--cache-type-v", args.value_type, "-ctv: stored form of values");
  command.add_option("--dtype-bytes", args.dtype_bytes, "1, 2 or 4: fp8, bf16 or f32")
      ->check(ProblemOfZero);
  command.add_option("--weights-dtype", args.cards.weights_dtype,
                     "Stored form of the weights: f32, bf16, fp8, int8, awq, mxfp4, q4_k, ... "
                     "(default: the file's or the checkpoint's)");
}

void AddCardFlags(SizeArgs& args, CLI::App& command) {
  Parallelism& parallel = args.cards.parallel;
  command.add_option("--tp", parallel.tp, "Tensor parallel cards");
  command.add_option("--pp", parallel.pp, "Pipeline stages");
  command.add_option("--pp-layers", parallel.stage_layers, "Layers of each stage")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--dp", parallel.dp, "Replicas that divide the requests");
  command.add_option("--ep", parallel.ep, "Cards that divide the experts");
  command.add_option("--dcp", parallel.dcp, "Of the --tp cards, so many divide a request's rows");
  command.add_option("--gpu", args.cards.gpu, "A card, or NAMExN; `cairn gpus` lists them");
  command.add_option("--memory", args.cards.memory_gib, "GiB of a card (default: the GPU's)")
      ->check(ProblemOfZero);
  command.add_option("--memory-fraction", args.cards.memory_fraction,
                     "Of a card's memory that may be used (default 0.9)");
  command.add_flag("--overhead-share", args.cards.share_overhead,
                   "Count overhead as a tenth of the weights");
  command.add_flag("--draft", args.cards.draft_layers,
                   "Count the layers that draft tokens (multi-token prediction), too");
  command.add_flag("--fleet", args.cards.fleet, "Say which other cards would do");
}

void AddTimeFlags(SizeArgs& args, CLI::App& command) {
  command.add_option("--chunk", args.cards.chunk_tokens, "Tokens of a prefill step");
  command.add_option("--prompt", args.cards.prompt,
                     "Tokens to read (default: the longest request's)");
  command.add_option("--cached", args.cards.cached, "Of them, already in the state");
  command
      .add_option("--bandwidth", args.cards.bandwidth_gbs,
                  "GB/s of a card's memory (default: the GPU's)")
      ->check(ProblemOfZero);
  command.add_option("--tflops", args.cards.tflops, "Of a card (default: the GPU's)")
      ->check(ProblemOfZero);
  command.add_option("--link", args.cards.link,
                     "To move state over: pcie5, nvlink4, 100gbe, ... (default: all)");
}

std::string SettingsHelp() {
  std::string help = "A setting of the profile, KEY=VALUE; several are allowed:";
  for (const ProfileSetting& setting : ProfileSettings()) {
    help += fmt::format("\n  {}: {}", setting.key, setting.help);
  }
  return help;
}

void AddProfileFlags(SizeArgs& args, CLI::App& command) {
  command.add_option("--profile", args.cards.profile,
                     "What a serving framework would allocate and print: vllm@0.11.0, "
                     "sglang@0.5.23, llama.cpp@b8247, lmcache@0.5.6, openvino-genai@2026.3");
  command.add_option("--set", args.cards.profile_settings, SettingsHelp())->allow_extra_args(false);
}

// What the other flags say of the cards and the state, in the profile's words; --set wins.
std::vector<std::string> SettingsOf(const SizeArgs& args) {
  std::vector<std::string> settings;
  const auto set = [&](const char* key, int value) {
    if (value > 1) settings.push_back(fmt::format("{}={}", key, value));
  };
  const Parallelism& parallel = args.cards.parallel;
  set("tp", parallel.tp);
  set("pp", parallel.pp);
  set("dcp", parallel.dcp);
  if (!parallel.stage_layers.empty()) {
    settings.push_back(fmt::format("stage_layers={}", fmt::join(parallel.stage_layers, ",")));
  }
  if (!args.type.empty()) {
    for (const char* key : {"kv_dtype=", "type_k=", "type_v="}) settings.push_back(key + args.type);
  }
  if (!args.key_type.empty()) settings.push_back("type_k=" + args.key_type);
  if (!args.value_type.empty()) settings.push_back("type_v=" + args.value_type);
  if (args.contexts.size() == 1) {
    settings.push_back(fmt::format("max_model_len={}", args.contexts.front()));
  }
  const std::vector<std::string>& own = args.cards.profile_settings;
  settings.insert(settings.end(), own.begin(), own.end());
  return settings;
}

}  // namespace

void SizeArgs::AddFlags(CLI::App& command) {
  command.add_option(
      "model", models,
      "A .gguf file, a Hugging Face folder, a config.json, a name of the catalogue or a "
      "shape such as layers=32,kv_heads=8,head_dim=128; several give a report each, "
      "after the word compare a table");
  AddMixFlags(*this, command);
  AddFormFlags(*this, command);
  AddCardFlags(*this, command);
  AddTimeFlags(*this, command);
  AddProfileFlags(*this, command);
  command.add_flag("--explain", explain, "Print how each number comes about");
  command.add_flag("--full", full, "Print all sections, also where no card is named");
  command.add_flag("--list", list, "List the models that can be sized by name");
  command.add_flag("--json", json, "Print JSON, one line a model if there are several");
  command.add_flag("--markdown", markdown, "Print Markdown");
  command.add_flag("--csv", csv, "Print CSV");
  command.add_option("--html", html, "Write a page that answers for this model, in any browser");
  CheckValues(command);
}

Result<SizeRequest> SizeArgs::Request() const {
  SizeRequest request = cards;
  CAIRN_ASSIGN(request.question.codecs, CodecsOf(*this));
  request.question.batch = batch;
  request.question.shared_prefix = TokenCount(shared_prefix);
  for (const int64_t tokens : contexts) request.question.tokens.emplace_back(tokens);
  if (!requests_file.empty()) {
    if (!contexts.empty() || batch != 1) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--requests names lengths and counts itself; --context and --batch can't be "
                  "given with it");
    }
    constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
    CAIRN_ASSIGN(const std::string text, ReadFile(requests_file, kMaxFileBytes));
    CAIRN_ASSIGN(request.question.requests, ParseRequests(text, requests_file));
  }
  Parallelism& parallel = request.parallel;
  if (parallel.pp == 1 && parallel.stage_layers.size() > 1) {
    parallel.pp = static_cast<int>(parallel.stage_layers.size());
  }
  if (!request.profile.empty()) request.profile_settings = SettingsOf(*this);
  return request;
}

Result<SizeArgs::Format> SizeArgs::ChosenFormat() const {
  if (int{json} + int{markdown} + int{csv} > 1) {
    return Fail(ErrorCode::kInvalidArgument, "--json, --markdown and --csv: expected one of them");
  }
  if (!html.empty() && models.size() > 1) {
    return Fail(ErrorCode::kInvalidArgument, "--html {}: a page is of one model, there are {}",
                html, models.size());
  }
  if (json) return Format::kJson;
  if (markdown) return Format::kMarkdown;
  return csv ? Format::kCsv : Format::kText;
}

}  // namespace cairn
