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
#include "tools/conversation.h"
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
  // Goes on with `messages`, if there are any.
  Chat(TextGenerator& generator, ChatTemplate chat_template, const ChatArgs& args,
       std::vector<ChatMessage> messages)
      : generator_(generator),
        template_(std::move(chat_template)),
        args_(args),
        messages_(std::move(messages)) {
    if (messages_.empty()) Clear();
  }

  void Clear() {
    messages_.clear();
    if (!args_.system.empty()) messages_.push_back({"system", args_.system});
  }

  Status Say(std::string text) {
    messages_.push_back({"user", std::move(text)});
    const Result<TextAnswer> answer = AnswerMessages();
    if (!answer) {
      messages_.pop_back();
      return std::unexpected(answer.error());
    }
    messages_.push_back({"assistant", answer->text});
    if (!args_.generation.session.empty()) {
      CAIRN_TRY(generator_.SaveSession(*answer, NoteOf(messages_)));
    }
    fmt::print("\n");
    std::fflush(stdout);
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(
          stderr,
          "\x1b[2m[{} prompt tokens, {} kept; {} answer tokens, {:.1f}/s; state {}]\x1b[0m\n",
          answer->prompt_tokens, kept_.value(), answer->tokens.size(),
          answer->AnswerTokensPerSecond(), BytesText(generator_.store().LiveBytes()));
    }
    return {};
  }

 private:
  Result<TextAnswer> AnswerMessages() {
    CAIRN_ASSIGN(const std::string rendered, template_.Render(messages_));
    CAIRN_ASSIGN(const std::vector<TokenId> tokens, generator_.tokenizer().EncodeChat(rendered));
    CAIRN_ASSIGN(kept_, generator_.KeepCommonPrefix(tokens));
    const auto rest = std::span(tokens).subspan(static_cast<size_t>(kept_.value()));
    return generator_.Generate(rest, [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    });
  }

  TextGenerator& generator_;
  const ChatTemplate template_;
  const ChatArgs& args_;
  std::vector<ChatMessage> messages_;
  TokenCount kept_;
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
  CAIRN_ASSIGN(std::vector<ChatMessage> messages,
               MessagesOf(generator->note(), args.generation.session));
  Chat chat(*generator, std::move(chat_template), args, std::move(messages));
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
