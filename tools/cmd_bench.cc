// cairn bench: tokens per second for prompts and answers, in llama-bench's terms.
//
// A test is a prompt of -p tokens or an answer of -n tokens on top of a state of -d tokens, for
// --sequences sequences at once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/sizing/parameters.h"
#include "tools/bench_on_request.h"
#include "tools/bench_roofline.h"
#include "tools/bench_runner.h"
#include "tools/commands.h"
#include "tools/model_args.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct BenchArgs {
  ModelArgs model;
  std::vector<int64_t> prompts = {512};
  std::vector<int64_t> answers = {128};
  std::vector<int64_t> depths = {0};
  std::vector<int> threads;
  int64_t sequences = 1;
  int64_t repetitions = 5;
  std::string format = "md";
  bool on_request = false;
  bool roofline = false;
};

struct Measured {
  BenchTest test;
  int threads = 0;
  std::vector<int64_t> samples_ns = {};
  std::vector<WorkLog> logs = {};  // one a sample, with --roofline
  Bytes live_state = {};           // of all sequences that are kept
  int64_t resident_bytes = 0;      // of the process, with them

  std::vector<double> TokensPerSecond() const {
    std::vector<double> rates;
    for (const int64_t ns : samples_ns)
      rates.push_back(1e9 * static_cast<double>(test.sequences * test.tokens()) /
                      static_cast<double>(ns));
    return rates;
  }
};

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double DeviationOf(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// One repetition more, unmeasured: memory and threads settle.
Status Repeat(BenchRunner& runner, int64_t repetitions, ThreadPool* logged, Measured& measured) {
  for (int64_t i = -1; i < repetitions; ++i) {
    WorkLog log;
    if (logged != nullptr) logged->set_work_log(&log);
    const Result<int64_t> sample_ns = runner.Measure(measured.test);
    if (logged != nullptr) logged->set_work_log(nullptr);
    if (!sample_ns) return std::unexpected(sample_ns.error());
    if (i < 0) continue;
    measured.samples_ns.push_back(*sample_ns);
    measured.logs.push_back(log);
  }
  return {};
}

// The bounds of the repetition in the middle.
Result<TestBounds> BoundsOf(Roofline& roofline, const Measured& measured) {
  std::vector<size_t> order(measured.samples_ns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return measured.samples_ns[i]; });
  const size_t middle = order[order.size() / 2];
  return roofline.BoundsOf(
      {measured.test, measured.samples_ns[middle] / 1000, measured.logs[middle]});
}

std::vector<BenchTest> TestsOf(const BenchArgs& args) {
  std::vector<BenchTest> tests;
  const auto add = [&](int64_t prompt, int64_t answer, int64_t depth) {
    const BenchTest test = {
        .prompt = prompt, .answer = answer, .depth = depth, .sequences = args.sequences};
    if (test.tokens() > 0) tests.push_back(test);
  };
  for (const int64_t depth : args.depths) {
    if (args.on_request) {  // a request may ask for a prompt and an answer
      add(std::ranges::max(args.prompts), std::ranges::max(args.answers), depth);
      continue;
    }
    for (const int64_t prompt : args.prompts) add(prompt, 0, depth);
    for (const int64_t answer : args.answers) add(0, answer, depth);
  }
  return tests;
}

// Memory of this process that is in use now; 0 where the system doesn't tell.
int64_t ResidentBytes() {
  const Result<std::string> status = ReadFile("/proc/self/status", 1 << 16);
  const std::string_view name = "VmRSS:";
  const size_t at = status ? status->find(name) : std::string::npos;
  if (at == std::string::npos) return 0;
  return 1024 * std::strtoll(status->c_str() + at + name.size(), nullptr, 10);
}

// A description that is enough to run a model is enough to count it.
int64_t ParametersOf(const Model& model) {
  return ParameterCount(model.spec()).value_or(ElementCount(0)).value();
}

nlohmann::json JsonOf(const BenchArgs& args, const Model& model, const Measured& measured) {
  const std::vector<double> rates = measured.TokensPerSecond();
  std::vector<double> ns(measured.samples_ns.begin(), measured.samples_ns.end());
  return {{"model_filename", args.model.model},
          {"model_type", model.spec().family},
          {"model_size", model.weight_bytes().value()},
          {"model_n_params", ParametersOf(model)},
          {"n_batch", args.model.batch},
          {"n_ubatch", args.model.batch},
          {"n_threads", measured.threads},
          {"type_k", args.model.key_type},
          {"type_v", args.model.value_type},
          {"backends", "CPU"},
          {"n_prompt", measured.test.prompt},
          {"n_gen", measured.test.answer},
          {"n_depth", measured.test.depth},
          {"n_sequences", measured.test.sequences},
          {"state_live_bytes", measured.live_state.value()},
          {"resident_bytes", measured.resident_bytes},
          {"avg_ns", std::llround(MeanOf(ns))},
          {"stddev_ns", std::llround(DeviationOf(ns))},
          {"avg_ts", MeanOf(rates)},
          {"stddev_ts", DeviationOf(rates)},
          {"samples_ns", measured.samples_ns},
          {"samples_ts", rates}};
}

void PrintMarkdownRow(const BenchArgs& args, const Model& model, const Measured& measured) {
  const std::vector<double> rates = measured.TokensPerSecond();
  fmt::print("| {} | {:.2f} MiB | {:.2f} M | CPU | {} | {} | {} | {} | {:.2f} ± {:.2f} |\n",
             model.spec().family, static_cast<double>(model.weight_bytes().value()) / (1 << 20),
             static_cast<double>(ParametersOf(model)) / 1e6, measured.threads, args.model.key_type,
             args.model.value_type, measured.test.Name(), MeanOf(rates), DeviationOf(rates));
  std::fflush(stdout);
}

Status RunThreads(const BenchArgs& args, const ModelArgs& model_args,
                  const std::vector<BenchTest>& tests, nlohmann::json& rows) {
  CAIRN_ASSIGN(OpenedModel opened, OpenModel(model_args));
  const int64_t longest = LongestOf(tests);
  const SequenceRunner::Options options = {
      .context = TokenCount(longest), .chunk = TokenCount(std::min(longest, args.model.batch))};
  CAIRN_ASSIGN(const std::unique_ptr<StateStore> store,
               MakeStoreFor(*opened.model, options, BenchSequences(tests)));
  BenchRunner runner(*opened.model, *store, options.chunk.value());
  if (args.on_request) return AnswerBenchRequests(runner, std::cin);
  std::optional<Roofline> roofline;
  if (args.roofline) {
    CAIRN_ASSIGN(const StateCodecs codecs, StateCodecsOf(model_args));
    roofline.emplace(*opened.pool, *opened.model, codecs);
  }
  std::vector<TestBounds> all_bounds;
  for (const BenchTest& test : tests) {
    const ProgressLine progress("measuring " + test.Name());
    Measured measured = {.test = test, .threads = opened.pool->threads()};
    CAIRN_TRY(Repeat(runner, args.repetitions, roofline ? opened.pool.get() : nullptr, measured));
    measured.live_state = store->LiveBytes();
    measured.resident_bytes = ResidentBytes();
    if (roofline) {
      CAIRN_ASSIGN(all_bounds.emplace_back(), BoundsOf(*roofline, measured));
    }
    progress.Update("");
    if (args.format == "md") {
      PrintMarkdownRow(args, *opened.model, measured);
    } else {
      rows.push_back(JsonOf(args, *opened.model, measured));
      if (roofline)
        rows.back()["roofline"] = nlohmann::json::parse(RooflineJson(all_bounds.back()));
    }
  }
  if (roofline && args.format == "md") fmt::print("{}", RooflineMarkdown(all_bounds));
  return {};
}

Status RunBench(const BenchArgs& args) {
  const std::vector<BenchTest> tests = TestsOf(args);
  if (tests.empty())
    return Fail(ErrorCode::kInvalidArgument, "nothing to measure: -p and -n are both 0");
  if (args.format == "md" && !args.on_request) {
    fmt::print("| model | size | params | backend | threads | type_k | type_v | test | t/s |\n");
    fmt::print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |\n");
  }
  nlohmann::json rows = nlohmann::json::array();
  const std::vector<int> thread_counts =
      args.threads.empty() ? std::vector<int>{CpuCount()} : args.threads;
  for (const int threads : thread_counts) {
    ModelArgs model = args.model;
    model.threads = threads;
    CAIRN_TRY(RunThreads(args, model, tests, rows));
  }
  if (args.format == "json" && !args.on_request) fmt::print("{}\n", rows.dump(2));
  return {};
}

}  // namespace

void AddBenchCommand(CLI::App& app, ChosenCommand& chosen) {
  static BenchArgs args;  // the parser writes into it after this function has returned
  CLI::App& command =
      *app.add_subcommand("bench", "Measure tokens per second, as llama-bench does");
  args.model.AddModelFlag(command);
  args.model.AddStateFlags(command);
  const auto list = [&](const char* flags, std::vector<int64_t>& values, const char* text) {
    command.add_option(flags, values, text)
        ->delimiter(',')
        ->check(CLI::Range(int64_t{0}, int64_t{1} << 24));
  };
  list("-p,--n-prompt", args.prompts, "Prompt lengths; 0: none");
  list("-n,--n-gen", args.answers, "Answer lengths; 0: none");
  list("-d,--n-depth", args.depths, "Tokens of state before the measured ones");
  command.add_option("-b,--batch-size", args.model.batch, "Tokens computed at once")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("-t,--threads", args.threads, "Thread counts")
      ->delimiter(',')
      ->check(CLI::Range(1, 512));
  command
      .add_option("--sequences", args.sequences,
                  "-npl: sequences that are computed together, each with its own state")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--on-request", args.on_request,
                   "Measure what lines on standard input ask for, like \"prompt 512 depth 4096\"; "
                   "-p, -n, -d and --sequences say how large they get");
  command.add_flag(
      "--roofline", args.roofline,
      "Also measure what the machine allows, and show the share that each part reached");
  command.add_option("-r,--repetitions", args.repetitions, "Repetitions")
      ->check(CLI::Range(1, 10000));
  command.add_option("-o,--output", args.format, "md or json")
      ->check(CLI::IsMember({"md", "json"}));
  command.callback([&chosen] {
    chosen = [] {
      CatchInterrupts();
      const Status status = RunBench(args);
      return status ? 0 : ExitCodeOf(status.error());
    };
  });
}

}  // namespace cairn
