// cairn run: one prompt, one answer, and what it cost.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/policies/policy_settings.h"
#include "cairn/text/chat_template.h"
#include "tools/commands.h"
#include "tools/conversation.h"
#include "tools/generation.h"
#include "tools/state_quality.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct RunArgs {
  ModelArgs model;
  GenerationArgs generation;
  std::string prompt;
  std::string file;
  std::string system;
  bool chat = false;
  bool json = false;
  bool quiet = false;
};

constexpr int64_t kMaxPromptBytes = int64_t{1} << 28;

Result<std::string> PromptText(const RunArgs& args) {
  if (!args.file.empty()) return ReadFile(args.file, kMaxPromptBytes);
  if (!args.prompt.empty()) return args.prompt;
  if (isatty(STDIN_FILENO) != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "no prompt: give one with -p TEXT or -f FILE, or pipe it in");
  }
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// What is to be read: of a session that goes on only what is new.
struct Prompt {
  std::vector<TokenId> tokens;
  std::vector<ChatMessage> messages;  // with --chat: the whole conversation so far
  TokenCount kept;                    // tokens of the session that needn't be read again
};

Result<Prompt> ChatPrompt(const RunArgs& args, TextGenerator& generator, std::string text) {
  Prompt prompt;
  CAIRN_ASSIGN(prompt.messages, MessagesOf(generator.note(), args.generation.session));
  if (prompt.messages.empty() && !args.system.empty()) {
    prompt.messages.push_back({"system", args.system});
  }
  prompt.messages.push_back({"user", std::move(text)});
  CAIRN_ASSIGN(const ChatTemplate chat, ChatTemplate::FromTokenizer(generator.tokenizer()));
  CAIRN_ASSIGN(const std::string rendered, chat.Render(prompt.messages));
  CAIRN_ASSIGN(prompt.tokens, generator.tokenizer().EncodeChat(rendered));
  CAIRN_ASSIGN(prompt.kept, generator.KeepCommonPrefix(prompt.tokens));
  prompt.tokens.erase(prompt.tokens.begin(), prompt.tokens.begin() + prompt.kept.value());
  return prompt;
}

Result<Prompt> PromptOf(const RunArgs& args, TextGenerator& generator) {
  CAIRN_ASSIGN(std::string text, PromptText(args));
  Prompt prompt;
  if (args.chat) {
    CAIRN_ASSIGN(prompt, ChatPrompt(args, generator, std::move(text)));
  } else {
    EncodeOptions options;
    prompt.kept = TokenCount(static_cast<int64_t>(generator.runner().tokens().size()));
    if (prompt.kept > TokenCount(0)) options.add_bos = false;
    CAIRN_ASSIGN(prompt.tokens, generator.tokenizer().Encode(text, options));
  }
  if (prompt.tokens.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the prompt is empty: it needs at least one token");
  }
  return prompt;
}

// What the state of the generator's sequence takes, predicted and found.
struct StateCost {
  Bytes per_token;
  Bytes predicted;
  Bytes live;
  int64_t blocks = 0;
  TokenCount dropped;  // whose rows no head has any more

  explicit StateCost(TextGenerator& generator) {
    const StateLayout& layout = generator.model().layout();
    const TokenCount tokens = generator.store().Length(generator.runner().id());
    per_token = layout.MarginalBytesPerToken();
    const DroppedRows* lost = generator.runner().dropped();
    if (lost != nullptr) dropped = lost->rows;
    predicted = layout.AllocatedBytesWithout(dropped, tokens, TokenCount(0));
    live = generator.store().LiveBytes();
    for (size_t c = 0; c < layout.classes().size(); ++c) {
      blocks += generator.store().LiveBlocks(ClassIndex(static_cast<int32_t>(c))).value();
    }
  }
};

void PrintForms(const TextGenerator& generator) {
  if (!generator.opened().forms) return;
  fmt::print(stderr, "state forms      {}\n",
             FormReportLine(*generator.opened().forms, generator.model().spec()));
}

void PrintCost(TextGenerator& generator, const Prompt& prompt, const TextAnswer& answer) {
  const StateCost state(generator);
  const int64_t tokens = generator.store().Length(generator.runner().id()).value();
  fmt::print(stderr, "\n");
  if (generator.restored() > TokenCount(0)) {
    fmt::print(stderr, "kept             {:>6} tokens\n", prompt.kept.value());
  }
  if (answer.origin.loaded > TokenCount(0)) {
    fmt::print(stderr, "loaded           {:>6} tokens  from the {}\n", answer.origin.loaded.value(),
               answer.origin.tier);
  }
  if (state.dropped > TokenCount(0)) {
    fmt::print(stderr, "dropped          {:>6} tokens' rows\n", state.dropped.value());
  }
  fmt::print(stderr,
             "prompt           {:>6} tokens  {:>9.1f} tokens/s\n"
             "answer           {:>6} tokens  {:>9.1f} tokens/s  ({})\n"
             "state per token  {}\n"
             "state predicted  {} for {} tokens\n"
             "state live       {}\n"
             "blocks used      {}\n",
             answer.prompt_tokens, answer.PromptTokensPerSecond(), answer.tokens.size(),
             answer.AnswerTokensPerSecond(), NameOf(answer.finish), BytesText(state.per_token),
             BytesText(state.predicted), tokens, BytesText(state.live), state.blocks);
  PrintForms(generator);
}

void PrintJson(TextGenerator& generator, const Prompt& prompt, const TextAnswer& answer) {
  const StateCost state(generator);
  std::vector<int32_t> ids;
  for (const TokenId id : answer.tokens) ids.push_back(id.value());
  std::vector<int32_t> prompt_ids;
  for (const TokenId id : prompt.tokens) prompt_ids.push_back(id.value());
  const nlohmann::json report = {
      {"text", answer.text},
      {"tokens", ids},
      {"prompt_ids", prompt_ids},
      {"finish_reason", NameOf(answer.finish)},
      {"seed", generator.seed()},
      {"prompt_tokens", answer.prompt_tokens},
      {"kept_tokens", prompt.kept.value()},
      {"loaded_tokens", answer.origin.loaded.value()},
      {"answer_tokens", answer.tokens.size()},
      {"load_ms", static_cast<double>(generator.opened().load_time_us) / 1e3},
      {"prompt_ms", static_cast<double>(answer.prompt_us) / 1e3},
      {"answer_ms", static_cast<double>(answer.answer_us) / 1e3},
      {"prompt_tokens_per_second", answer.PromptTokensPerSecond()},
      {"answer_tokens_per_second", answer.AnswerTokensPerSecond()},
      {"state",
       {{"tokens", generator.store().Length(generator.runner().id()).value()},
        {"bytes_per_token", state.per_token.value()},
        {"predicted_bytes", state.predicted.value()},
        {"live_bytes", state.live.value()},
        {"dropped_tokens", state.dropped.value()},
        {"blocks", state.blocks}}}};
  fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<int> Run(const RunArgs& args) {
  CAIRN_ASSIGN(const std::unique_ptr<TextGenerator> generator,
               TextGenerator::Open(args.model, args.generation));
  CAIRN_ASSIGN(Prompt prompt, PromptOf(args, *generator));
  CatchInterrupts();
  const auto emit = [&](std::string_view text) {
    if (args.json) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  CAIRN_ASSIGN(const TextAnswer answer, generator->Generate(prompt.tokens, emit));
  if (!args.generation.session.empty()) {
    if (args.chat) prompt.messages.push_back({"assistant", answer.text});
    CAIRN_TRY(generator->SaveSession(answer, args.chat ? NoteOf(prompt.messages) : ""));
  }
  if (args.json) {
    PrintJson(*generator, prompt, answer);
  } else {
    fmt::print("\n");
    std::fflush(stdout);
    if (!args.quiet) PrintCost(*generator, prompt, answer);
  }
  return 0;
}

}  // namespace

void AddRunCommand(CLI::App& app, ChosenCommand& chosen) {
  static RunArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("run", "Answer one prompt and say what it cost");
  args.model.AddModelFlag(command);
  args.model.AddThreadFlag(command);
  args.model.AddStateFlags(command);
  args.model.AddContextFlags(command);
  args.generation.AddFlags(command, 128);
  command.add_option("--token-policy", args.generation.token_policy,
                     "Which tokens' rows stay behind the prompt, as snapkv:keep=0.25 (default: "
                     "all): " +
                         PolicyNames());
  CLI::Option* prompt = command.add_option("-p,--prompt", args.prompt, "The prompt");
  command.add_option("-f,--file", args.file, "A file that holds the prompt")->excludes(prompt);
  command.add_flag("--chat", args.chat, "Put the prompt into the model's chat template");
  command.add_option("--system", args.system, "A system message; implies --chat");
  command.add_flag("--json", args.json, "Print one JSON object instead of streaming text");
  command.add_flag("-q,--quiet", args.quiet, "No table of costs");
  command.callback([&chosen] {
    chosen = [] {
      args.chat = args.chat || !args.system.empty();
      const Result<int> code = Run(args);
      return code ? *code : ExitCodeOf(code.error());
    };
  });
}

}  // namespace cairn
