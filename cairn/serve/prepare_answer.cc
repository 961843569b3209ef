#include "cairn/serve/prepare_answer.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/serve/api_chat.h"
#include "cairn/serve/api_completion.h"
#include "cairn/serve/api_embeddings.h"
#include "cairn/serve/api_keys.h"
#include "cairn/serve/api_messages.h"
#include "cairn/serve/chat_prompt.h"
#include "cairn/serve/context_text.h"
#include "cairn/serve/json_node.h"
#include "cairn/serve/render_anthropic.h"
#include "cairn/serve/render_openai.h"
#include "cairn/serve/schema_constraint.h"
#include "cairn/serve/tool_calls.h"
#include "cairn/text/utf8.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxContextIdBytes = 256;
constexpr std::string_view kAnyObject = R"({"type":"object"})";

ApiResult<JsonNode> ParseBody(std::string_view body) {
  Result<JsonNode> parsed = JsonNode::Parse(body);
  if (!parsed) return RefuseField("body", parsed.error().message);
  return std::move(*parsed);
}

AnswerHeading HeadingOf(const ServedModel& model, const AnswerOptions& options,
                        const PreparedAnswer& prepared) {
  AnswerHeading heading;
  for (const AnswerJob& job : prepared.jobs) {
    heading.prompt_tokens += static_cast<int64_t>(job.request.prompt.size());
  }
  heading.id = fmt::format("{:016x}", RandomSeed());
  heading.model = options.model.empty() ? model.name : options.model;
  heading.fingerprint = model.fingerprint;
  heading.created_unix_s = NowUnixSeconds();
  heading.stream = options.stream;
  heading.stream_usage = options.stream_usage;
  heading.wants_logprobs = options.wants_logprobs;
  return heading;
}

ApiResult<std::unique_ptr<TokenConstraint>> ConstraintOf(const ServedModel& model,
                                                         const AnswerOptions& options) {
  const AnswerFormat& format = options.format;
  if (model.grammars == nullptr) {
    return RefuseField(format.param, "isn't supported: the model has no token that ends answers");
  }
  if (options.ignore_end) {
    return RefuseField(format.param, "isn't supported together with ignore_eos");
  }
  const bool any_object = format.kind == AnswerFormat::Kind::kJsonObject;
  const std::string_view schema = any_object ? kAnyObject : std::string_view(format.schema_json);
  return SchemaConstraint::Make(*model.grammars, model.grammar_end, schema, format.param);
}

ApiResult<AnswerJob> JobOf(const ServedModel& model, const AnswerOptions& options,
                           const RequestFacts& facts, std::vector<TokenId> prompt) {
  const auto size = static_cast<int64_t>(prompt.size());
  if (size == 0) return RefuseField("prompt", "has no tokens");
  if (size >= model.context) return std::unexpected(ContextError(size, model.context));
  AnswerJob job;
  GenerationRequest& to = job.request;
  to.prompt = std::move(prompt);
  const int64_t room = model.context - size;
  int64_t most = options.max_tokens.value_or(room);
  if (!options.max_tokens && model.defaults.max_tokens > 0) most = model.defaults.max_tokens;
  to.max_tokens = std::min(most, room);
  to.answers = options.answers;
  to.sampling = options.sampling;
  to.logit_bias = options.logit_bias;
  if (!options.ignore_end) {
    const auto ends = model.tokenizer->end_of_generation();
    to.ends.assign(ends.begin(), ends.end());
  }
  to.wants_logprobs = options.wants_logprobs;
  to.top_logprobs = options.top_logprobs;
  to.tenant = TenantOf(facts.key, options.cache_salt);
  to.priority = options.priority;
  to.deadline_us = facts.deadline_us;
  to.policy = options.policy;
  if (options.format.kind != AnswerFormat::Kind::kText) {
    CAIRN_API_ASSIGN(to.constraint, ConstraintOf(model, options));
  }
  job.text.stops = options.stops;
  job.text.wants_logprobs = options.wants_logprobs;
  return job;
}

AnswerDefaults DefaultsOf(const ServedModel& model) {
  AnswerDefaults defaults = model.defaults;
  defaults.vocabulary = model.tokenizer->vocab_size();
  defaults.seed = RandomSeed();
  return defaults;
}

ToolCallReader::Form FormOf(const ChatRequest& chat) {
  if (chat.tools.empty()) return ToolCallReader::Form::kNone;
  switch (chat.tool_choice.kind) {
    case ToolChoice::Kind::kNone:
      return ToolCallReader::Form::kNone;
    case ToolChoice::Kind::kAuto:
      return ToolCallReader::Form::kMarked;
    case ToolChoice::Kind::kRequired:
    case ToolChoice::Kind::kNamed:
      return ToolCallReader::Form::kWhole;
  }
  return ToolCallReader::Form::kNone;
}

// What tools ask of the answer: a grammar where a call is forced, else to leave the marks of calls
// in the text.
ApiResult<void> AskForCalls(const ServedModel& model, const ChatRequest& chat, AnswerJob& job) {
  const ToolCallReader::Form form = FormOf(chat);
  job.calls = form;
  if (form == ToolCallReader::Form::kWhole) {
    AnswerOptions options = chat.options;
    options.format = {AnswerFormat::Kind::kJsonSchema, SchemaOfCall(chat.tools, chat.tool_choice),
                      "tools"};
    CAIRN_API_ASSIGN(job.request.constraint, ConstraintOf(model, options));
  } else if (form == ToolCallReader::Form::kMarked) {
    if (!model.chat_shows_tools) {
      return RefuseField("tools",
                         "the model's chat template knows none; a call can be forced "
                         "with tool_choice");
    }
    job.text.shows_special = true;  // some vocabularies have the marks as special tokens
    if (!chat.parallel_tool_calls) job.text.stops.emplace_back(kToolCallEnd);
  }
  return {};
}

ApiResult<std::vector<TokenId>> TokensOf(const ServedModel& model, const ChatRequest& chat) {
  CAIRN_API_ASSIGN(const std::string text, RenderChat(model, chat));
  return FromResult(model.tokenizer->EncodeChat(text));
}

// Behind what is there, if anything is.
ApiResult<std::vector<TokenId>> TokensOf(const ServedModel& model, const CompletionPrompt& prompt,
                                         const ContextText* context = nullptr) {
  if (const auto* tokens = std::get_if<std::vector<TokenId>>(&prompt)) return *tokens;
  EncodeOptions options;
  if (context != nullptr) options.add_bos = false;
  return FromResult(model.tokenizer->Encode(std::get<std::string>(prompt), options));
}

// All of a chat but its renderer.
ApiResult<PreparedAnswer> ChatJob(const ServedModel& model, const ChatRequest& chat,
                                  const RequestFacts& facts, std::vector<TokenId> tokens) {
  PreparedAnswer prepared;
  CAIRN_API_ASSIGN(AnswerJob job, JobOf(model, chat.options, facts, std::move(tokens)));
  CAIRN_TRY(AskForCalls(model, chat, job));
  prepared.jobs.push_back(std::move(job));
  prepared.answers_per_job = chat.options.answers;
  prepared.stream = chat.options.stream;
  return prepared;
}

// ---- Contexts ----

ApiResult<std::optional<ContextPlan>> ReadContextWish(const JsonNode& body) {
  ApiFields fields(body, "");
  const std::optional<std::string> id = fields.String("context", kMaxContextIdBytes);
  const bool append = fields.Bool("context_append").value_or(false);
  if (append && !id) fields.Refuse("context_append", "needs a context");
  if (!fields.ok()) return std::unexpected(*fields.problem());
  if (!id) return std::nullopt;
  ContextPlan plan;
  plan.kind = append ? ContextPlan::Kind::kAppendAnswer : ContextPlan::Kind::kAnswer;
  plan.id = *id;
  return plan;
}

PreparedAnswer WithoutJobs(ContextPlan plan) {
  PreparedAnswer prepared;
  prepared.context = std::move(plan);
  return prepared;
}

// The context's salt counts, and one answer at a time can be appended.
ApiResult<void> Adopt(const ContextText& context, const ContextPlan& plan, AnswerOptions& to) {
  if (!to.cache_salt.empty() && to.cache_salt != context.cache_salt) {
    return RefuseField("cache_salt", "isn't the context's");
  }
  to.cache_salt = context.cache_salt;
  if (plan.kind != ContextPlan::Kind::kAppendAnswer) return {};
  if (to.answers != 1) {
    return RefuseField("n", "must be 1 where the answer is appended to the context; fork it first");
  }
  if (to.max_tokens == 0) return RefuseField("max_tokens", "0 leaves nothing to be appended");
  return {};
}

void AttachPlan(const ContextText& context, ContextPlan plan, ToolCallReader::Form form,
                PreparedAnswer& to) {
  plan.kept_tokens = CommonTokens(plan.text.tokens, context.tokens);
  plan.answer.form = form;
  for (AnswerJob& job : to.jobs) {
    job.wants_tokens = plan.kind == ContextPlan::Kind::kAppendAnswer;
    plan.answer.shows_special = job.text.shows_special;
  }
  to.context = std::move(plan);
}

// A request may ask for no more than what comes next.
void AddEmptyPrompt(JsonNode& body) {
  const JsonNode* found = body.Find("prompt");
  if (found != nullptr && !found->IsNull()) return;
  JsonNode::Members& members = *body.Object();
  std::erase_if(members, [](const auto& member) { return member.first == "prompt"; });
  members.emplace_back("prompt", JsonNode(std::string()));
}

}  // namespace

ApiResult<PreparedAnswer> PrepareChat(const ServedModel& model, std::string_view body,
                                      const RequestFacts& facts) {
  CAIRN_API_ASSIGN(JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(std::optional<ContextPlan> plan, ReadContextWish(parsed));
  if (plan && facts.context == nullptr) return WithoutJobs(std::move(*plan));
  if (plan) {
    CAIRN_API_ASSIGN(parsed, WholeChatBody(*facts.context, parsed));
  }
  CAIRN_API_ASSIGN(ChatRequest chat, ParseChatRequest(parsed, DefaultsOf(model)));
  std::vector<TokenId> tokens;
  if (plan) {
    CAIRN_TRY(Adopt(*facts.context, *plan, chat.options));
    CAIRN_API_ASSIGN(plan->text, ContinueChat(model, *facts.context, parsed, chat));
    tokens = plan->text.tokens;
  } else {
    CAIRN_API_ASSIGN(tokens, TokensOf(model, chat));
  }
  CAIRN_API_ASSIGN(PreparedAnswer prepared, ChatJob(model, chat, facts, std::move(tokens)));
  if (plan) AttachPlan(*facts.context, std::move(*plan), FormOf(chat), prepared);
  AnswerHeading heading = HeadingOf(model, chat.options, prepared);
  heading.tools = FormOf(chat);
  prepared.renderer = MakeChatRenderer(std::move(heading), chat.options.answers);
  return prepared;
}

ApiResult<PreparedAnswer> PrepareMessages(const ServedModel& model, std::string_view body,
                                          const RequestFacts& facts) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  if (const JsonNode* found = parsed.Find("context"); found != nullptr && !found->IsNull()) {
    return RefuseField("context", "isn't supported here; /v1/chat/completions takes it");
  }
  CAIRN_API_ASSIGN(const ChatRequest chat, ParseMessagesRequest(parsed, DefaultsOf(model)));
  CAIRN_API_ASSIGN(std::vector<TokenId> tokens, TokensOf(model, chat));
  CAIRN_API_ASSIGN(PreparedAnswer prepared, ChatJob(model, chat, facts, std::move(tokens)));
  AnswerHeading heading = HeadingOf(model, chat.options, prepared);
  heading.tools = FormOf(chat);
  prepared.renderer = MakeMessageRenderer(std::move(heading));
  return prepared;
}

ApiResult<PreparedAnswer> PrepareCompletion(const ServedModel& model, std::string_view body,
                                            const RequestFacts& facts) {
  CAIRN_API_ASSIGN(JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(std::optional<ContextPlan> plan, ReadContextWish(parsed));
  if (plan && facts.context == nullptr) return WithoutJobs(std::move(*plan));
  if (plan) AddEmptyPrompt(parsed);
  CAIRN_API_ASSIGN(CompletionRequest request, ParseCompletionRequest(parsed, DefaultsOf(model)));
  if (plan) {
    CAIRN_TRY(Adopt(*facts.context, *plan, request.options));
    if (request.echo) return RefuseField("echo", "isn't supported together with context");
    if (request.prompts.size() > 1 && plan->kind == ContextPlan::Kind::kAppendAnswer) {
      return RefuseField("prompt", "must be one where the answer is appended to the context");
    }
  }
  PreparedAnswer prepared;
  std::vector<std::string> echoes;
  for (const CompletionPrompt& prompt : request.prompts) {
    CAIRN_API_ASSIGN(std::vector<TokenId> tokens, TokensOf(model, prompt, facts.context));
    if (plan) {
      plan->text = ContinueTokens(*facts.context, tokens);
      tokens = plan->text.tokens;
    }
    if (request.echo) {
      echoes.insert(echoes.end(), static_cast<size_t>(request.options.answers),
                    model.tokenizer->Decode(tokens, {.skip_special = true}));
    }
    CAIRN_API_ASSIGN(AnswerJob job, JobOf(model, request.options, facts, std::move(tokens)));
    prepared.jobs.push_back(std::move(job));
  }
  if (plan) AttachPlan(*facts.context, std::move(*plan), ToolCallReader::Form::kNone, prepared);
  prepared.answers_per_job = request.options.answers;
  prepared.stream = request.options.stream;
  const auto choices = static_cast<int>(prepared.jobs.size()) * prepared.answers_per_job;
  prepared.renderer = MakeCompletionRenderer(HeadingOf(model, request.options, prepared), choices,
                                             std::move(echoes));
  return prepared;
}

ApiResult<PreparedAnswer> PrepareEmbeddings(const ServedModel& model, std::string_view body,
                                            const RequestFacts& facts) {
  if (!model.pooling) {
    return std::unexpected(
        ApiError{.type = ApiErrorType::kNotSupported, .message = model.why_no_embeddings});
  }
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(const EmbeddingsRequest request,
                   ParseEmbeddingsRequest(parsed, model.tokenizer->vocab_size(), model.width));
  AnswerOptions options;
  options.model = request.model;
  options.max_tokens = 0;
  options.priority = request.priority;
  options.ignore_end = true;  // there is none
  PreparedAnswer prepared;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    CAIRN_API_ASSIGN(std::vector<TokenId> tokens, TokensOf(model, request.inputs[i]));
    if (tokens.empty()) return RefuseField(PathOfItem("input", i), "has no tokens");
    CAIRN_API_ASSIGN(AnswerJob job, JobOf(model, options, facts, std::move(tokens)));
    job.request.embedding = model.pooling;
    prepared.jobs.push_back(std::move(job));
  }
  prepared.embeds = true;
  prepared.renderer = MakeEmbeddingsRenderer(HeadingOf(model, options, prepared), request);
  return prepared;
}

ApiResult<std::string> AnswerTokenize(const ServedModel& model, std::string_view body) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(const TokenizeRequest request, ParseTokenizeRequest(parsed));
  EncodeOptions options;
  options.parse_special = request.parse_special;
  if (!request.add_special) options.add_bos = false;
  CAIRN_API_ASSIGN(const std::vector<TokenId> tokens,
                   FromResult(model.tokenizer->Encode(request.content, options)));
  Json list = Json::array();
  for (const TokenId token : tokens) {
    if (!request.with_pieces) {
      list.push_back(token.value());
      continue;
    }
    const std::string_view bytes = model.tokenizer->TokenBytes(token);
    Json piece = std::string(bytes);
    if (FindInvalidUtf8(bytes) != std::string_view::npos) {  // as llama-server: numbers, then
      piece = Json::array();
      for (const char byte : bytes) piece.push_back(static_cast<int>(static_cast<uint8_t>(byte)));
    }
    list.push_back({{"id", token.value()}, {"piece", std::move(piece)}});
  }
  return Json{{"tokens", std::move(list)}}.dump();
}

ApiResult<std::string> AnswerDetokenize(const ServedModel& model, std::string_view body) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(const std::vector<TokenId> tokens,
                   ParseDetokenizeRequest(parsed, model.tokenizer->vocab_size()));
  return Json{{"content", model.tokenizer->Decode(tokens)}}.dump();
}

ApiResult<std::string> AnswerCountTokens(const ServedModel& model, std::string_view body) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(const ChatRequest chat, ParseCountRequest(parsed));
  CAIRN_API_ASSIGN(const std::vector<TokenId> tokens, TokensOf(model, chat));
  return Json{{"input_tokens", tokens.size()}}.dump();
}

ApiResult<std::string> AnswerApplyTemplate(const ServedModel& model, std::string_view body) {
  CAIRN_API_ASSIGN(const JsonNode parsed, ParseBody(body));
  CAIRN_API_ASSIGN(const ChatRequest chat, ParseTemplateRequest(parsed));
  CAIRN_API_ASSIGN(const std::string text, RenderChat(model, chat));
  return Json{{"prompt", text}}.dump();
}

}  // namespace cairn
