#include "tools/serve_state.h"

namespace cairn {
namespace {

// A look at all blocks holds up the next step; it is left out where there are more.
constexpr BlockCount kBlocksLookedAt{1 << 20};
constexpr size_t kNodesShown = 200;

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
    to.classes.push_back({.block_bytes = store.layout().classes()[c].block_bytes.value(),
                          .live_blocks = store.LiveBlocks(index).value()});
  }
}

void FillTiers(const StateManager& state, StateFigures& to) {
  for (const Tier& tier : state.tiers()) {
    const ObjectStoreStats stats = tier.store().Stats();
    to.tiers.push_back(
        {.name = tier.name(), .objects = stats.objects, .bytes = stats.object_bytes.value()});
  }
  const StateManager::Stats& reads = state.stats();
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
    to.use = {.running_bytes = use->running.value(),
              .in_use_bytes = use->in_use.value(),
              .kept_bytes = use->kept.value(),
              .snapshot_bytes = use->snapshots.value(),
              .waiting_bytes = use->waiting.value()};
  }
  for (const PrefixTree::NodeSummary& node : state.tree().Summary(kNodesShown)) {
    to.shown_nodes.push_back({.parent = node.parent,
                              .tokens = node.tokens,
                              .bytes = node.bytes.value(),
                              .points = node.points,
                              .children = node.children,
                              .locked = node.locked});
  }
}

}  // namespace cairn
