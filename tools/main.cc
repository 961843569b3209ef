// The `cairn` program: parses the command line and runs the chosen subcommand.
//
// Exit codes: 0 done, 1 a failure, 2 bad input (flags, files, models), one line on stderr for both.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Cairn: LLM inference around a typed, exactly sized state", "cairn"};
  app.require_subcommand(1);
  cairn::ChosenCommand chosen;
  cairn::AddAllCommands(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    std::fprintf(stderr, "cairn: %s (see cairn --help)\n", problem.what());
    return 2;
  }
  return chosen();
}
