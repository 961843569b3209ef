// The plan of vLLM's blocks as fields and tables, and what one may get wrong with it.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm_start.h"

namespace cairn {
namespace {

void AddGroups(const VllmStart& start, Section& section) {
  Table table = {.key = "groups",
                 .label = "groups",
                 .columns = {{.key = "kind", .label = "kind"},
                             {.key = "layers", .label = "layers"},
                             {.key = "padding_layers", .label = "padding"},
                             {.key = "block_tokens", .label = "block", .unit = Unit::kTokens},
                             {.key = "page_bytes", .label = "page", .unit = Unit::kBytes},
                             {.key = "window", .label = "window", .unit = Unit::kTokens},
                             {.key = "blocks_per_request", .label = "blocks a request"}}};
  for (const VllmGroup& group : start.plan.groups) {
    Cell blocks = std::monostate();
    if (start.question.max_model_len) {
      blocks = BlocksOfRequest(group, *start.question.max_model_len, start.question);
    }
    Cell window = std::monostate();
    if (group.window > 0) window = group.window;
    table.rows.push_back({std::string(NameOf(group.kind)),
                          static_cast<int64_t>(group.layers.size()), group.padding_layers,
                          group.block_tokens, group.page_bytes, window, blocks});
  }
  section.tables.push_back(std::move(table));
}

void AddStages(const VllmStart& start, Section& section) {
  if (start.plan.stage_bytes_per_block.size() < 2) return;
  Table table = {.key = "stages",
                 .label = "pipeline stages",
                 .columns = {{.key = "stage", .label = "stage"},
                             {.key = "bytes_per_block", .label = "a block", .unit = Unit::kBytes},
                             {.key = "needed_bytes", .label = "needs", .unit = Unit::kBytes}}};
  for (size_t stage = 0; stage < start.plan.stage_bytes_per_block.size(); ++stage) {
    const int64_t bytes = start.plan.stage_bytes_per_block[stage];
    Cell needed = std::monostate();
    if (start.question.max_model_len) {
      needed = Saturated(CountedBlocks(start, *start.question.max_model_len), bytes);
    }
    table.rows.push_back({static_cast<int64_t>(stage), bytes, needed});
  }
  section.tables.push_back(std::move(table));
}

// The version whose source was read and that is nearest below, else the first.
std::string_view NearestRead(const FrameworkVersion& version) {
  struct Read {
    int64_t minor;
    std::string_view name;
  };
  constexpr auto kRead = std::to_array<Read>({{33, "0.33.0"},
                                              {24, "0.24.0"},
                                              {19, "0.19.1"},
                                              {16, "0.16.0"},
                                              {13, "0.13.0"},
                                              {11, "0.11.0"},
                                              {9, "0.9.2"}});
  for (const Read& read : kRead) {
    if (version.AtLeast(0, read.minor)) return read.name;
  }
  return kRead.back().name;
}

}  // namespace

void AddTables(const VllmStart& start, Section& section) {
  AddGroups(start, section);
  AddStages(start, section);
}

void AddAdvice(const VllmStart& start, Section& section) {
  const auto tokens = start.question.max_model_len;
  section.notes.push_back(fmt::format("printed as {} does", NameOf(start.era)));
  const std::string read = fmt::format(
      "the nearest version whose source was read is {}; between those, and before 0.9, "
      "rules are known from logs",
      NearestRead(start.question.version));
  // Before the first and after the last nobody's logs tell, either.
  const FrameworkVersion& version = start.question.version;
  const bool unknown = version.AtLeast(0, 34) || !version.AtLeast(0, 6);
  (unknown ? section.warnings : section.notes).push_back(read);
  if (start.plan.groups.size() > 1) {
    section.warnings.emplace_back(
        "the printed token count isn't a capacity: it is a quotient whose formula changed with the "
        "versions; compare blocks, and a request's fixed and marginal bytes");
  }
  if (start.plan.attention_block && tokens && *start.plan.attention_block > *tokens) {
    section.warnings.push_back(fmt::format(
        "a block of {} tokens is longer than the longest request: prefix caching can't hit",
        *start.plan.attention_block));
  }
  if (start.plan.padding_layers > 0) {
    section.warnings.push_back(
        fmt::format("{} padding layers take memory and hold nothing", start.plan.padding_layers));
  }
  if (start.plan.attention_block && start.blocks && start.question.max_num_seqs &&
      *start.question.max_num_seqs > *start.blocks) {
    section.warnings.push_back(
        fmt::format("refused: max_num_seqs ({}) exceeds available Mamba cache blocks ({})",
                    *start.question.max_num_seqs, *start.blocks));
  }
  if (tokens && !start.question.max_num_batched_tokens) {
    const bool windowed = std::ranges::any_of(
        start.plan.groups, [](const VllmGroup& group) { return group.window > 0; });
    if (windowed) {
      section.warnings.emplace_back(
          "windows are charged for the tokens in flight; max_num_batched_tokens is taken to be "
          "8192, the default depends on the card");
    }
  }
}

void AddPlanFields(const VllmPlan& plan, Section& section) {
  if (plan.attention_block) {
    AddField(section, "attention_block_size", "attention block", *plan.attention_block,
             Unit::kTokens);
    AddField(section, "mamba_pad_pct", "padding of a state page", *plan.mamba_pad_percent,
             Unit::kPercent);
  }
  AddField(section, "page_bytes", "page of a layer", plan.groups.front().page_bytes, Unit::kBytes);
  AddField(section, "num_groups", "groups", static_cast<int64_t>(plan.groups.size()));
  AddField(section, "group_layers", "layers of a group", plan.group_layers);
  AddField(section, "padding_layers", "padding layers", plan.padding_layers);
  AddField(section, "bytes_per_block", "a block", plan.bytes_per_block, Unit::kBytes,
           plan.uniform ? fmt::format("sum of {} pages", plan.group_layers)
                        : fmt::format("{} pages of {} bytes", plan.group_layers,
                                      plan.groups.front().page_bytes));
}

}  // namespace cairn
