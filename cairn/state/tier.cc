#include "cairn/state/tier.h"

#include <algorithm>

namespace cairn {
namespace {

// Until a store has measured its own: a slow disk's rate, so that a first read disappoints nobody.
constexpr double kAssumedBytesPerSecond = 150e6;
constexpr double kObjectUs = 200;  // a request's way through queues and threads
constexpr int64_t kPauseAfterFailureUs = 5'000'000;
// Behind one tag: more than a run has. Who writes to a shared store could send any number.
constexpr size_t kMostLengths = 1024;
constexpr double kSmoothing = 0.25;
// A try in some hundred reads that are declined costs less than a hundredth.
constexpr double kForgetting = 0.02;

}  // namespace

Tier::Tier(std::string name, ObjectStore& store, size_t most_ends)
    : name_(std::move(name)), store_(&store), most_ends_(most_ends) {
  for (const ObjectInfo& info : store.List()) Learn(info.metadata);
}

bool Tier::Has(const ObjectKey& key, Bytes size) const {
  const std::optional<ObjectInfo> info = store_->Find(key);
  return info.has_value() && info->size == size;
}

std::vector<TokenCount> Tier::EndsBehind(uint64_t tag, TokenCount most) const {
  std::vector<TokenCount> ends;
  const auto found = ends_.find(tag);
  if (found == ends_.end()) return ends;
  for (const TokenCount end : found->second) {
    if (end <= most) ends.push_back(end);
  }
  std::ranges::reverse(ends);
  return ends;
}

void Tier::Learn(const ObjectMetadata& metadata) {
  const std::optional<TierObject> object = TierObjectOf(metadata);
  if (!object || object->kind != TierObjectKind::kEnd) return;
  std::vector<TokenCount>& ends = ends_[object->before];
  const auto at = std::ranges::lower_bound(ends, object->to);
  if (at != ends.end() && *at == object->to) return;
  if (ends.size() >= kMostLengths) return;
  ends.insert(at, object->to);
  learned_.emplace_back(object->before, object->to);
  if (learned_.size() > most_ends_) ForgetFirstEnd();
}

void Tier::ForgetFirstEnd() {
  const auto [tag, length] = learned_.front();
  learned_.pop_front();
  const auto found = ends_.find(tag);
  std::erase(found->second, length);
  if (found->second.empty()) ends_.erase(found);
}

void Tier::LearnArrivals() {
  for (const ObjectInfo& info : store_->Arrivals()) Learn(info.metadata);
}

double Tier::ReadTimeUs(Bytes bytes, int64_t objects) const {
  const double measured = store_->Stats().read_bytes_per_second;
  const double rate = measured > 0 ? measured : kAssumedBytesPerSecond;
  const double us =
      static_cast<double>(bytes.value()) / rate * 1e6 + kObjectUs * static_cast<double>(objects);
  return us * slowness_;
}

void Tier::ReadFailed(int64_t now_us) { unreadable_until_us_ = now_us + kPauseAfterFailureUs; }

void Tier::NoteRead(double expected_us, double measured_us) {
  const double seen = slowness_ * measured_us / std::max(expected_us, 1.0);
  slowness_ += kSmoothing * (std::clamp(seen, 0.25, 16.0) - slowness_);
}

void Tier::NoteDeclined() {
  if (slowness_ > 1) slowness_ += kForgetting * (1 - slowness_);
}

}  // namespace cairn
