// RecentTags: the last so many tags that were added, to tell what was once here from what was
// never.
#ifndef CAIRN_STATE_RECENT_TAGS_H_
#define CAIRN_STATE_RECENT_TAGS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace cairn {

// Not thread-safe.
class RecentTags {
 public:
  explicit RecentTags(size_t most) : most_(most) {}

  void Add(uint64_t tag) {
    if (!known_.insert(tag).second) return;
    if (ring_.size() < most_) {
      ring_.push_back(tag);
      return;
    }
    known_.erase(ring_[next_]);
    ring_[next_] = tag;
    next_ = (next_ + 1) % most_;
  }
  bool Contains(uint64_t tag) const { return known_.contains(tag); }

 private:
  const size_t most_;
  size_t next_ = 0;  // the oldest, once the ring is full
  std::vector<uint64_t> ring_;
  std::unordered_set<uint64_t> known_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_RECENT_TAGS_H_
