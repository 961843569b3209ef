// Tier: a store below memory as the state manager sees it: what it holds, and what a read costs.
//
// Runs are looked for by key. An end can lie at any length, so the lengths are remembered here, by
// the tag of what is before; what is remembered and gone costs a lookup, and of too many the ones
// that were learned first are forgotten until somebody writes them again. After a failure of the
// medium nothing is read from it for a while. Same thread as the state.
#ifndef CAIRN_STATE_TIER_H_
#define CAIRN_STATE_TIER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/state/object_store.h"
#include "cairn/state/tier_objects.h"

namespace cairn {

class Tier {
 public:
  static constexpr size_t kMostEnds = size_t{1} << 19;  // some 100 bytes each

  // The store must outlive the tier, and nobody else polls it.
  Tier(std::string name, ObjectStore& store, size_t most_ends = kMostEnds);

  const std::string& name() const { return name_; }
  ObjectStore& store() const { return *store_; }

  // Whether the object is there and has the size that its key stands for.
  bool Has(const ObjectKey& key, Bytes size) const;
  // Lengths, longest first, at which an end may lie behind the tokens with this tag.
  std::vector<TokenCount> EndsBehind(uint64_t tag, TokenCount most) const;

  void Learn(const ObjectMetadata& metadata);
  // Of objects that other processes have put.
  void LearnArrivals();

  // Expected time of reading so many bytes in so many objects, from what was measured.
  double ReadTimeUs(Bytes bytes, int64_t objects) const;
  // Whether reads are tried at all.
  bool Readable(int64_t now_us) const { return now_us >= unreadable_until_us_; }
  void ReadFailed(int64_t now_us);
  // How long a read took beside what was expected; one that took longer makes the next look dearer.
  void NoteRead(double expected_us, double measured_us);
  // A read wasn't tried because it looked too dear. Lets a tier that was slow once look less dear
  // by and by, else nobody would ever see that it isn't any more.
  void NoteDeclined();

 private:
  std::string name_;
  ObjectStore* store_;
  void ForgetFirstEnd();

  size_t most_ends_;
  std::unordered_map<uint64_t, std::vector<TokenCount>> ends_;  // by tag, sorted
  std::deque<std::pair<uint64_t, TokenCount>> learned_;         // all of them, in this order
  int64_t unreadable_until_us_ = 0;
  double slowness_ = 1;  // measured over expected, smoothed
};

}  // namespace cairn

#endif  // CAIRN_STATE_TIER_H_
