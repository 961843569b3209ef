// cairn gpus: the devices and links that estimates are made with, and where their figures are from.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/sizing/hardware.h"
#include "cairn/sizing/render.h"
#include "tools/commands.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct GpusArgs {
  std::vector<std::string> names;  // empty: all
  bool json = false;
  bool markdown = false;
  bool csv = false;
};

// Rows whose first cell is one of the names.
void KeepNamed(const std::vector<std::string>& names, Table& table) {
  std::erase_if(table.rows, [&](const std::vector<Cell>& row) {
    return std::ranges::find(names, std::get<std::string>(row.front())) == names.end();
  });
}

Result<std::vector<Section>> Answer(const GpusArgs& args) {
  std::vector<Section> sections = {GpusSection(), LinksSection()};
  if (args.names.empty()) return sections;
  std::vector<std::string> devices;
  std::vector<std::string> links;
  for (const std::string& name : args.names) {
    CAIRN_ASSIGN(const GpuChoice choice, ParseGpu(name));
    devices.emplace_back(choice.gpu->name);
    links.emplace_back(choice.gpu->link);
    links.emplace_back(choice.gpu->host);
  }
  KeepNamed(devices, sections[0].tables.front());
  KeepNamed(links, sections[1].tables.front());
  return sections;
}

// At a terminal a table has no room for titles of documents: numbers, and a list under it.
void NumberSources(Section& section) {
  Table& table = section.tables.front();
  std::vector<std::string> sources;
  for (std::vector<Cell>& row : table.rows) {
    const auto& source = std::get<std::string>(row.back());
    const auto known = std::ranges::find(sources, source);
    const auto number = static_cast<int64_t>(known - sources.begin()) + 1;
    if (known == sources.end()) sources.push_back(source);
    row.back() = number;
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    section.notes.push_back(fmt::format("source {}: {}", i + 1, sources[i]));
  }
}

std::string Rendered(const GpusArgs& args, std::vector<Section> sections) {
  if (args.json) return RenderJson(sections, 2);
  if (args.markdown) return RenderMarkdown(sections, false);
  if (args.csv) return RenderCsv(sections);
  for (Section& section : sections) NumberSources(section);
  return RenderText(sections,
                    {.columns = OutputColumns(), .blocks = OutputIsTerminal(), .explain = true});
}

}  // namespace

void AddGpusCommand(CLI::App& app, ChosenCommand& chosen) {
  static GpusArgs args;  // the parser writes into it after this function has returned
  CLI::App& command =
      *app.add_subcommand("gpus", "List the devices and links that estimates are made with");
  command.add_option("name", args.names,
                     "Devices to show, with the links they have (default: all)");
  CLI::Option* json = command.add_flag("--json", args.json, "Print JSON");
  CLI::Option* markdown = command.add_flag("--markdown", args.markdown, "Print Markdown tables");
  CLI::Option* csv = command.add_flag("--csv", args.csv, "Print comma-separated values");
  json->excludes(markdown)->excludes(csv);
  markdown->excludes(csv);
  command.callback([&chosen] {
    chosen = [] {
      auto sections = Answer(args);
      if (!sections) return ExitCodeOf(sections.error());
      fmt::print("{}", Rendered(args, *std::move(sections)));
      return 0;
    };
  });
}

}  // namespace cairn
