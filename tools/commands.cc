#include "tools/commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace cairn {

void AddAllCommands(CLI::App& app, ChosenCommand& chosen) {
  AddRunCommand(app, chosen);
  AddChatCommand(app, chosen);
  AddBenchCommand(app, chosen);
  AddEvalCommand(app, chosen);
  AddLogitsCommand(app, chosen);
  AddSizeCommand(app, chosen);
  AddGpusCommand(app, chosen);
  AddStateCommand(app, chosen);
  AddServeCommand(app, chosen);
}

int ExitCodeOf(const Error& error) {
  std::fprintf(stderr, "cairn: %s\n", error.message.c_str());
  return error.IsBadInput() ? 2 : 1;
}

}  // namespace cairn
