// PrefixTree's invariants, as its header numbers them.
#include <vector>

#include "cairn/base/check.h"
#include "cairn/state/audit.h"
#include "cairn/state/prefix_tree.h"

namespace cairn {

std::vector<const PrefixTree::Node*> PrefixTree::AllNodes() const {
  std::vector<const Node*> nodes;
  for (const auto& [key, root] : roots_) nodes.push_back(root.get());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& [token, child] : nodes[i]->children) nodes.push_back(child.get());
  }
  return nodes;
}

void PrefixTree::Audit(const KeptVisitor& others) const {
  const std::vector<const Node*> nodes = AllNodes();
  int64_t points = 0;
  for (const Node* node : nodes) {
    AuditNode(*node);
    points += static_cast<int64_t>(node->points.size());
  }
  CAIRN_CHECK(stats_.nodes == static_cast<int64_t>(nodes.size() - roots_.size()));
  CAIRN_CHECK(stats_.points == points);
  cairn::Audit(store_, [&](const RefVisitor& visit) {
    if (others) others(visit);
    for (const Node* node : nodes) {
      cairn::ForEachRef(node->rows, visit);
      for (const auto& point : node->points) cairn::ForEachRef(point->state, visit);
    }
  });
}

void PrefixTree::AuditNode(const Node& node) const {
  const bool is_root = node.parent == nullptr;
  CAIRN_CHECK(is_root == (node.root_key != nullptr) && is_root == node.tokens.empty());
  if (is_root) CAIRN_CHECK(!node.children.empty() || node.locks > 0);
  CAIRN_CHECK(node.from() == (is_root ? TokenCount(0) : node.parent->to()));
  CAIRN_CHECK((node.to() - node.from()).value() == static_cast<int64_t>(node.tokens.size()));
  for (const auto& [token, child] : node.children) {
    CAIRN_CHECK(child->parent == &node && child->tokens.front() == token);
    CAIRN_CHECK(child->locks <= node.locks && child->pins <= node.pins);
  }
  CAIRN_CHECK(0 <= node.pins && node.pins <= node.locks);
  const StateLayout& layout = store_.layout();
  for (size_t i = 0; i < node.rows.tables.size(); ++i) {
    const BlockClass& c = layout.classes()[i];
    const BlockRange range = node.rows.tables[i].range();
    if (c.KeepsAll()) CAIRN_CHECK(range == BlocksOfRows(c, node.from(), node.to()));
    if (!c.KeepsAll()) CAIRN_CHECK(range.first == range.end);
  }

  const bool may_go = node.locks == 0 && !is_root;
  const bool needs_points = store_.NeedsPoints();
  CAIRN_CHECK(node.tail.held == (may_go && !needs_points && node.children.empty()));
  CAIRN_CHECK(needs_points || node.points.empty());
  TokenCount before = node.from();
  for (const auto& point : node.points) {
    CAIRN_CHECK(before < point->state.tokens && point->state.tokens <= node.to());
    CAIRN_CHECK(point->entry.held == may_go && store_.CanResume(point->state, point->state.tokens));
    before = point->state.tokens;
  }
  if (may_go && needs_points && node.children.empty()) CAIRN_CHECK(before == node.to());
}

}  // namespace cairn
