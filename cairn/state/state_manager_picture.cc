// What tiers have of the nodes that a StateManager shows.
#include <algorithm>
#include <utility>
#include <vector>

#include "cairn/state/state_manager.h"

namespace cairn {
namespace {

// A node of the picture as it grows: parents come before their children.
struct Placed {
  int64_t parent;
  TokenCount from, to;
  // Whether its last tokens, behind its last whole run, are on the tier: in an end of their own, or
  // in the run or the end that goes on in a child.
  std::vector<bool> tail_found;
};

bool HasRun(const Tier& tier, const StateLayout& layout, const PrefixChain& chain, int64_t run) {
  const Bytes blocks = RunBlocks(layout, chain.run_tokens(), run).bytes;
  return tier.Has(chain.RunKey(run), blocks + chain.Run(run).TokenBytes());
}

bool HasEnd(const Tier& tier, const StateLayout& layout, const PrefixChain& chain) {
  const Bytes blocks = EndBlocks(layout, chain.run_tokens(), chain.tokens()).bytes;
  if (blocks == Bytes(0)) return false;
  return tier.Has(chain.EndKey(chain.tokens()), blocks + chain.End(chain.tokens()).TokenBytes());
}

}  // namespace

std::vector<StateManager::ShownNode> StateManager::Picture(size_t max_nodes,
                                                           TokenCount most_tokens) const {
  const StateLayout& layout = store_.layout();
  std::vector<ShownNode> shown;
  std::vector<Placed> placed;
  // The tokens [from, ...) of a run or an end that begins before the node are the last ones of
  // nodes above it.
  const auto find_tails = [&](int64_t above, TokenCount from, size_t tier) {
    for (; above >= 0; above = placed[static_cast<size_t>(above)].parent) {
      Placed& node = placed[static_cast<size_t>(above)];
      auto& on = shown[static_cast<size_t>(above)].on_tiers;
      if (node.to <= from || !on) return;
      if (!node.tail_found[tier]) (*on)[tier] += node.to - std::max(node.from, from);
      node.tail_found[tier] = true;
    }
  };
  const TokenCount looked_up = tiers_.empty() ? TokenCount(0) : most_tokens;
  tree_->ForEachShown(
      max_nodes, looked_up,
      [&](const PrefixTree::NodeSummary& summary, const StateKey& key,
          std::span<const TokenId> path) {
        const int64_t parent = summary.parent;
        const TokenCount from = parent < 0 ? TokenCount(0) : placed[static_cast<size_t>(parent)].to;
        const TokenCount to = from + TokenCount(summary.tokens);
        placed.push_back({parent, from, to, std::vector<bool>(tiers_.size())});
        shown.push_back({.node = summary, .on_tiers = std::nullopt});
        if (path.empty()) return;
        const PrefixChain chain(key, path, run_tokens_);
        std::vector<TokenCount> on(tiers_.size());
        for (size_t tier = 0; tier < tiers_.size(); ++tier) {
          for (int64_t run = from.value() / run_tokens_.value(); run < chain.whole_runs(); ++run) {
            if (!HasRun(tiers_[tier], layout, chain, run)) continue;
            const TierObject object = chain.Run(run);
            on[tier] += object.to - std::max(object.from, from);
            if (object.from < from) find_tails(parent, object.from, tier);
          }
          if (chain.whole_runs() * run_tokens_.value() == to.value()) continue;
          if (!HasEnd(tiers_[tier], layout, chain)) continue;
          const TokenCount end_from = chain.End(to).from;
          on[tier] += to - std::max(end_from, from);
          placed.back().tail_found[tier] = true;
          if (end_from < from) find_tails(parent, end_from, tier);
        }
        shown.back().on_tiers = std::move(on);
      });
  return shown;
}

}  // namespace cairn
