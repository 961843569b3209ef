// The subcommands, one file each; a new one is a row in commands.cc.
#ifndef CAIRN_TOOLS_COMMANDS_H_
#define CAIRN_TOOLS_COMMANDS_H_

#include <functional>

#include "cairn/base/status.h"

namespace CLI {
class App;
}

namespace cairn {

// Set by the subcommand that was named; returns the exit code.
using ChosenCommand = std::function<int()>;

void AddRunCommand(CLI::App& app, ChosenCommand& chosen);
void AddChatCommand(CLI::App& app, ChosenCommand& chosen);
void AddBenchCommand(CLI::App& app, ChosenCommand& chosen);
void AddEvalCommand(CLI::App& app, ChosenCommand& chosen);
void AddLogitsCommand(CLI::App& app, ChosenCommand& chosen);
void AddSizeCommand(CLI::App& app, ChosenCommand& chosen);
void AddGpusCommand(CLI::App& app, ChosenCommand& chosen);
void AddStateCommand(CLI::App& app, ChosenCommand& chosen);
void AddServeCommand(CLI::App& app, ChosenCommand& chosen);

void AddAllCommands(CLI::App& app, ChosenCommand& chosen);

// Prints the error as one line on stderr; the exit code that fits it.
int ExitCodeOf(const Error& error);

}  // namespace cairn

#endif  // CAIRN_TOOLS_COMMANDS_H_
