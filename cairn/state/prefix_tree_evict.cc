// Of PrefixTree: what policies are told, and what goes.
#include <algorithm>
#include <cmath>
#include <span>

#include "cairn/base/check.h"
#include "cairn/state/prefix_tree.h"

namespace cairn {

double RecomputeCost::Of(TokenCount from, TokenCount to) const {
  const auto count = static_cast<double>((to - from).value());
  return count * (fixed + position * static_cast<double>((from + to).value()) / 2);
}

// ---- How paths are used ----

// Whoever asks for most of a path's last node is taken for its user; what only begins like it is
// another's.
void PrefixTree::Return(const Place& place, int64_t now_us) {
  Node* node = place.node;
  if (!IsMost(*node, place.tokens)) node = node->parent;
  for (; node != nullptr; node = node->parent) policy_->Returned(node->tail, now_us);
}

bool PrefixTree::IsMost(const Node& node, TokenCount to) {
  return (to - node.from()) * 2 >= node.to() - node.from();
}

// All nodes of the path may once be what is left of it.
void PrefixTree::EndTurn(Node& node, const Turn& turn, int64_t now_us) {
  node.tail.path.turn = turn;
  policy_->Kept(node.tail, now_us);
  node.tail.path.kept_us = now_us;
  node.tail.path.ends_here = true;
  for (Node* n = node.parent; n->parent != nullptr; n = n->parent) {
    n->tail.path = node.tail.path;
    n->tail.path.watch = -1;
    n->tail.path.ends_here = false;
  }
}

// The first block tells it from others that go on from the same path.
void PrefixTree::Identify(Node& node) {
  Node& parent = *node.parent;
  if (!parent.hash_after) parent.hash_after = HashTo(parent, parent.to());
  node.hash_before = *parent.hash_after;
  node.tail.id = HashTo(node, std::min(node.to(), node.from() + TokenCount(kRowsPerBlock)));
}

// Who makes two paths collide misleads the policy, no more.
uint64_t PrefixTree::HashTo(const Node& node, TokenCount to) {
  uint64_t hash = node.hash_before;
  const auto count = static_cast<size_t>((to - node.from()).value());
  for (const TokenId token : std::span(node.tokens).first(count)) {
    hash = (hash ^ static_cast<uint32_t>(token.value())) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

// ---- Evicting ----

bool PrefixTree::MakeRoom(Bytes bytes) {
  while (store_.available() < bytes) {
    if (!EvictOne(bytes - store_.available())) return false;
  }
  return true;
}

bool PrefixTree::EvictOne(Bytes wanted) {
  EvictionEntry* victim = policy_->Victim();
  if (victim == nullptr) return false;
  Node& node = *static_cast<Node*>(victim->owner);
  node.tree->Evict(node, *victim, wanted);
  return true;
}

void PrefixTree::Evict(Node& node, const EvictionEntry& victim, Bytes wanted) {
  ++stats_.evictions;
  if (&victim == &node.tail) {
    EvictTail(node, wanted);
  } else {
    EvictPoint(node, victim);
  }
}

// Whole blocks from the end, as many as are needed.
void PrefixTree::EvictTail(Node& node, Bytes bytes) {
  const double tokens = std::ceil(static_cast<double>(bytes.value()) / RowBytesPerToken());
  const auto length = static_cast<double>((node.to() - node.from()).value());
  int64_t to = node.to().value() - static_cast<int64_t>(std::min(tokens, length));
  to -= to % kRowsPerBlock;
  if (to <= node.from().value()) {
    RemoveLeaf(node);
  } else {
    Withdraw(node);
    Truncate(node, TokenCount(to));
    Offer(node);
  }
}

void PrefixTree::EvictPoint(Node& node, const EvictionEntry& entry) {
  const auto at = std::ranges::find_if(
      node.points, [&entry](const auto& point) { return &point->entry == &entry; });
  CAIRN_CHECK(at != node.points.end());
  Withdraw(node);
  policy_->Gone((*at)->entry, nullptr);
  node.points.erase(at);
  --stats_.points;
  Node* const left = Prune(&node);
  if (left != nullptr) Offer(*left);
}

// Drops rows that nothing can be resumed from: those of an end without a point. Returns what is
// left of the path.
PrefixTree::Node* PrefixTree::Prune(Node* node) {
  if (!store_.NeedsPoints()) return DropRootIfEmpty(node);
  while (node != nullptr && node->parent != nullptr && node->locks == 0 && node->children.empty()) {
    if (!node->points.empty()) {
      Truncate(*node, std::min(node->to(), node->points.back()->state.tokens));
      break;
    }
    Node* const parent = node->parent;
    DropLeaf(*node);
    node = parent;
  }
  return DropRootIfEmpty(node);
}

PrefixTree::Node* PrefixTree::DropRootIfEmpty(Node* node) {
  if (node == nullptr || node->parent != nullptr) return node;
  if (!node->children.empty() || node->locks > 0) return node;
  const StateKey key = *node->root_key;
  roots_.erase(key);
  return nullptr;
}

void PrefixTree::RemoveLeaf(Node& node) {
  Node* const parent = node.parent;
  DropLeaf(node);
  if (DropRootIfEmpty(parent) != nullptr) Offer(*parent);
}

void PrefixTree::DropLeaf(Node& node) {
  CAIRN_CHECK(node.children.empty() && node.locks == 0 && node.points.empty());
  Withdraw(node);
  Node& parent = *node.parent;
  const bool leaves_end = parent.parent != nullptr && parent.children.size() == 1 &&
                          parent.tail.path.kept_us == node.tail.path.kept_us;
  policy_->Gone(node.tail, leaves_end ? &parent.tail : nullptr);
  --stats_.nodes;
  stats_.evicted_tokens += (node.to() - node.from()).value();
  parent.children.erase(node.tokens.front());
}

void PrefixTree::Truncate(Node& node, TokenCount to) {
  stats_.evicted_tokens += (node.to() - to).value();
  TruncateRows(store_.layout(), node.rows, to);
  node.tokens.resize(static_cast<size_t>((to - node.from()).value()));
  node.hash_after.reset();
}

double PrefixTree::RowBytesPerToken() const {
  double bytes = 0;
  for (const BlockClass& c : store_.layout().classes()) {
    if (c.lifetime.kind != Lifetime::Kind::kAll) continue;
    bytes +=
        static_cast<double>(c.row_bytes.value()) / static_cast<double>(c.tokens_per_row.value());
  }
  return bytes;
}

// ---- What the policy knows ----

// The policy holds what may go, with the facts as they are now.
void PrefixTree::Offer(Node& node) {
  if (node.locks > 0 || node.parent == nullptr) return;
  if (!store_.NeedsPoints()) {
    if (!node.children.empty() || node.tail.held) return;
    node.tail.from = node.from();
    node.tail.to = node.to();
    node.tail.cost = cost_.Of(node.from(), node.to());
    node.tail.bytes = BytesOf(store_.layout(), node.rows);
    node.tail.owner = &node;
    policy_->Add(node.tail);
    return;
  }
  TokenCount before = LastPointAbove(node);
  for (size_t i = 0; i < node.points.size(); ++i) {
    Point& point = *node.points[i];
    point.entry.owner = &node;
    const bool superseded = IsSuperseded(node, i);
    if (!point.entry.held) {
      point.entry.superseded = superseded;
      OfferPoint(node, point, before);
    }
    if (!superseded) before = point.state.tokens;
  }
}

void PrefixTree::OfferPoint(Node& node, Point& point, TokenCount before) {
  EvictionEntry& entry = point.entry;
  entry.from = before;
  entry.to = point.state.tokens;
  entry.cost = cost_.Of(entry.from, entry.to);
  entry.bytes = BytesOf(store_.layout(), point.state);
  entry.path = node.tail.path;
  entry.path.watch = -1;  // there is one for a path, with its last node
  policy_->Add(entry);
}

// Whoever goes on along the only path resumes further on.
bool PrefixTree::IsSuperseded(const Node& node, size_t point) {
  return point + 1 < node.points.size() || node.children.size() == 1;
}

// Points that are superseded are as good as gone.
TokenCount PrefixTree::LastPointAbove(const Node& node) {
  for (const Node* n = node.parent; n != nullptr; n = n->parent) {
    const size_t points = n->points.size();
    if (points > 0 && !IsSuperseded(*n, points - 1)) return n->points.back()->state.tokens;
  }
  return {};
}

void PrefixTree::Withdraw(Node& node) {
  if (node.tail.held) policy_->Remove(node.tail);
  for (const auto& point : node.points) {
    if (point->entry.held) policy_->Remove(point->entry);
  }
}

}  // namespace cairn
