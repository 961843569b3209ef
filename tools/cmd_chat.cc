// cairn chat: a conversation at the terminal on one growing sequence of state.
//
// Each turn renders the whole conversation with the model's template and keeps the state of the
// longest common prefix with what was computed before.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "cairn/text/chat_template.h"
#include "tools/commands.h"
#include "tools/generation.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct ChatArgs {
  ModelArgs model;
  GenerationArgs generation;
  std::string system;
};

constexpr std::string_view kHelp =
    "/clear forgets the conversation, /exit leaves, a line that ends in \\ goes on below,\n"
    "\"\"\" on a line of its own begins and ends several lines. Ctrl-C stops an answer.\n";

class Chat {
 public:
  Chat(TextGenerator& generator, ChatTemplate chat_template, std::string system)
      : generator_(generator), template_(std::move(chat_template)), system_(std::move(system)) {
    Clear();
  }

  void Clear() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
  }

  Status Say(std::string text) {
    messages_.push_back({"user", std::move(text)});
    const Result<Answer> answer = AnswerMessages();
    if (!answer) {
      messages_.pop_back();
      return std::unexpected(answer.error());
    }
    messages_.push_back({"assistant", answer->text});
    fmt::print("\n");
    std::fflush(stdout);
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(
          stderr,
          "\x1b[2m[{} prompt tokens, {} kept; {} answer tokens, {:.1f}/s; state {}]\x1b[0m\n",
          answer->prompt_tokens, kept_, answer->tokens.size(), answer->AnswerTokensPerSecond(),
          BytesText(generator_.store().LiveBytes()));
    }
    return {};
  }

 private:
  Result<Answer> AnswerMessages() {
    CAIRN_ASSIGN(const std::string rendered, template_.Render(messages_));
    CAIRN_ASSIGN(const std::vector<TokenId> tokens, generator_.tokenizer().EncodeChat(rendered));
    CAIRN_TRY(KeepCommonPrefix(tokens));
    const auto rest = std::span(tokens).subspan(static_cast<size_t>(kept_));
    return generator_.Generate(rest, [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    });
  }

  // At least one token is computed anew: its logits are what comes next.
  Status KeepCommonPrefix(std::span<const TokenId> tokens) {
    SequenceRunner& runner = generator_.runner();
    const std::span<const TokenId> have = runner.tokens();
    const size_t most = tokens.empty() ? 0 : std::min(have.size(), tokens.size() - 1);
    size_t common = 0;
    while (common < most && have[common] == tokens[common]) ++common;
    // A window may have dropped rows that the shorter prefix needs; then the turn starts anew.
    if (!runner.Rewind(TokenCount(static_cast<int64_t>(common)))) {
      common = 0;
      CAIRN_TRY(runner.Rewind(TokenCount(0)));
    }
    kept_ = static_cast<int64_t>(common);
    return {};
  }

  TextGenerator& generator_;
  const ChatTemplate template_;
  const std::string system_;
  std::vector<ChatMessage> messages_;
  int64_t kept_ = 0;
};

// One message, perhaps of several lines; false at the end of input.
bool ReadMessage(std::string& message) {
  message.clear();
  const bool terminal = isatty(STDIN_FILENO) != 0;
  const auto prompt = [&](const char* text) {
    if (terminal) std::fputs(text, stdout);
    std::fflush(stdout);
  };
  std::string line;
  prompt("> ");
  if (!std::getline(std::cin, line)) return false;
  if (line == "\"\"\"") {
    prompt(". ");
    while (std::getline(std::cin, line) && line != "\"\"\"") {
      message += line + "\n";
      prompt(". ");
    }
    return true;
  }
  while (line.ends_with('\\')) {
    line.pop_back();
    message += line + "\n";
    prompt(". ");
    if (!std::getline(std::cin, line)) return true;
  }
  message += line;
  return true;
}

Status Converse(const ChatArgs& args) {
  CAIRN_ASSIGN(const std::unique_ptr<TextGenerator> generator,
               TextGenerator::Open(args.model, args.generation));
  CAIRN_ASSIGN(ChatTemplate chat_template, ChatTemplate::FromTokenizer(generator->tokenizer()));
  Chat chat(*generator, std::move(chat_template), args.system);
  if (isatty(STDIN_FILENO) != 0) fmt::print("{}\n", kHelp);
  CatchInterrupts();
  std::string message;
  while (ReadMessage(message)) {
    if (message == "/exit" || message == "/quit") break;
    if (message == "/clear") {
      chat.Clear();
    } else if (message == "/help") {
      fmt::print("{}", kHelp);
    } else if (!message.empty()) {
      ClearInterrupt();
      const Status status = chat.Say(message);
      // An overlong conversation is no reason to lose it: /clear still helps.
      if (!status) ExitCodeOf(status.error());
    }
    if (Interrupted()) std::cin.clear();
    ClearInterrupt();
  }
  return {};
}

}  // namespace

void AddChatCommand(CLI::App& app, ChosenCommand& chosen) {
  static ChatArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("chat", "Talk with a model at the terminal");
  args.model.AddModelFlag(command);
  args.model.AddThreadFlag(command);
  args.model.AddStateFlags(command);
  args.model.AddContextFlags(command);
  args.generation.AddFlags(command, 0);
  command.add_option("--system", args.system, "A system message");
  command.callback([&chosen] {
    chosen = [] {
      const Status status = Converse(args);
      return status ? 0 : ExitCodeOf(status.error());
    };
  });
}

}  // namespace cairn
