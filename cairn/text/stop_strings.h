// Ends a streamed text at the first of several stop strings, also where one is spread over tokens.
//
// Text that may be the beginning of a stop string is held back until that is decided. The result
// doesn't depend on how the text is cut: the stop string that is complete first wins, of several
// complete at the same place the longest.
// Invariant: at most the longest stop string's size minus one byte is held back.
// Thread safety: none; one object per stream.
#ifndef CAIRN_TEXT_STOP_STRINGS_H_
#define CAIRN_TEXT_STOP_STRINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/status.h"

namespace cairn {

class StopStrings {
 public:
  // Every stop string must be non-empty UTF-8.
  static Result<StopStrings> Create(std::vector<std::string> stops);

  // The text that is certain to be before any stop string. Nothing once stopped().
  std::string Push(std::string_view text);
  // The end of the stream: what was held back, as no stop string followed.
  std::string Flush();

  bool stopped() const { return !matched_.empty(); }
  // The stop string that was found; empty before.
  const std::string& matched() const { return matched_; }

 private:
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // The longest stop string that `text` ends with; null if none.
  const std::string* StopAtEnd(std::string_view text) const;
  // How many bytes at the end of `text` begin a stop string.
  size_t HeldBackSize(std::string_view text) const;

  std::vector<std::string> stops_;  // longest first
  std::string held_;
  std::string matched_;
};

}  // namespace cairn

#endif  // CAIRN_TEXT_STOP_STRINGS_H_
