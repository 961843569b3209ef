// The `cairn` program: parses the command line and runs the chosen subcommand.
//
// Exit codes: 0 done, 1 a failure, 2 bad input (flags, files, models), one line on stderr for both.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/commands.h"

namespace {

// llama.cpp's flags of several letters behind one dash, which the parser would read as "-c tk".
constexpr std::pair<const char*, const char*> kLongSpelling[] = {
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-npl", "--sequences"},
    {"-np", "--parallel"},
};

// In reverse, as CLI11 takes them.
std::vector<std::string> ArgumentsOf(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) {
    for (const auto& [spelling, name] : kLongSpelling) {
      if (argument == spelling) argument = name;
    }
  }
  std::ranges::reverse(arguments);
  return arguments;
}

// A full disk mustn't pass for an answer. fmt throws when a write fails; what is still buffered
// fails at the flush.
int RunReporting(const cairn::ChosenCommand& chosen) {
  int code = 0;
  std::string problem;
  try {
    code = chosen();
  } catch (const std::system_error& error) {
    problem = error.code().message();
  }
  if (problem.empty() && std::fflush(stdout) != 0) {
    problem = std::generic_category().message(errno);
  }
  if (problem.empty()) return code;
  std::fprintf(stderr, "cairn: standard output: cannot write: %s\n", problem.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Cairn: LLM inference around a typed, exactly sized state", "cairn"};
  app.require_subcommand(1);
  cairn::ChosenCommand chosen;
  cairn::AddAllCommands(app, chosen);
  try {
    app.parse(ArgumentsOf(argc, argv));
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    std::fprintf(stderr, "cairn: %s (see cairn --help)\n", problem.what());
    return 2;
  }
  return RunReporting(chosen);
}
