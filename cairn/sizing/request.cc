#include "cairn/sizing/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cairn/sizing/format.h"

namespace cairn {
namespace {

// The requests of one replica: the most that any has.
SizingQuestion QuestionOfReplica(SizingQuestion question, const Parallelism& parallel) {
  const auto share = [&](int64_t count) { return (count + parallel.dp - 1) / parallel.dp; };
  question.batch = share(question.batch);
  for (RequestGroup& group : question.requests) group.count = share(group.count);
  question.row_ranks = parallel.dcp;
  return question;
}

std::vector<std::string> WarningsOf(const SizedModel& model, const SizeRequest& request,
                                    const Sizing& sizing) {
  std::vector<std::string> warnings = model.notes;
  for (std::string& warning : ParallelWarnings(model.spec, request.parallel)) {
    warnings.push_back(std::move(warning));
  }
  const Bytes open =
      sizing.answers.empty() ? Bytes(0) : sizing.answers.back().total.open_window_bytes;
  if (open > Bytes(0)) {
    warnings.push_back(
        fmt::format("compressors keep up to {} beside this for the entries that "
                    "they haven't made yet",
                    ExactBytes(open)));
  }
  const TokenCount trained = model.spec.context_length;
  for (const SizeAnswer& answer : sizing.answers) {
    if (trained == TokenCount(0) || answer.tokens <= trained) continue;
    warnings.push_back(
        fmt::format("{} tokens are more than the {} that the model names as its "
                    "context",
                    answer.tokens.value(), trained.value()));
    break;
  }
  return warnings;
}

}  // namespace

TokenCount DefaultContext(const ModelSpec& model) {
  constexpr TokenCount kUnnamed{4096};
  return model.context_length > TokenCount(0) ? model.context_length : kUnnamed;
}

const StageSizing& SizeReport::FullestStage(size_t answer) const {
  const auto bytes = [&](const StageSizing& stage) {
    return answer < stage.sizing.answers.size() ? stage.sizing.answers[answer].total.TotalBytes()
                                                : stage.sizing.bytes_per_token;
  };
  return *std::ranges::max_element(stages, {}, bytes);
}

Result<SizeReport> AnswerSizeRequest(SizedModel model, SizeRequest request) {
  SizingQuestion& question = request.question;
  if (question.tokens.empty() && question.requests.empty()) {
    question.tokens.push_back(DefaultContext(model.spec));
  }
  SizeReport report;
  CAIRN_ASSIGN(report.sizing, SizeModel(model.spec, question, model.weights));
  CAIRN_ASSIGN(std::vector<RankModel> ranks, RankModels(model.spec, request.parallel));
  const SizingQuestion of_replica = QuestionOfReplica(question, request.parallel);
  for (RankModel& rank : ranks) {
    CAIRN_ASSIGN(Sizing sizing, SizeModel(rank.spec, of_replica, std::nullopt));
    report.stages.push_back({.rank = std::move(rank), .sizing = std::move(sizing)});
  }
  report.warnings = WarningsOf(model, request, report.sizing);
  report.model = std::move(model);
  report.request = std::move(request);
  return report;
}

}  // namespace cairn
