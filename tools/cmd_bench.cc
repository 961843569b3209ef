// cairn bench: tokens per second for prompts and answers, in llama-bench's terms.
//
// A test is a prompt of -p tokens or an answer of -n tokens on top of a state of -d tokens. The
// state at a depth is computed once; every repetition works on a fork of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/sizing/parameters.h"
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
  int64_t repetitions = 5;
  std::string format = "md";
};

struct Test {
  int64_t prompt = 0;
  int64_t answer = 0;
  int64_t depth = 0;

  int64_t tokens() const { return prompt + answer; }
  std::string Name() const {
    const std::string kind = prompt > 0 ? fmt::format("pp{}", prompt) : fmt::format("tg{}", answer);
    return depth > 0 ? fmt::format("{} @ d{}", kind, depth) : kind;
  }
};

struct Measured {
  Test test;
  int threads = 0;
  std::vector<int64_t> samples_ns;

  std::vector<double> TokensPerSecond() const {
    std::vector<double> rates;
    for (const int64_t ns : samples_ns)
      rates.push_back(1e9 * static_cast<double>(test.tokens()) / static_cast<double>(ns));
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

// One model on one number of threads.
class Bench {
 public:
  Bench(Model& model, StateStore& store, int64_t chunk)
      : model_(model), store_(store), chunk_(chunk) {
    logits_.resize(static_cast<size_t>(model.spec().vocabulary));
  }

  Result<std::vector<int64_t>> Run(const Test& test, int64_t repetitions) {
    CAIRN_ASSIGN(const SequenceId base, store_.Create());
    Status status = Feed(base, test.depth, chunk_);
    std::vector<int64_t> samples;
    // One repetition more, unmeasured: memory and threads settle.
    for (int64_t i = -1; status && i < repetitions; ++i) {
      const Result<int64_t> sample_ns = RunOnce(base, test);
      if (!sample_ns) status = std::unexpected(sample_ns.error());
      if (status && i >= 0) samples.push_back(*sample_ns);
    }
    store_.Release(base);
    CAIRN_TRY(status);
    return samples;
  }

 private:
  Result<int64_t> RunOnce(SequenceId base, const Test& test) {
    CAIRN_ASSIGN(const SequenceId id, store_.Fork(base));
    const int64_t start_us = NowMicroseconds();
    const Status status = Feed(id, test.tokens(), test.prompt > 0 ? chunk_ : 1);
    const int64_t elapsed_us = NowMicroseconds() - start_us;
    store_.Release(id);
    CAIRN_TRY(status);
    return elapsed_us * 1000;
  }

  // Feeds pseudo-random tokens; logits after the last of each call to Forward that needs them.
  Status Feed(SequenceId id, int64_t count, int64_t chunk) {
    for (int64_t done = 0; done < count;) {
      const int64_t part = std::min(chunk, count - done);
      tokens_.clear();
      for (int64_t i = 0; i < part; ++i) tokens_.push_back(NextToken());
      CAIRN_TRY(store_.Prepare(id, TokenCount(part)));
      done += part;
      const bool wanted = chunk == 1 || done == count;
      const BatchSpan span = {
          .state = store_.View(id), .tokens = tokens_, .logits = wanted ? 1 : 0};
      model_.Forward({&span, 1});
      store_.Commit(id, TokenCount(part));
      if (wanted) model_.Logits(0, 1, logits_.data());
      if (Interrupted()) return Fail(ErrorCode::kCancelled, "interrupted");
    }
    return {};
  }

  TokenId NextToken() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return TokenId(
        static_cast<int32_t>((random_ >> 33) % static_cast<uint64_t>(model_.spec().vocabulary)));
  }

  Model& model_;
  StateStore& store_;
  const int64_t chunk_;
  uint64_t random_ = 1;
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
};

std::vector<Test> TestsOf(const BenchArgs& args) {
  std::vector<Test> tests;
  for (const int64_t depth : args.depths) {
    for (const int64_t prompt : args.prompts) {
      if (prompt > 0) tests.push_back({.prompt = prompt, .depth = depth});
    }
    for (const int64_t answer : args.answers) {
      if (answer > 0) tests.push_back({.answer = answer, .depth = depth});
    }
  }
  return tests;
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
                  const std::vector<Test>& tests, nlohmann::json& rows) {
  CAIRN_ASSIGN(OpenedModel opened, OpenModel(model_args));
  int64_t longest = 0;
  for (const Test& test : tests) longest = std::max(longest, test.depth + test.tokens());
  const SequenceRunner::Options options = {
      .context = TokenCount(longest), .chunk = TokenCount(std::min(longest, args.model.batch))};
  CAIRN_ASSIGN(const std::unique_ptr<StateStore> store, MakeStoreFor(*opened.model, options, 2));
  Bench bench(*opened.model, *store, options.chunk.value());
  for (const Test& test : tests) {
    const ProgressLine progress("measuring " + test.Name());
    Measured measured = {.test = test, .threads = opened.pool->threads(), .samples_ns = {}};
    CAIRN_ASSIGN(measured.samples_ns, bench.Run(test, args.repetitions));
    progress.Update("");
    if (args.format == "md") {
      PrintMarkdownRow(args, *opened.model, measured);
    } else {
      rows.push_back(JsonOf(args, *opened.model, measured));
    }
  }
  return {};
}

Status RunBench(const BenchArgs& args) {
  const std::vector<Test> tests = TestsOf(args);
  if (tests.empty())
    return Fail(ErrorCode::kInvalidArgument, "nothing to measure: -p and -n are both 0");
  if (args.format == "md") {
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
  if (args.format == "json") fmt::print("{}\n", rows.dump(2));
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
