#include "cairn/state/redis_mirror.h"

#include <fmt/format.h>

#include <charconv>

#include "cairn/base/check.h"

namespace cairn {
namespace {

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string StreamId::Text() const { return fmt::format("{}-{}", milliseconds, number); }

std::optional<StreamId> StreamId::Parse(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto milliseconds = ParseNumber(text.substr(0, dash));
  const auto number = ParseNumber(text.substr(dash + 1));
  if (!milliseconds || !number) return std::nullopt;
  return StreamId{*milliseconds, *number};
}

bool RedisMirror::IsNews(const ObjectKey& key, StreamId id) const {
  const auto erased = erased_.find(key);
  if (erased != erased_.end() && erased->second >= id) return false;
  const auto entry = entries_.find(key);
  return entry == entries_.end() || entry->second.as_of < id;
}

void RedisMirror::Follow(const Event& event) {
  cursor_ = event.id;
  const ObjectKey& key = event.entry.key;
  if (IsNews(key, event.id)) {
    const auto known = entries_.find(key);
    const bool is_new = known == entries_.end();
    if (event.entry.kind == IndexEntry::Kind::kPut && event.exists) {
      Insert({key, event.entry.metadata, Bytes(static_cast<int64_t>(event.entry.payload_bytes))},
             event.id);
      if (is_new && event.entry.source != own_) arrived_.insert(key);
    } else if (!is_new) {
      Remove(known);
    }
  }
  // An erasure that the cursor has passed needs no mark any more.
  const auto erased = erased_.find(key);
  if (erased != erased_.end() && erased->second <= cursor_) erased_.erase(erased);
}

void RedisMirror::Reset() {
  cursor_ = {};
  checked_ = {};
  entries_.clear();
  order_.clear();
  erased_.clear();
  arrived_.clear();
  object_bytes_ = 0;
}

void RedisMirror::PutHere(const ObjectInfo& info, StreamId id) {
  // The cursor may have passed it: then all that came after is known, too.
  if (id > cursor_ && IsNews(info.key, id)) Insert(info, id);
}

void RedisMirror::ErasedHere(const ObjectKey& key, StreamId id) {
  if (id <= cursor_ || !IsNews(key, id)) return;
  if (const auto entry = entries_.find(key); entry != entries_.end()) Remove(entry);
  // Marks beyond any reason mean a server that lies: what is forgotten here costs misses at most.
  if (erased_.size() >= objects_max_) erased_.clear();
  erased_[key] = id;
}

bool RedisMirror::Gone(const ObjectKey& key, StreamId as_of) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.as_of != as_of) return false;
  Remove(entry);
  return true;
}

void RedisMirror::Unhide(const ObjectKey& key) {
  const auto hidden = hidden_.find(key);
  CAIRN_CHECK(hidden != hidden_.end());
  if (--hidden->second == 0) hidden_.erase(hidden);
}

std::optional<RedisMirror::Found> RedisMirror::Find(const ObjectKey& key) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || hidden_.contains(key)) return std::nullopt;
  return Found{entry->second.info, entry->second.as_of};
}

std::vector<ObjectInfo> RedisMirror::List() const {
  std::vector<ObjectInfo> list;
  list.reserve(entries_.size());
  for (const auto& [id, key] : order_) {
    if (!hidden_.contains(key)) list.push_back(entries_.at(key).info);
  }
  return list;
}

std::vector<std::pair<ObjectKey, StreamId>> RedisMirror::NextToCheck(size_t most) {
  std::vector<std::pair<ObjectKey, StreamId>> next;
  auto at = order_.upper_bound(checked_);
  for (; at != order_.end() && next.size() < most; ++at) {
    next.emplace_back(at->second, at->first);
    checked_ = *at;
  }
  if (at == order_.end()) checked_ = {};
  return next;
}

std::vector<ObjectInfo> RedisMirror::TakeArrivals() {
  std::vector<ObjectInfo> arrivals;
  for (auto at = arrived_.begin(); at != arrived_.end();) {
    if (hidden_.contains(*at)) {  // it may come back when the erasure fails
      ++at;
      continue;
    }
    if (const auto entry = entries_.find(*at); entry != entries_.end()) {
      arrivals.push_back(entry->second.info);
    }
    at = arrived_.erase(at);
  }
  return arrivals;
}

void RedisMirror::Insert(const ObjectInfo& info, StreamId id) {
  if (const auto known = entries_.find(info.key); known != entries_.end()) {
    const bool had_arrived = arrived_.contains(info.key);
    Remove(known);
    if (had_arrived) arrived_.insert(info.key);
  }
  if (entries_.size() >= objects_max_) Remove(entries_.find(order_.begin()->second));
  entries_.emplace(info.key, Entry{info, id});
  order_.emplace(id, info.key);
  object_bytes_ += static_cast<uint64_t>(info.size.value());
}

void RedisMirror::Remove(std::unordered_map<ObjectKey, Entry>::iterator entry) {
  object_bytes_ -= static_cast<uint64_t>(entry->second.info.size.value());
  order_.erase({entry->second.as_of, entry->first});
  arrived_.erase(entry->first);
  entries_.erase(entry);
}

void RedisMirror::Audit() const {
  CAIRN_CHECK(entries_.size() <= objects_max_);
  CAIRN_CHECK(order_.size() == entries_.size());
  CAIRN_CHECK(erased_.size() <= objects_max_);
  uint64_t bytes = 0;
  for (const auto& [id, key] : order_) {
    const auto entry = entries_.find(key);
    CAIRN_CHECK(entry != entries_.end());
    CAIRN_CHECK(entry->second.as_of == id);
    CAIRN_CHECK(entry->second.info.key == key);
    bytes += static_cast<uint64_t>(entry->second.info.size.value());
  }
  CAIRN_CHECK(bytes == object_bytes_);
  for (const ObjectKey& key : arrived_) CAIRN_CHECK(entries_.contains(key));
}

}  // namespace cairn
