// Moving state: over links, to storage, from worker to worker; and when loading beats computing.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cairn/sizing/bounds.h"
#include "cairn/sizing/bounds_flops.h"
#include "cairn/sizing/budget.h"
#include "cairn/spec/state_layout.h"

namespace cairn {
namespace {

std::vector<const Link*> LinksOf(const BoundsQuestion& question) {
  if (question.link != nullptr) return {question.link};
  std::vector<const Link*> links;
  for (const Link& link : Links()) links.push_back(&link);
  return links;
}

double MsOf(Bytes bytes, double per_second) {
  return Milliseconds(static_cast<double>(bytes.value()), per_second).value_or(0);
}

Result<StateLayout> LayoutOf(const BoundsQuestion& question) {
  return StateLayout::Make(StateSpecOf(question.model, question.codecs));
}

Result<Table> LinksTable(const BoundsQuestion& question, const StateLayout& layout) {
  const Bytes one = layout.ContentBytes(question.context);
  int64_t all = 0;
  if (__builtin_mul_overflow(one.value(), question.batch, &all)) {
    return Fail(ErrorCode::kInvalidArgument,
                "the state of {} requests takes more bytes than can be counted", question.batch);
  }
  Table table{.key = "links", .label = "Time to move the state", .columns = {}};
  table.columns = {{"link", "link"},
                   {"label", "what it is"},
                   {"bytes_per_second", "one direction", Unit::kBytesPerSecond},
                   {"load_ms", "one request, in", Unit::kMilliseconds},
                   {"store_ms", "one request, out", Unit::kMilliseconds},
                   {"batch_ms", "all requests, in", Unit::kMilliseconds},
                   {"break_even_tokens", "loading wins from", Unit::kTokens}};
  for (const Link* link : LinksOf(question)) {
    Cell wins;
    CAIRN_ASSIGN(const auto tokens, LoadBeatsRecompute(question, *link));
    if (tokens) wins = tokens->value();
    table.rows.push_back({std::string(link->name), std::string(link->label),
                          link->ReadBytesPerSecond(), MsOf(one, link->ReadBytesPerSecond()),
                          MsOf(one, link->WriteBytesPerSecond()),
                          MsOf(Bytes(all), link->ReadBytesPerSecond()), std::move(wins)});
  }
  return table;
}

// From a prefill worker to a decode worker: the link that was chosen, else the device's own.
Result<const Link*> HandoverLink(const BoundsQuestion& question) {
  if (question.link != nullptr) return question.link;
  return FindLink(question.gpu != nullptr ? question.gpu->link : "400gbe");
}

void AddRecompute(const BoundsQuestion& question, Section& section) {
  if (question.Compute() <= 0 || !question.weights || !question.weights->multiplied) {
    section.notes.emplace_back(
        "computing the state again isn't bounded: the device's compute or the weights that a token "
        "passes aren't known");
    return;
  }
  const Flops flops =
      PrefillFlops(question.model, *question.weights->multiplied, question.context, TokenCount(0));
  const double ms = flops.Total() / question.parallel.tp / question.Compute() * 1000.0;
  section.fields.push_back({"recompute_ms", "to compute it again, at least", ms,
                            Unit::kMilliseconds,
                            fmt::format("{:.6g} / {} cards / {:.6g} operations/s", flops.Total(),
                                        question.parallel.tp, question.Compute())});
}

}  // namespace

Result<std::optional<TokenCount>> LoadBeatsRecompute(const BoundsQuestion& question,
                                                     const Link& link) {
  if (question.Compute() <= 0 || !question.weights || !question.weights->multiplied) {
    return std::nullopt;
  }
  CAIRN_ASSIGN(const StateLayout layout, LayoutOf(question));
  const int64_t multiplied = *question.weights->multiplied;
  const double compute = question.Compute() * question.parallel.tp;
  // Loading costs a constant and less and less for each token, computing more and more: once it
  // wins it goes on winning.
  const auto recomputing_wins = [&](int64_t tokens) -> Result<bool> {
    const double load = MsOf(layout.ContentBytes(TokenCount(tokens)), link.ReadBytesPerSecond());
    const Flops flops = PrefillFlops(question.model, multiplied, TokenCount(tokens), TokenCount(0));
    return load >= flops.Total() / compute * 1000.0;
  };
  constexpr int64_t kMost = int64_t{1} << 24;
  CAIRN_ASSIGN(const auto last, Largest(1, kMost, recomputing_wins));
  if (!last) return TokenCount(1);
  if (*last == kMost) return std::nullopt;
  return TokenCount(*last + 1);
}

Result<Section> TransfersSection(const BoundsQuestion& question) {
  CAIRN_TRY(BoundDecode(question));  // refuses what is out of range
  CAIRN_ASSIGN(const StateLayout layout, LayoutOf(question));
  Section section{.key = "transfers", .title = "Moving the state"};
  const Bytes one = layout.ContentBytes(question.context);
  section.fields.push_back({"state_bytes", "state of one request to move", CellOf(one),
                            Unit::kBytes,
                            fmt::format("rows still needed after {} tokens, and what doesn't grow",
                                        question.context.value())});
  CAIRN_ASSIGN(const Link* const link, HandoverLink(question));
  section.fields.push_back({"handover_link", "from prefill to decode", std::string(link->label)});
  section.fields.push_back(
      {"handover_ms", "to hand it over", MsOf(one, link->ReadBytesPerSecond()), Unit::kMilliseconds,
       fmt::format("{} bytes / {:.6g} bytes/s", one.value(), link->ReadBytesPerSecond())});
  AddRecompute(question, section);
  CAIRN_ASSIGN(Table table, LinksTable(question, layout));
  section.tables.push_back(std::move(table));
  section.notes.insert(
      section.notes.end(),
      {"one direction at full rate, without latency and without overlap; a window's rows that no "
       "query will see aren't moved",
       fmt::format("loading wins from the prefix on at which it takes less than computing it again "
                   "at {:.3g} of the peak; empty: never, up to 16 Mi tokens, or not known",
                   question.compute_share)});
  return section;
}

}  // namespace cairn
