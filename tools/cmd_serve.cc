// cairn serve: a model behind an HTTP API, with its state shared between requests.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cairn/base/env.h"
#include "cairn/base/heap.h"
#include "cairn/engine/engine.h"
#include "cairn/policies/token_policy.h"
#include "cairn/serve/api_server.h"
#include "cairn/serve/engine_service.h"
#include "cairn/serve/http_server.h"
#include "cairn/sizing/parameters.h"
#include "cairn/state/state_manager.h"
#include "cairn/state/state_store.h"
#include "cairn/text/chat_template.h"
#include "cairn/text/rust_bridge.h"
#include "cairn/weights/describe_pooling.h"
#include "tools/commands.h"
#include "tools/generation.h"
#include "tools/serve_args.h"
#include "tools/serve_pages.h"
#include "tools/serve_state.h"
#include "tools/state_quality.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

constexpr size_t kFingerprintShown = 8;  // bytes, of 32

// Everything between the flags and the first connection, in the order in which it must go.
struct Serving {
  OpenedModel opened;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat;
  std::unique_ptr<RustGrammarFactory> grammars;
  ServedModel served;
  std::unique_ptr<StateStore> store;
  OpenedTiers tiers;
  std::unique_ptr<StateManager> state;
  std::unique_ptr<Engine> engine;
};

// Also of a folder with a slash behind it.
std::filesystem::path FileOfModel(const ServeArgs& args) {
  const std::filesystem::path path(args.model.model);
  return path.has_filename() ? path : path.parent_path();
}

std::string NameOfModel(const ServeArgs& args) {
  if (!args.alias.empty()) return args.alias;
  const std::filesystem::path path = FileOfModel(args);
  return path.extension() == ".gguf" ? path.stem() : path.filename();
}

// A model without a template serves all but chats.
void OpenChat(Serving& to) {
  Result<ChatTemplate> chat = ChatTemplate::FromTokenizer(*to.tokenizer);
  if (!chat) {
    to.served.why_no_chat = chat.error().message;
    return;
  }
  to.chat = std::make_unique<ChatTemplate>(std::move(*chat));
  to.served.chat = to.chat.get();
  const auto& templates = to.tokenizer->chat_templates();
  const auto used = std::ranges::find(templates, "default", &NamedTemplate::name);
  to.served.chat_shows_tools = used != templates.end() && used->source.contains("tools");
}

// Answers that follow a grammar end by the model's own token.
Status OpenGrammars(Serving& to) {
  const auto ends = to.tokenizer->end_of_generation();
  if (ends.empty()) return {};
  to.served.grammar_end = ends.front();
  CAIRN_ASSIGN(RustGrammarFactory made,
               RustGrammarFactory::Make(to.tokenizer->table(), to.served.grammar_end));
  to.grammars = std::make_unique<RustGrammarFactory>(std::move(made));
  to.served.grammars = to.grammars.get();
  return {};
}

// What the model's files ask for comes first: another pooling than theirs is a choice, attention in
// both directions isn't.
Status OpenEmbeddings(const ServeArgs& args, const WeightFile& file, Serving& to) {
  const auto said = DescribePooling(file, args.model.model);
  if (!said) {
    to.served.why_no_embeddings = said.error().message;
    return {};
  }
  // Of a model that generates only the last token has read all others.
  to.served.pooling = said->value_or(Pooling::kLast);
  if (args.pooling.empty()) return {};
  CAIRN_ASSIGN(to.served.pooling, ParsePooling(args.pooling));
  return {};
}

void Describe(const ServeArgs& args, TokenCount context, Serving& to) {
  ServedModel& served = to.served;
  const ModelSpec& spec = to.opened.model->spec();
  served.name = NameOfModel(args);
  served.file = FileOfModel(args).filename();
  served.answers_at_once = args.parallel;
  served.fingerprint = "b";
  for (const char byte : to.opened.fingerprint.substr(0, kFingerprintShown)) {
    served.fingerprint += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  served.tokenizer = to.tokenizer.get();
  served.context = context.value();
  served.width = spec.hidden;
  served.train_context = spec.context_length.value();
  served.parameters = ParameterCount(spec).value_or(ElementCount(0)).value();
  served.created_unix_s = NowUnixSeconds();
  served.defaults.sampling = args.sampling;
  served.defaults.max_tokens = args.max_tokens;
  served.state_forms = StateFormsJson(args.model, to.opened.forms);
}

Status OpenServing(const ServeArgs& args, Serving& to) {
  CAIRN_ASSIGN(DescribedFile described, DescribeFile(args.model));
  CAIRN_TRY(StateCodecsOf(args.model));
  CAIRN_ASSIGN(const SequenceRunner::Options runner, RunnerOptionsOf(args.model, described.spec));
  CAIRN_ASSIGN(Tokenizer tokenizer, OpenTokenizer(*described.file, args.model.model));
  to.tokenizer = std::make_unique<Tokenizer>(std::move(tokenizer));
  CAIRN_TRY(OpenEmbeddings(args, *described.file, to));
  ModelArgs model_args = args.model;
  model_args.fingerprint = true;
  CAIRN_ASSIGN(to.opened, OpenModel(model_args, std::move(described)));
  OpenChat(to);
  CAIRN_TRY(OpenGrammars(to));
  Describe(args, runner.context, to);
  if (!args.token_policy.empty()) {
    CAIRN_ASSIGN(to.served.defaults.policy, PolicySettings::Parse(args.token_policy));
    CAIRN_TRY(to.opened.model->WatchRows(*MakeTokenPolicy(*to.served.defaults.policy)));
  }
  const Model& model = *to.opened.model;
  CAIRN_ASSIGN(to.store, StateStore::Make(model.layout(),
                                          {.budget = Bytes(static_cast<int64_t>(args.state_bytes)),
                                           .reserved_tokens = runner.context}));
  StateManager::Options state;
  state.policy = args.eviction;
  CAIRN_ASSIGN(to.tiers, OpenTiers(args.tiers));
  state.tiers = to.tiers.options;
  CAIRN_ASSIGN(to.state, StateManager::Make(*to.store, state));
  EngineOptions engine;
  engine.context = runner.context;
  engine.max_running = args.parallel;
  engine.max_waiting = args.queue;
  engine.step_tokens = runner.chunk;
  engine.weights = to.opened.fingerprint;
  CAIRN_ASSIGN(to.engine, MakeEngine(*to.opened.model, *to.state, std::move(engine)));
  return {};
}

// Returns when it has been told to stop, and the engine's thread has ended.
Status ServeUntilStopped(const ServeArgs& args, Serving& serving, ApiServerOptions options) {
  options.workers = args.workers;
  options.max_pending = args.queue;
  options.answer_timeout_us = MicrosecondsOf(args.timeout_s);
  options.contexts = args.Contexts();
  options.drain_us = MicrosecondsOf(args.drain_timeout_s);
  options.state_figures = [&] {
    StateFigures figures = FiguresOf(*serving.state);
    figures.policy = args.eviction;
    return figures;
  };
  options.state_details = [&](StateFigures& to) { AddDetailsOf(*serving.state, to); };
  options.pages = ServedPages(args.model.model, serving.served.name);
  options.on_drain = [] { fmt::print(stderr, "cairn: stopping; a second signal ends at once\n"); };
  ApiServer api(serving.served, std::move(options));
  CAIRN_ASSIGN(const std::unique_ptr<HttpServer> http, HttpServer::Listen(args.HttpOptions(), api));
  EngineService service(*serving.engine, serving.tokenizer->table(), api, {.max_jobs = args.queue});
  api.Attach(*http, service);
  http->CatchSignals();
  fmt::print(stderr,
             "cairn: {}: context {}, state {}\ncairn: server is listening on http://{}:{}\n",
             serving.served.name, WithSeparators(serving.served.context),
             BytesText(serving.store->stats().budget), args.http.host, http->port());
  http->Run();
  api.Detach();
  return {};
}

Status Serve(const ServeArgs& args) {
  ReturnFreedMemory();
  CAIRN_TRY(CheckSamplingOptions(args.sampling));
  ApiServerOptions options;
  CAIRN_ASSIGN(options.keys, args.Keys());
  Serving serving;
  CAIRN_TRY(OpenServing(args, serving));
  CAIRN_TRY(ServeUntilStopped(args, serving, std::move(options)));
  serving.state->Flush(NowMicroseconds());
  return {};
}

}  // namespace

void AddServeCommand(CLI::App& app, ChosenCommand& chosen) {
  static ServeArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("serve", "Serve a model to many clients (docs/serve.md)");
  args.AddFlags(command);
  command.callback([&chosen] {
    chosen = [] {
      const Status status = Serve(args);
      return status ? 0 : ExitCodeOf(status.error());
    };
  });
}

}  // namespace cairn
