#include "tools/bench_on_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

namespace cairn {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 24;  // as the flags -p, -n and -d
constexpr int64_t kMaxSequences = 1024;

int64_t* FieldOf(BenchTest& test, std::string_view name) {
  if (name == "prompt") return &test.prompt;
  if (name == "answer") return &test.answer;
  if (name == "depth") return &test.depth;
  if (name == "sequences") return &test.sequences;
  return nullptr;
}

class Answers {
 public:
  explicit Answers(BenchRunner& runner) : runner_(runner) {}

  Result<int64_t> NanosecondsFor(std::string_view line) {
    CAIRN_ASSIGN(const BenchTest test, ParseBenchRequest(line));
    if (test != warm_ && test.tokens() > 0) {
      BenchTest warm_up = test;
      warm_up.depth = 0;
      warm_up.answer = std::min(test.answer, int64_t{1});
      CAIRN_TRY(runner_.Measure(warm_up));
      warm_ = test;
    }
    CAIRN_ASSIGN(const int64_t ns, runner_.Measure(test));
    return test.tokens() > 0 ? ns : 0;
  }

 private:
  BenchRunner& runner_;
  std::optional<BenchTest> warm_;  // the last test that was run
};

}  // namespace

Result<BenchTest> ParseBenchRequest(std::string_view line) {
  BenchTest test;
  std::istringstream words{std::string(line)};
  std::string name;
  while (words >> name) {
    int64_t* const field = FieldOf(test, name);
    if (field == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: not a word of a request; prompt, answer, depth or sequences would be", name);
    }
    const int64_t limit = name == "sequences" ? kMaxSequences : kMaxTokens;
    if (!(words >> *field) || *field < 0 || *field > limit) {
      return Fail(ErrorCode::kInvalidArgument, "{}: must be a number from 0 to {}", name, limit);
    }
  }
  if (test.sequences < 1) return Fail(ErrorCode::kInvalidArgument, "sequences: must be at least 1");
  return test;
}

Status AnswerBenchRequests(BenchRunner& runner, std::istream& in) {
  Answers answers(runner);
  std::string line;
  while (std::getline(in, line)) {
    const Result<int64_t> ns = answers.NanosecondsFor(line);
    if (!ns && ns.error().code == ErrorCode::kCancelled) return std::unexpected(ns.error());
    const nlohmann::json answer =
        ns ? nlohmann::json{{"ns", *ns}} : nlohmann::json{{"error", ns.error().message}};
    fmt::print("{}\n", answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  return {};
}

}  // namespace cairn
