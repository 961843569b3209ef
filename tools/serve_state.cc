#include "tools/serve_state.h"

namespace cairn {
namespace {

// A look at all blocks holds up the next step; it is left out where there are more.
constexpr BlockCount kBlocksLookedAt{1 << 20};
constexpr size_t kNodesShown = 200;
// Of which keys are made, to look them up on tiers: a few milliseconds.
constexpr TokenCount kTokensLookedUp{1 << 18};

const char* KindOf(const Lifetime& lifetime) {
  switch (lifetime.kind) {
    case Lifetime::Kind::kAll:
    case Lifetime::Kind::kFirst:
      return "rows";
    case Lifetime::Kind::kWindow:
      return "window";
    case Lifetime::Kind::kChunk:
      return "chunk";
  }
  return "rows";
}

void FillOccupancy(const StateStore& store, StateFigures& to) {
  to.budget_bytes = store.stats().budget.value();
  to.live_bytes = store.stats().live.value();
  to.live_max_bytes = store.stats().live_max.value();
  to.warm_bytes = store.stats().warm.value();
  to.free_bytes = store.available().value();
  to.sequences = store.sequence_count();
  to.bytes_per_token = store.layout().MarginalBytesPerToken().value();
  for (size_t c = 0; c < store.layout().classes().size(); ++c) {
    const ClassIndex index(static_cast<int32_t>(c));
    const BlockClass& rows = store.layout().classes()[c];
    to.classes.push_back({.kind = KindOf(rows.lifetime),
                          .tokens = rows.lifetime.tokens.value(),
                          .block_bytes = rows.block_bytes.value(),
                          .live_blocks = store.LiveBlocks(index).value()});
  }
  if (const Bytes region = store.layout().fixed_bytes(); region > Bytes(0)) {
    to.classes.push_back({.kind = "fixed",
                          .block_bytes = region.value(),
                          .live_blocks = store.LiveRegions().value()});
  }
}

void FillTiers(const StateManager& state, StateFigures& to) {
  const StateManager::Stats& reads = state.stats();
  for (size_t i = 0; i < state.tiers().size(); ++i) {
    const Tier& tier = state.tiers()[i];
    const ObjectStoreStats stats = tier.store().Stats();
    to.tiers.push_back({.name = tier.name(),
                        .objects = stats.objects,
                        .bytes = stats.object_bytes.value(),
                        .tokens_loaded = i < reads.tier_tokens.size() ? reads.tier_tokens[i] : 0});
  }
  to.loads = reads.loads;
  to.loads_failed = reads.loads_failed;
  to.loads_late = reads.loads_late;
  to.loads_declined = reads.loads_declined;
  const TierWriter::Stats& writes = state.writes();
  to.written = writes.written;
  to.written_bytes = writes.written_bytes.value();
  to.write_waiting = writes.waiting;
  to.write_failed = writes.failed;
  to.write_given_up = writes.given_up;
  to.problem = reads.problem.empty() ? writes.problem : reads.problem;
}

}  // namespace

StateFigures FiguresOf(StateManager& state) {
  StateFigures to;
  FillOccupancy(state.store(), to);
  const PrefixTree::Stats& tree = state.tree().stats();
  to.nodes = tree.nodes;
  to.points = tree.points;
  to.evictions = tree.evictions;
  to.evicted_tokens = tree.evicted_tokens;
  to.opened = state.stats().opened;
  to.opened_tokens = state.stats().opened_tokens;
  to.memory_tokens = state.stats().memory_tokens;
  to.loaded_tokens = state.stats().loaded_tokens;
  to.refused = state.stats().refused;
  FillTiers(state, to);
  return to;
}

void AddDetailsOf(const StateManager& state, StateFigures& to) {
  if (const std::optional<StateManager::Use> use = state.UseOfBytes(kBlocksLookedAt)) {
    to.use = {.pinned_bytes = use->pinned.value(),
              .running_bytes = use->running.value(),
              .in_use_bytes = use->in_use.value(),
              .kept_bytes = use->kept.value(),
              .snapshot_bytes = use->snapshots.value(),
              .waiting_bytes = use->waiting.value()};
  }
  for (const StateManager::ShownNode& shown : state.Picture(kNodesShown, kTokensLookedUp)) {
    const PrefixTree::NodeSummary& node = shown.node;
    StateFigures::Node& added = to.shown_nodes.emplace_back();
    added.parent = node.parent;
    added.tokens = node.tokens;
    added.bytes = node.bytes.value();
    added.points = node.points;
    added.children = node.children;
    added.locked = node.locked;
    if (!shown.on_tiers && !state.tiers().empty()) continue;
    std::vector<int64_t>& tokens = added.tier_tokens.emplace();
    if (!shown.on_tiers) continue;
    for (const TokenCount on : *shown.on_tiers) tokens.push_back(on.value());
  }
}

}  // namespace cairn
