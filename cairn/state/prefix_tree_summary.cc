// What a PrefixTree shows of itself to people: sizes and shapes, no tokens, no keys.
#include <algorithm>
#include <utility>
#include <vector>

#include "cairn/state/prefix_tree.h"

namespace cairn {

std::vector<std::pair<const PrefixTree::Node*, PrefixTree::NodeSummary>> PrefixTree::Shown(
    size_t max_nodes) const {
  std::vector<std::pair<const Node*, NodeSummary>> summary;
  std::vector<std::pair<const Node*, int64_t>> level;  // and its parent in the list
  const auto add_children = [](const Node& node, int64_t index, auto& to) {
    for (const auto& [token, child] : node.children) to.emplace_back(child.get(), index);
  };
  for (const auto& [key, root] : roots_) add_children(*root, -1, level);
  while (!level.empty() && summary.size() < max_nodes) {
    // Siblings by length: neither by what they say nor by the accidents of a hash.
    std::ranges::sort(level, [](const auto& a, const auto& b) {
      return std::pair(a.second, b.first->tokens.size()) <
             std::pair(b.second, a.first->tokens.size());
    });
    level.resize(std::min(level.size(), max_nodes - summary.size()));
    std::vector<std::pair<const Node*, int64_t>> next;
    for (const auto& [node, parent] : level) {
      NodeSummary each{.parent = parent,
                       .tokens = static_cast<int64_t>(node->tokens.size()),
                       .bytes = BytesOf(store_.layout(), node->rows),
                       .points = static_cast<int64_t>(node->points.size()),
                       .children = static_cast<int64_t>(node->children.size()),
                       .locked = node->locks > 0};
      for (const auto& point : node->points) each.bytes += BytesOf(store_.layout(), point->state);
      add_children(*node, static_cast<int64_t>(summary.size()), next);
      summary.emplace_back(node, each);
    }
    level = std::move(next);
  }
  return summary;
}

std::vector<PrefixTree::NodeSummary> PrefixTree::Summary(size_t max_nodes) const {
  std::vector<NodeSummary> summary;
  for (const auto& [node, each] : Shown(max_nodes)) summary.push_back(each);
  return summary;
}

void PrefixTree::ForEachShown(size_t max_nodes, TokenCount most_tokens,
                              const NodeVisitor& visit) const {
  TokenCount left = most_tokens;
  for (const auto& [node, each] : Shown(max_nodes)) {
    const bool fits = node->to() <= left;
    std::vector<TokenId> path(fits ? static_cast<size_t>(node->to().value()) : 0);
    left = fits ? left - node->to() : TokenCount(0);
    const Node* at = node;
    for (; at->parent != nullptr; at = at->parent) {
      if (fits) std::ranges::copy(at->tokens, path.begin() + at->from().value());
    }
    visit(each, *at->root_key, path);
  }
}

void PrefixTree::ForEachRef(const std::function<void(Part, const BlockRef&)>& visit) const {
  const std::vector<const Node*> nodes = AllNodes();
  ForEachPinnedRef([&](const BlockRef& block) { visit(Part::kPinned, block); });
  for (const Part part : {Part::kLockedRows, Part::kRows, Part::kPoints}) {
    const RefVisitor visit_part = [&](const BlockRef& block) { visit(part, block); };
    for (const Node* node : nodes) {
      if (node->pins > 0) continue;
      if (part == Part::kPoints) {
        for (const auto& point : node->points) cairn::ForEachRef(point->state, visit_part);
      } else if ((node->locks > 0) == (part == Part::kLockedRows)) {
        cairn::ForEachRef(node->rows, visit_part);
      }
    }
  }
}

// What is below a node that no pin holds isn't pinned either.
void PrefixTree::ForEachPinnedRef(const RefVisitor& visit) const {
  std::vector<const Node*> pinned;
  for (const auto& [key, root] : roots_) {
    if (root->pins > 0) pinned.push_back(root.get());
  }
  for (size_t i = 0; i < pinned.size(); ++i) {
    cairn::ForEachRef(pinned[i]->rows, visit);
    for (const auto& point : pinned[i]->points) cairn::ForEachRef(point->state, visit);
    for (const auto& [token, child] : pinned[i]->children) {
      if (child->pins > 0) pinned.push_back(child.get());
    }
  }
}

void PrefixTree::ForEachRefOf(
    const Lock& pinned, const std::function<void(bool shared, const BlockRef&)>& visit) const {
  for (const bool shared : {true, false}) {
    const RefVisitor visit_ref = [&](const BlockRef& block) { visit(shared, block); };
    for (const Node* node = pinned.node_; node != nullptr; node = node->parent) {
      if ((node->pins > 1) != shared) continue;
      cairn::ForEachRef(node->rows, visit_ref);
      for (const auto& point : node->points) cairn::ForEachRef(point->state, visit_ref);
    }
  }
}

}  // namespace cairn
