#include "cairn/state/prefix_tree.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <ranges>

#include "cairn/base/check.h"
#include "cairn/state/audit.h"

namespace cairn {
namespace {

// A shorter end isn't worth a node of its own: its block stays with what is before.
constexpr TokenCount kLeastSplit{kRowsPerBlock};

// memcmp is many times as fast as a loop; the difference is then looked for in one piece.
int64_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  constexpr int64_t kPiece = 256;
  const auto most = static_cast<int64_t>(std::min(a.size(), b.size()));
  for (int64_t at = 0; at < most; at += kPiece) {
    const int64_t count = std::min(kPiece, most - at);
    const TokenId* x = a.data() + at;
    const TokenId* y = b.data() + at;
    if (std::memcmp(x, y, static_cast<size_t>(count) * sizeof(TokenId)) == 0) continue;
    return at + (std::mismatch(x, x + count, y).first - x);
  }
  return most;
}

TokenCount SizeOf(std::span<const TokenId> tokens) {
  return TokenCount(static_cast<int64_t>(tokens.size()));
}

std::span<const TokenId> From(std::span<const TokenId> tokens, TokenCount at) {
  return tokens.subspan(static_cast<size_t>(at.value()));
}

}  // namespace

PrefixTree::Lock::~Lock() { CAIRN_CHECK(node_ == nullptr); }

PrefixTree::PrefixTree(StateStore& store, std::unique_ptr<EvictionPolicy> policy,
                       RecomputeCost cost)
    : store_(store), own_policy_(std::move(policy)), policy_(own_policy_.get()), cost_(cost) {}

PrefixTree::PrefixTree(StateStore& store, EvictionPolicy& policy, RecomputeCost cost)
    : store_(store), policy_(&policy), cost_(cost) {}

// Paths may be long: nodes go one by one, not each from within its parent.
PrefixTree::~PrefixTree() {
  std::vector<std::unique_ptr<Node>> left;
  for (auto& [key, root] : roots_) left.push_back(std::move(root));
  while (!left.empty()) {
    const std::unique_ptr<Node> node = std::move(left.back());
    left.pop_back();
    CAIRN_CHECK(node->locks == 0);
    if (own_policy_ == nullptr && node->parent != nullptr) Withdraw(*node);
    for (auto& [token, child] : node->children) left.push_back(std::move(child));
  }
}

PrefixTree::Node* PrefixTree::FindRoot(const StateKey& key) const {
  const auto found = roots_.find(key);
  return found == roots_.end() ? nullptr : found->second.get();
}

PrefixTree::Node& PrefixTree::RootFor(const StateKey& key) {
  const auto [at, added] = roots_.try_emplace(key);
  if (added) {
    at->second = std::make_unique<Node>();
    at->second->tree = this;
    at->second->root_key = &at->first;
    at->second->hash_before = std::hash<StateKey>()(key);
  }
  return *at->second;
}

// ---- Finding ----

PrefixTree::Place PrefixTree::Walk(Node& root, std::span<const TokenId> tokens) {
  Place place{.node = &root, .tokens = {}};
  while (place.tokens < SizeOf(tokens)) {
    const std::span<const TokenId> rest = From(tokens, place.tokens);
    const auto child = place.node->children.find(rest.front());
    if (child == place.node->children.end()) break;
    place.node = child->second.get();
    place.tokens += TokenCount(CommonPrefix(rest, place.node->tokens));
    if (place.tokens < place.node->to()) break;
  }
  return place;
}

// From the longest on: the first point that can be used is the best.
PrefixTree::Choice PrefixTree::Choose(const Place& place, TokenCount most) const {
  const TokenCount limit = std::min(place.tokens, most);
  for (Node* node = place.node; node->parent != nullptr; node = node->parent) {
    if (!store_.NeedsPoints()) {
      if (node->from() < limit) return {.tokens = limit, .node = node, .point = nullptr};
      continue;
    }
    for (const auto& point : std::views::reverse(node->points)) {
      const TokenCount tokens = std::min(limit, point->state.tokens);
      if (tokens > TokenCount(0) && store_.CanResume(point->state, tokens)) {
        return {.tokens = tokens, .node = node, .point = point.get()};
      }
    }
  }
  return {};
}

TokenCount PrefixTree::Match(const StateKey& key, std::span<const TokenId> tokens,
                             TokenCount most) const {
  Node* root = FindRoot(key);
  return root == nullptr ? TokenCount(0) : Choose(Walk(*root, tokens), most).tokens;
}

PrefixTree::Path PrefixTree::RowsOf(const StateKey& key, std::span<const TokenId> tokens) const {
  Path path;
  Node* root = FindRoot(key);
  if (root == nullptr) return path;
  const Place place = Walk(*root, tokens);
  path.tokens = place.tokens;
  const bool node_goes_on = place.tokens < place.node->to() || !place.node->children.empty();
  path.goes_on = place.tokens > TokenCount(0) && node_goes_on;
  for (const Node* node = place.node; node->parent != nullptr; node = node->parent) {
    path.rows.push_back(&node->rows);
  }
  std::ranges::reverse(path.rows);
  return path;
}

Result<PrefixTree::Resumed> PrefixTree::Resume(const StateKey& key, std::span<const TokenId> tokens,
                                               TokenCount most, int64_t now_us, Lock& lock) {
  CAIRN_CHECK(!lock.held());
  Node* root = FindRoot(key);
  Choice choice;
  if (root != nullptr) {
    const Place place = Walk(*root, tokens);
    choice = Choose(place, most);
    Return(place, now_us);
  }
  if (choice.node != nullptr) {
    // What lies behind the tokens has not been used, and may go before them.
    const bool splits = choice.point == nullptr && choice.node->to() - choice.tokens >= kLeastSplit;
    if (splits) choice.node = &SplitAt(*choice.node, choice.tokens);
    MoveLock(lock, choice.node);
    Touch(*choice.node, choice.point, now_us);
  }
  MakeRoom(store_.BytesToResume(choice.tokens));
  std::vector<const KeptRows*> path;
  for (const Node* node = choice.node; node != nullptr; node = node->parent) {
    if (node->parent != nullptr && node->from() < choice.tokens) path.push_back(&node->rows);
  }
  std::ranges::reverse(path);
  const KeptPoint* point = choice.point == nullptr ? nullptr : &choice.point->state;
  Result<SequenceId> id = store_.Resume(path, point, choice.tokens);
  if (!id) {
    Unlock(lock);
    return std::unexpected(id.error());
  }
  return Resumed{.id = *id, .tokens = choice.tokens};
}

// Of a locked path, so that no policy holds what changes.
void PrefixTree::Touch(Node& node, Point* point, int64_t now_us) {
  if (point != nullptr) Use(point->entry, now_us);
  for (Node* n = &node; n != nullptr; n = n->parent) Use(n->tail, now_us);
}

void PrefixTree::Use(EvictionEntry& entry, int64_t now_us) {
  CAIRN_CHECK(!entry.held);
  ++entry.uses;
  entry.last_use_us = now_us;
}

// ---- Keeping ----

void PrefixTree::Keep(const StateKey& key, std::span<const TokenId> tokens, SequenceId id,
                      int64_t now_us, Lock& lock, const Turn& turn) {
  CAIRN_CHECK(store_.Length(id) == SizeOf(tokens));
  if (tokens.empty()) return;
  const Place place = Walk(RootFor(key), tokens);
  Node* node = place.node;
  if (place.tokens < SizeOf(tokens)) {
    if (place.tokens < node->to()) node = &SplitAt(*node, place.tokens);
    node = &AddLeaf(*node, tokens, id, now_us);
  }
  MoveLock(lock, node);
  EndTurn(*node, turn, now_us);
  if (store_.NeedsPoints()) AddPoint(*node, id, now_us);
}

// The upper half is a new node: locks and children stay with the lower one.
PrefixTree::Node& PrefixTree::SplitAt(Node& node, TokenCount at) {
  CAIRN_CHECK(node.from() < at && at < node.to());
  Withdraw(node);
  const auto count = (at - node.from()).value();
  auto upper = std::make_unique<Node>();
  Node& result = *upper;
  upper->tree = this;
  upper->parent = node.parent;
  upper->locks = node.locks;
  upper->pins = node.pins;
  upper->hash_before = node.hash_before;
  upper->tail = node.tail;
  EvictionEntry& other = IsMost(node, at) ? node.tail : upper->tail;
  other.path.watch = -1;
  other.path.ends_here = false;
  upper->tokens.assign(node.tokens.begin(), node.tokens.begin() + count);
  upper->rows = std::move(node.rows);
  node.rows = SplitRows(store_.layout(), upper->rows, at);
  node.tokens.erase(node.tokens.begin(), node.tokens.begin() + count);
  const auto below = std::ranges::find_if(
      node.points, [at](const auto& point) { return point->state.tokens > at; });
  std::move(node.points.begin(), below, std::back_inserter(upper->points));
  node.points.erase(node.points.begin(), below);

  std::unique_ptr<Node>& place = node.parent->children.at(upper->tokens.front());
  std::unique_ptr<Node> lower = std::exchange(place, std::move(upper));
  node.parent = &result;
  result.children.emplace(node.tokens.front(), std::move(lower));
  Identify(node);
  ++stats_.nodes;
  AddBranchPoint(result, node);
  Offer(result);
  Offer(node);
  return result;
}

// Where paths part a third one will. The lower point's windows often reach back that far, and then
// the point costs nothing.
void PrefixTree::AddBranchPoint(Node& upper, const Node& lower) {
  if (lower.points.empty() || !store_.CanResume(lower.points.front()->state, upper.to())) return;
  if (!upper.points.empty() && upper.points.back()->state.tokens == upper.to()) return;
  auto point = std::make_unique<Point>();
  point->state = store_.PointBefore(lower.points.front()->state, upper.to());
  point->entry.last_use_us = lower.points.front()->entry.last_use_us;
  point->entry.id = lower.hash_before;
  upper.points.push_back(std::move(point));
  ++stats_.points;
}

PrefixTree::Node& PrefixTree::AddLeaf(Node& parent, std::span<const TokenId> tokens, SequenceId id,
                                      int64_t now_us) {
  Withdraw(parent);  // it ends no path any more
  const std::span<const TokenId> added = From(tokens, parent.to());
  auto leaf = std::make_unique<Node>();
  Node& result = *leaf;
  leaf->tree = this;
  leaf->parent = &parent;
  leaf->tokens.assign(added.begin(), added.end());
  leaf->rows = store_.KeepRows(id, parent.to(), SizeOf(tokens));
  leaf->tail.last_use_us = now_us;
  if (parent.tail.path.ends_here) leaf->tail.path = parent.tail.path;
  Identify(*leaf);
  CAIRN_CHECK(parent.children.emplace(added.front(), std::move(leaf)).second);
  ++stats_.nodes;
  Offer(parent);
  return result;
}

void PrefixTree::AddPoint(Node& node, SequenceId id, int64_t now_us) {
  const TokenCount length = store_.Length(id);
  const auto at = std::ranges::lower_bound(node.points, length, {},
                                           [](const auto& p) { return p->state.tokens; });
  if (at != node.points.end() && (*at)->state.tokens == length) {
    Use((*at)->entry, now_us);
    return;
  }
  auto point = std::make_unique<Point>();
  point->state = store_.KeepPoint(id);
  point->entry.last_use_us = now_us;
  point->entry.id = HashTo(node, length);
  node.points.insert(at, std::move(point));
  ++stats_.points;
}

// ---- Locks ----

void PrefixTree::MoveLock(Lock& lock, Node* to) {
  for (Node* node = to; node != nullptr; node = node->parent) {
    if (node->locks++ == 0) Withdraw(*node);
  }
  Unlock(lock);
  lock.node_ = to;
}

// What lies behind the tokens isn't pinned with them.
TokenCount PrefixTree::PinPath(const StateKey& key, std::span<const TokenId> tokens, Lock& lock) {
  CAIRN_CHECK(!lock.held());
  Node* root = FindRoot(key);
  if (root == nullptr) return {};
  Place place = Walk(*root, tokens);
  if (place.node->to() - place.tokens >= kLeastSplit && place.tokens > place.node->from()) {
    place.node = &SplitAt(*place.node, place.tokens);
  }
  MoveLock(lock, place.node);
  lock.pins_ = true;
  for (Node* node = place.node; node != nullptr; node = node->parent) ++node->pins;
  return place.tokens;
}

// ---- Forgetting ----

Bytes PrefixTree::Forget(const StateKey& key, std::span<const TokenId> tokens) {
  const Bytes before = store_.available();
  Node* root = FindRoot(key);
  if (root == nullptr) return {};
  const Place place = Walk(*root, tokens);
  Node* node = place.node;
  if (place.tokens < SizeOf(tokens) || place.tokens < node->to()) return {};
  node = DropEnd(node, TokenCount(0));
  // Where the path was cut another may go on; else nothing may end without a point.
  for (Node* left = Prune(node); left != nullptr; left = left->parent) Offer(*left);
  return store_.available() - before;
}

// The end of a path that was read may be a token short of the tokens: an answer's last is never
// read.
Bytes PrefixTree::ForgetAll(const StateKey& key, std::span<const TokenId> tokens, TokenCount keep) {
  const Bytes before = store_.available();
  Node* root = FindRoot(key);
  if (root == nullptr) return {};
  const Place place = Walk(*root, tokens);
  Node* node = place.node;
  const bool goes_on = place.tokens == SizeOf(tokens);
  if (!goes_on && (place.tokens < node->to() || !node->children.empty())) return {};
  if (goes_on && place.tokens >= keep) DropBelow(*node);
  node = DropEnd(node, keep);
  for (Node* left = Prune(node); left != nullptr; left = left->parent) Offer(*left);
  return store_.available() - before;
}

// Unlocked ends one after another; what is left of the path.
PrefixTree::Node* PrefixTree::DropEnd(Node* node, TokenCount keep) {
  while (node->parent != nullptr && node->locks == 0 && node->children.empty() &&
         node->from() >= keep) {
    Node* const parent = node->parent;
    Withdraw(*node);
    stats_.points -= std::ssize(node->points);
    node->points.clear();
    DropLeaf(*node);
    node = parent;
  }
  return node;
}

// Paths may be long: from their ends, not each from within its parent. Where an end is locked, what
// leads to it stays.
void PrefixTree::DropBelow(Node& node) {
  std::vector<Node*> below;
  for (auto& [token, child] : node.children) below.push_back(child.get());
  for (size_t i = 0; i < below.size(); ++i) {
    for (auto& [token, child] : below[i]->children) below.push_back(child.get());
  }
  for (Node* each : std::views::reverse(below)) {
    if (each->locks > 0 || !each->children.empty()) continue;
    Withdraw(*each);
    stats_.points -= std::ssize(each->points);
    each->points.clear();
    DropLeaf(*each);
  }
}

void PrefixTree::ShareLock(const Lock& from, Lock& to) { MoveLock(to, from.node_); }

void PrefixTree::Unlock(Lock& lock) {
  Node* const end = std::exchange(lock.node_, nullptr);
  const bool pins = std::exchange(lock.pins_, false);
  for (Node* node = end; node != nullptr; node = node->parent) {
    --node->locks;
    if (pins) --node->pins;
  }
  for (Node* node = Prune(end); node != nullptr; node = node->parent) Offer(*node);
}

}  // namespace cairn
