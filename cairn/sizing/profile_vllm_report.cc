// What a start of vLLM prints about its cache, from the plan of its blocks.
#include <algorithm>
#include <utility>

#include "cairn/sizing/format.h"
#include "cairn/sizing/profile_frameworks.h"
#include "cairn/sizing/profile_vllm_start.h"
#include "cairn/spec/limits.h"

namespace cairn {
namespace {

using Kind = LayerCache::Kind;

// format_gib: two digits to 0.14, then as short as Python writes them.
std::string GibText(const VllmStart& start, int64_t bytes) {
  std::string text = fmt::format("{:.2f}", GibOf(bytes));
  if (start.question.version.AtLeast(0, 15) && text.ends_with('0')) text.pop_back();
  return text;
}

int64_t PrintedTokens(const VllmStart& start, double concurrency, int64_t tokens) {
  int64_t smallest = INT64_MAX;
  for (const VllmGroup& group : start.plan.groups) {
    smallest = std::min(smallest, group.block_tokens);
  }
  const int64_t dcp = start.question.dcp;
  switch (start.era) {
    case VllmEra::kV0:
    case VllmEra::kV1Early:
    case VllmEra::kGrouped:
      return Saturated(*start.blocks / static_cast<int64_t>(start.plan.groups.size()),
                       smallest * dcp);
    case VllmEra::kWeighted:
    case VllmEra::kCounted:
      break;
  }
  constexpr double kMost = int64_t{1} << 62;
  return static_cast<int64_t>(std::min(concurrency * static_cast<double>(tokens), kMost));
}

bool NeedsLengthToPrint(VllmEra era) {
  return era == VllmEra::kWeighted || era == VllmEra::kCounted;
}

void AddPoolFields(const VllmStart& start, Section& section) {
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

void AddRequestFields(const VllmStart& start, Section& section) {
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

void AddPrinted(const VllmStart& start, int64_t tokens, Table& log, Section& section) {
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

void AddNeed(const VllmStart& start, int64_t tokens, Table& log, Section& section) {
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

Status CheckMode(const ProfileQuestion& question) {
  const std::string mode = VllmMambaMode(question);
  if (mode == "none" || mode == "align" || mode == "all") return {};
  return Fail(ErrorCode::kInvalidArgument,
              "--set mamba_cache_mode={}: none, align and all are right", mode);
}

}  // namespace

Result<Section> VllmSection(const ModelSpec& model, const ProfileQuestion& question) {
  CAIRN_TRY(CheckMode(question));
  CAIRN_ASSIGN(const VllmPlan plan, PlanVllm(model, question));
  VllmStart start = {.question = question,
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
  AddTables(start, section);
  section.tables.push_back(std::move(log));
  section.notes = plan.notes;
  section.warnings = plan.warnings;
  AddAdvice(start, section);
  return section;
}

}  // namespace cairn
