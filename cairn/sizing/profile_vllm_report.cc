// What a start of vLLM prints about its cache, from the plan of its blocks.
#include <algorithm>
#include <utility>

#include "cairn/sizing/format.h"
#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

// A start: the plan and what the pool holds, as far as the question tells.
struct Start {
  const ProfileQuestion& question;
  const VllmPlan& plan;
  VllmEra era;
  std::optional<int64_t> available;  // bytes
  std::optional<int64_t> blocks;
};

// get_max_concurrency_for_kv_cache_config: by counted blocks, or by bytes over the first group's.
int64_t RequestBlocks(const Start& start, int64_t tokens) {
  int64_t counted = 0;
  int64_t weighted = 0;
  for (const VllmGroup& group : start.plan.groups) {
    const int64_t blocks = BlocksOfRequest(group, tokens, start.question);
    counted += blocks;
    weighted = SaturatedSum(weighted, Saturated(blocks, group.page_bytes));
  }
  if (start.era == VllmEra::kCounted) return counted;
  return CeilDiv(weighted, start.plan.groups.front().page_bytes);
}

int64_t CountedBlocks(const Start& start, int64_t tokens) {
  int64_t counted = 0;
  for (const VllmGroup& group : start.plan.groups) {
    counted += BlocksOfRequest(group, tokens, start.question);
  }
  return counted;
}

int64_t NeededBytes(const Start& start, int64_t tokens) {
  return Saturated(CountedBlocks(start, tokens), start.plan.needed_bytes_per_block);
}

// Block 0 is the null block; from 0.27 the check leaves it out.
int64_t BytesForRequests(const Start& start, int64_t available) {
  return start.era == VllmEra::kCounted ? available - start.plan.bytes_per_block : available;
}

// The longest request that fits, 0 if none does.
int64_t LongestThatFits(const Start& start, int64_t available, int64_t most) {
  const int64_t bytes = BytesForRequests(start, available);
  int64_t fits = 0;
  int64_t low = 1;
  int64_t high = most;
  while (low <= high) {
    const int64_t middle = low + (high - low) / 2;
    if (NeededBytes(start, middle) <= bytes) {
      fits = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return fits;
}

// format_gib: two digits to 0.14, then as short as Python writes them.
std::string GibText(const Start& start, int64_t bytes) {
  std::string text = fmt::format("{:.2f}", GibOf(bytes));
  if (start.question.version.AtLeast(0, 15) && text.ends_with('0')) text.pop_back();
  return text;
}

int64_t PrintedTokens(const Start& start, double concurrency, int64_t tokens) {
  int64_t smallest = INT64_MAX;
  for (const VllmGroup& group : start.plan.groups) {
    smallest = std::min(smallest, group.block_tokens);
  }
  const int64_t dcp = start.question.dcp;
  switch (start.era) {
    case VllmEra::kV0:
    case VllmEra::kV1Early:
    case VllmEra::kGrouped:
      return *start.blocks / static_cast<int64_t>(start.plan.groups.size()) * smallest * dcp;
    case VllmEra::kWeighted:
    case VllmEra::kCounted:
      break;
  }
  return static_cast<int64_t>(concurrency * static_cast<double>(tokens));
}

bool NeedsLengthToPrint(VllmEra era) {
  return era == VllmEra::kWeighted || era == VllmEra::kCounted;
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

void AddPoolFields(const Start& start, Section& section) {
  if (start.available) {
    AddField(section, "available_kv_bytes", "for the cache", *start.available, Unit::kBytes);
    AddField(section, "available_kv_gib", "for the cache, GiB", GibOf(*start.available));
  }
  if (!start.blocks) return;
  AddField(section, "num_blocks", "blocks", *start.blocks, Unit::kNone,
           start.available ? fmt::format("{} // {}", *start.available, start.plan.bytes_per_block)
                           : "as set");
  AddField(section, "usable_blocks", "blocks without the null block",
           std::max<int64_t>(*start.blocks - 1, 0));
}

void AddRequestFields(const Start& start, Section& section) {
  int64_t fixed_blocks = 0;
  double marginal = 0;
  for (const VllmGroup& group : start.plan.groups) {
    const bool grows = group.kind == Kind::kFull || group.kind == Kind::kLatent ||
                       group.kind == Kind::kIndex ||
                       (group.kind == Kind::kState && VllmMambaMode(start.question) == "all");
    if (grows) {
      marginal += static_cast<double>(start.plan.bytes_per_block) /
                  static_cast<double>(group.block_tokens * start.question.dcp);
    } else {
      fixed_blocks += BlocksOfRequest(group, kMaxContext, start.question);
    }
  }
  AddField(section, "fixed_bytes_per_request", "a request's fixed part",
           Saturated(fixed_blocks, start.plan.bytes_per_block), Unit::kBytes,
           fmt::format("{} blocks that don't depend on its length", fixed_blocks));
  AddField(section, "marginal_bytes_per_token", "one more token", marginal, Unit::kBytesPerToken);
}

void AddPrinted(const Start& start, int64_t tokens, Table& log, Section& section) {
  const int64_t request_blocks = RequestBlocks(start, tokens);
  AddField(section, "blocks_per_request", "blocks of a request", request_blocks);
  if (!start.blocks) return;
  const double concurrency =
      static_cast<double>(*start.blocks) / static_cast<double>(request_blocks);
  const int64_t printed = PrintedTokens(start, concurrency, tokens);
  AddField(section, "kv_tokens", "printed tokens", printed, Unit::kTokens);
  AddField(section, "max_concurrency", "printed concurrency", concurrency, Unit::kTimes,
           fmt::format("{} / {}", *start.blocks, request_blocks));
  if (start.era == VllmEra::kV0) {
    AddLine(log, fmt::format("# GPU blocks: {}", *start.blocks));
    AddLine(log, fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x", tokens,
                             concurrency));
    return;
  }
  const std::string size = fmt::format("GPU KV cache size: {} tokens", Grouped(printed));
  const std::string most = fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x",
                                       Grouped(tokens), concurrency);
  if (start.question.version.AtLeast(0, 28)) {
    AddLine(log, size + ", " + most);
  } else {
    AddLine(log, size);
    AddLine(log, most);
  }
}

void AddNeed(const Start& start, int64_t tokens, Table& log, Section& section) {
  const int64_t needed = NeededBytes(start, tokens);
  AddField(section, "needed_bytes", "a request of full length needs", needed, Unit::kBytes,
           fmt::format("{} blocks x {} bytes", CountedBlocks(start, tokens),
                       start.plan.needed_bytes_per_block));
  AddField(section, "needed_gib", "the same in GiB", GibOf(needed));
  if (!start.available) return;
  const bool fits = needed <= BytesForRequests(start, *start.available);
  AddField(section, "fits", "fits", fits);
  const int64_t longest = LongestThatFits(start, *start.available, fits ? kMaxContext : tokens);
  AddField(section, "estimated_max_model_len", "longest request", longest, Unit::kTokens);
  if (fits) return;
  const bool new_words = start.question.version.AtLeast(0, 20);
  AddLine(log,
          fmt::format("ValueError: To serve at least one request with the {} max seq len ({}), "
                      "({} GiB KV cache is needed, which is larger than the available KV cache "
                      "memory ({} GiB). {}",
                      new_words ? "model's" : "models's", tokens, GibText(start, needed),
                      GibText(start, *start.available),
                      longest > 0 ? fmt::format("Based on the available memory, the estimated "
                                                "maximum model length is {}.",
                                                longest)
                                  : std::string("Try decreasing `max_model_len`.")));
}

void AddGroups(const Start& start, Section& section) {
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

void AddStages(const Start& start, Section& section) {
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

void AddAdvice(const Start& start, Section& section) {
  const auto tokens = start.question.max_model_len;
  section.notes.push_back(fmt::format("printed as {} does", NameOf(start.era)));
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

Status CheckMode(const ProfileQuestion& question) {
  const std::string mode = VllmMambaMode(question);
  if (mode == "none" || mode == "align" || mode == "all") return {};
  return Fail(ErrorCode::kInvalidArgument,
              "--set mamba_cache_mode={}: none, align and all are right", mode);
}

}  // namespace

VllmEra EraOf(const FrameworkVersion& version) {
  if (version.AtLeast(0, 27)) return VllmEra::kCounted;
  if (version.AtLeast(0, 21)) return VllmEra::kWeighted;
  if (version.AtLeast(0, 9, 2)) return VllmEra::kGrouped;
  return version.AtLeast(0, 8) ? VllmEra::kV1Early : VllmEra::kV0;
}

std::string_view NameOf(VllmEra era) {
  switch (era) {
    case VllmEra::kV0:
      return "vllm to 0.7 (tokens = blocks x block size)";
    case VllmEra::kV1Early:
      return "vllm 0.8 to 0.9.1 (tokens = blocks x block size)";
    case VllmEra::kGrouped:
      return "vllm 0.9.2 to 0.20 (tokens = blocks // groups x smallest block)";
    case VllmEra::kWeighted:
      return "vllm 0.21 to 0.26 (tokens = concurrency x max_model_len)";
    case VllmEra::kCounted:
      return "vllm from 0.27 (tokens = blocks / blocks of a request x max_model_len)";
  }
  return "";
}

Result<Section> VllmSection(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_TRY(CheckMode(question));
  CAIRN_ASSIGN(const VllmPlan plan, PlanVllm(model, question));
  Start start = {.question = question,
                 .plan = plan,
                 .era = EraOf(question.version),
                 .available = AvailableBytes(question),
                 .blocks = question.num_blocks};
  if (!start.blocks && start.available) {
    start.blocks = std::max<int64_t>(*start.available, 0) / plan.bytes_per_block;
  }
  Section section;
  Table log = LogTable();
  if (start.available) {
    AddLine(log,
            fmt::format("Available KV cache memory: {} GiB", GibText(start, *start.available)));
  }
  for (const std::string& line : plan.lines) AddLine(log, line);
  AddPlanFields(plan, section);
  AddPoolFields(start, section);
  AddRequestFields(start, section);
  if (question.max_model_len) {
    AddPrinted(start, *question.max_model_len, log, section);
    AddNeed(start, *question.max_model_len, log, section);
  } else if (start.blocks && !NeedsLengthToPrint(start.era)) {
    const int64_t printed = PrintedTokens(start, 0, 0);
    AddField(section, "kv_tokens", "printed tokens", printed, Unit::kTokens);
    AddLine(log, fmt::format("GPU KV cache size: {} tokens", Grouped(printed)));
  }
  AddGroups(start, section);
  AddStages(start, section);
  section.tables.push_back(std::move(log));
  section.notes = plan.notes;
  section.warnings = plan.warnings;
  AddAdvice(start, section);
  return section;
}

}  // namespace cairn
