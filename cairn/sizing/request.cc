#include "cairn/sizing/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "cairn/sizing/budget_plan.h"
#include "cairn/sizing/format.h"
#include "cairn/sizing/profile.h"

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
  std::vector<std::string> warnings = model.spec.notes;
  warnings.insert(warnings.end(), model.notes.begin(), model.notes.end());
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

// What the weights are stored in: what was asked for, what the file has, what its config says.
Result<WeightStorage> StorageFor(const SizedModel& model, const SizeRequest& request) {
  if (!request.weights_dtype.empty()) {
    CAIRN_ASSIGN(const WeightFormat format, WeightFormatFromName(request.weights_dtype));
    return StorageOf(model.spec, format);
  }
  if (const auto& config = model.description.config) {
    return StorageOfCheckpoint(model.spec, *config, model.name);
  }
  CAIRN_ASSIGN(const WeightFormat format, WeightFormatFromName("bf16"));
  return StorageOf(model.spec, format);
}

// The card that is asked about. Several of them hold the model together: as the flags say, else as
// is usual for so many.
Status ChooseGpu(const SizedModel& model, SizeRequest& request, const Gpu*& gpu) {
  if (request.gpu.empty()) return {};
  CAIRN_ASSIGN(const GpuChoice choice, ParseGpu(request.gpu));
  gpu = choice.gpu;
  if (choice.count == 1 || choice.count == request.parallel.Cards()) return {};
  if (!request.parallel.IsOne()) {
    return Fail(ErrorCode::kInvalidArgument, "--gpu {} names {} cards, --tp x --pp x --dp {}",
                request.gpu, choice.count, request.parallel.Cards());
  }
  CAIRN_ASSIGN(request.parallel, SpreadOver(model.spec, choice.count));
  return {};
}

Result<CardQuestion> CardsAskedAbout(const SizedModel& model, const SizeRequest& request,
                                     const Gpu* gpu, const Link* link) {
  CardQuestion question;
  question.model = model.spec;
  question.parallel = request.parallel;
  question.codecs = request.question.codecs;
  question.mix = request.question.Mixes().back();
  CAIRN_ASSIGN(question.storage, StorageFor(model, request));
  if (request.weights_dtype.empty()) question.file = model.weights;
  question.gpu = gpu;
  question.memory = Bytes(static_cast<int64_t>(request.memory_gib * (int64_t{1} << 30)));
  question.memory_fraction = request.memory_fraction;
  if (request.share_overhead) question.overhead.kind = OverheadRule::Kind::kShareOfWeights;
  question.chunk_tokens = request.chunk_tokens;
  question.bytes_per_second = request.bandwidth_gbs * 1e9;
  question.flops_per_second = request.tflops * 1e12;
  question.link = link;
  if (request.prompt > 0) question.prompt = TokenCount(request.prompt);
  question.cached = TokenCount(request.cached);
  question.fleet = request.fleet;
  return question;
}

Status AddProfile(const SizeRequest& request, const SizedModel& model,
                  std::vector<Section>& sections) {
  if (request.profile.empty()) {
    if (request.profile_settings.empty()) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "--set {}: a setting of a profile; --profile FRAMEWORK@VERSION is missing",
                request.profile_settings.front());
  }
  CAIRN_ASSIGN(ProfileQuestion question, ParseProfile(request.profile));
  for (const std::string& setting : request.profile_settings) {
    CAIRN_TRY(SetProfile(question, setting));
  }
  CAIRN_ASSIGN(Section section, ProfileSection(model.spec, question));
  sections.push_back(std::move(section));
  return {};
}

void AppendDraftLayers(ModelSpec& model) {
  model.layers.insert(model.layers.end(), model.draft_layers.begin(), model.draft_layers.end());
}

// Each within what arithmetic can bear; what makes sense beyond that is the sections' to say.
Status CheckRates(const SizeRequest& request) {
  const std::tuple<const char*, double, double> rates[] = {
      {"--memory", request.memory_gib, 1e6},
      {"--bandwidth", request.bandwidth_gbs, 1e9},
      {"--tflops", request.tflops, 1e9}};
  for (const auto& [flag, value, most] : rates) {
    if (value >= 0 && value <= most) continue;
    return Fail(ErrorCode::kInvalidArgument, "{} {}, expected 0 to {}", flag, value, most);
  }
  if (request.prompt < 0 || request.cached < 0) {
    return Fail(ErrorCode::kInvalidArgument, "--prompt {} --cached {}, expected 0 or more tokens",
                request.prompt, request.cached);
  }
  return {};
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
  CAIRN_TRY(CheckRates(request));
  if (request.draft_layers) AppendDraftLayers(model.spec);
  const Gpu* gpu = nullptr;
  CAIRN_TRY(ChooseGpu(model, request, gpu));
  SizeReport report;
  CAIRN_ASSIGN(report.sizing, SizeModel(model.spec, question, model.weights));
  CAIRN_ASSIGN(std::vector<RankModel> ranks, RankModels(model.spec, request.parallel));
  const SizingQuestion of_replica = QuestionOfReplica(question, request.parallel);
  for (RankModel& rank : ranks) {
    CAIRN_ASSIGN(Sizing sizing, SizeModel(rank.spec, of_replica, std::nullopt));
    report.stages.push_back({.rank = std::move(rank), .sizing = std::move(sizing)});
  }
  std::optional<Link> link;
  if (!request.link.empty()) {
    CAIRN_ASSIGN(link, ParseLink(request.link));
  }
  CAIRN_ASSIGN(const CardQuestion cards,
               CardsAskedAbout(model, request, gpu, link ? &*link : nullptr));
  CAIRN_ASSIGN(report.sections, CardSections(cards));
  // Whether it fits is what people look for first.
  const auto budget = std::ranges::find(report.sections, "budget", &Section::key);
  if (budget != report.sections.end()) {
    std::rotate(report.sections.begin(), budget, std::next(budget));
  }
  CAIRN_TRY(AddProfile(request, model, report.sections));
  report.warnings = WarningsOf(model, request, report.sizing);
  report.model = std::move(model);
  report.request = std::move(request);
  return report;
}

}  // namespace cairn
