#include "cairn/serve/prepare_context.h"

#include <utility>

#include "cairn/serve/api_fields.h"
#include "cairn/serve/api_keys.h"
#include "cairn/serve/context_text.h"
#include "cairn/serve/json_node.h"

namespace cairn {
namespace {

constexpr double kMostSeconds = 1e9;
constexpr double kLeastSeconds = 0.001;
constexpr int64_t kMostForks = 65'536;  // the table's own limits come first

ApiResult<JsonNode> ParseBody(std::string_view body) {
  if (body.empty()) return JsonNode(JsonNode::Members());
  Result<JsonNode> parsed = JsonNode::Parse(body);
  if (!parsed) return RefuseField("body", parsed.error().message);
  return std::move(*parsed);
}

std::optional<int64_t> ReadTtl(ApiFields& fields) {
  const auto seconds = fields.Number("ttl_s", kLeastSeconds, kMostSeconds);
  if (!seconds) return std::nullopt;
  return static_cast<int64_t>(*seconds * 1e6);
}

// Says nothing; who asked gets the context instead.
class SilentRenderer final : public AnswerRenderer {
 public:
  std::string Begin() override { return ""; }
  std::string Piece(int /*choice*/, TextPiece /*piece*/) override { return ""; }
  std::string End(int /*choice*/, const ChoiceEnd& /*end*/) override { return ""; }
  std::string Finish(const AnswerUsage& /*usage*/) override { return ""; }
  std::string StreamError(const ApiError& error) const override { return OpenAiErrorJson(error); }
  std::string ErrorJson(const ApiError& error) const override { return OpenAiErrorJson(error); }
};

// Reads the plan's text, and nothing more.
AnswerJob ReadingJob(const RequestFacts& facts, const ContextText& text) {
  AnswerJob job;
  job.request.prompt = text.tokens;
  job.request.tenant = TenantOf(facts.key, text.cache_salt);
  job.request.deadline_us = facts.deadline_us;
  return job;
}

PreparedAnswer PreparedOf(ContextPlan plan) {
  PreparedAnswer prepared;
  prepared.renderer = std::make_unique<SilentRenderer>();
  prepared.context = std::move(plan);
  return prepared;
}

// A body that adds to a context, or begins one.
ApiResult<PreparedAnswer> WithText(const RequestFacts& facts, const JsonNode& body,
                                   ContextPlan plan) {
  ApiFields fields(body, "");
  if (plan.kind == ContextPlan::Kind::kMake) {
    plan.ttl_us = ReadTtl(fields);
    plan.pin = fields.Bool("pin");
  }
  const bool prefill = fields.Bool("prefill").value_or(true);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  if (facts.context != nullptr) {
    plan.kept_tokens = CommonTokens(plan.text.tokens, facts.context->tokens);
  }
  AnswerJob job = ReadingJob(facts, plan.text);
  PreparedAnswer prepared = PreparedOf(std::move(plan));
  if (prefill) prepared.jobs.push_back(std::move(job));
  return prepared;
}

}  // namespace

ApiResult<PreparedAnswer> PrepareContextMake(const ServedModel& model, std::string_view body,
                                             const RequestFacts& facts) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  ContextPlan plan{.kind = ContextPlan::Kind::kMake};
  CAIRN_API_ASSIGN(plan.text, MakeContextText(model, parsed));
  return WithText(facts, parsed, std::move(plan));
}

ApiResult<PreparedAnswer> PrepareContextAppend(const ServedModel& model, std::string_view body,
                                               const RequestFacts& facts) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  ContextPlan plan{.kind = ContextPlan::Kind::kAppend};
  CAIRN_API_ASSIGN(plan.text, AppendToContext(model, *facts.context, parsed));
  return WithText(facts, parsed, std::move(plan));
}

ApiResult<PreparedAnswer> PrepareContextRewind(const ServedModel& model, std::string_view body,
                                               const RequestFacts& facts) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  ContextPlan plan{.kind = ContextPlan::Kind::kAppend};
  CAIRN_API_ASSIGN(plan.text, RewindContext(model, *facts.context, parsed));
  plan.kept_tokens = plan.text.size();
  return PreparedOf(std::move(plan));
}

ApiResult<PreparedAnswer> PrepareContextFork(const ServedModel& /*model*/, std::string_view body,
                                             const RequestFacts& facts) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  ApiFields fields(parsed, "");
  ContextPlan plan{.kind = ContextPlan::Kind::kFork};
  plan.ttl_us = ReadTtl(fields);
  plan.pin = fields.Bool("pin");
  plan.count = fields.Integer("n", 1, kMostForks).value_or(1);
  if (!fields.ok()) return std::unexpected(*fields.problem());
  plan.text = *facts.context;
  return PreparedOf(std::move(plan));
}

ApiResult<ContextTouch> ParseContextTouch(std::string_view body) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  ApiFields fields(parsed, "");
  const ContextTouch touch{.ttl_us = ReadTtl(fields)};
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return touch;
}

ApiResult<ContextRelease> ParseContextRelease(std::string_view body) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  ApiFields fields(parsed, "");
  const ContextRelease release{.forget = fields.Bool("forget").value_or(false)};
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return release;
}

}  // namespace cairn
