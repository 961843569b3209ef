// GhostList: what a policy remembers of the things that are gone, found by their ids.
//
// Holds so many at most; the oldest is forgotten first. O(1).
#ifndef CAIRN_STATE_GHOST_LIST_H_
#define CAIRN_STATE_GHOST_LIST_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace cairn {

template <class T>
class GhostList {
 public:
  explicit GhostList(size_t most) : most_(most) {}

  // Replaces what is remembered of the id.
  void Add(uint64_t id, T value) {
    Take(id);
    if (by_age_.size() == most_) {
      by_id_.erase(by_age_.front().first);
      by_age_.pop_front();
    }
    by_age_.emplace_back(id, std::move(value));
    by_id_.emplace(id, std::prev(by_age_.end()));
  }

  // Once: then it is forgotten.
  std::optional<T> Take(uint64_t id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return std::nullopt;
    T value = std::move(found->second->second);
    by_age_.erase(found->second);
    by_id_.erase(found);
    return value;
  }

  size_t size() const { return by_age_.size(); }

 private:
  using Ages = std::list<std::pair<uint64_t, T>>;

  const size_t most_;
  Ages by_age_;
  std::unordered_map<uint64_t, typename Ages::iterator> by_id_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_GHOST_LIST_H_
