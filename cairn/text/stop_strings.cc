#include "cairn/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "cairn/text/utf8.h"

namespace cairn {

Result<StopStrings> StopStrings::Create(std::vector<std::string> stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) return Fail(ErrorCode::kInvalidArgument, "a stop string is empty");
    if (FindInvalidUtf8(stop) != std::string_view::npos) {
      return Fail(ErrorCode::kInvalidArgument, "a stop string is not UTF-8");
    }
  }
  std::ranges::sort(stops, std::ranges::greater(), &std::string::size);
  return StopStrings(std::move(stops));
}

std::string StopStrings::Push(std::string_view text) {
  if (stopped()) return {};
  std::string seen = std::exchange(held_, {});
  const size_t first_new = seen.size();
  seen.append(text);
  for (size_t end = first_new + 1; end <= seen.size(); ++end) {
    const std::string* stop = StopAtEnd(std::string_view(seen).substr(0, end));
    if (stop == nullptr) continue;
    matched_ = *stop;
    seen.resize(end - stop->size());
    return seen;
  }
  const size_t held_size = HeldBackSize(seen);
  held_ = seen.substr(seen.size() - held_size);
  seen.resize(seen.size() - held_size);
  return seen;
}

std::string StopStrings::Flush() { return std::exchange(held_, {}); }

const std::string* StopStrings::StopAtEnd(std::string_view text) const {
  const auto found = std::ranges::find_if(
      stops_, [text](const std::string& stop) { return text.ends_with(stop); });
  return found == stops_.end() ? nullptr : &*found;
}

size_t StopStrings::HeldBackSize(std::string_view text) const {
  const size_t longest = stops_.empty() ? 0 : stops_.front().size();
  for (size_t size = std::min(text.size(), longest); size > 0; --size) {
    const std::string_view end = text.substr(text.size() - size);
    const bool begins_stop = std::ranges::any_of(
        stops_, [end](const std::string& stop) { return stop.starts_with(end); });
    if (begins_stop) return size;
  }
  return 0;
}

}  // namespace cairn
