#include "cairn/text/special_tokens.h"

#include <algorithm>
#include <functional>

namespace cairn {
namespace {

size_t WhiteSpaceSize(std::string_view text) {
  const size_t end = text.find_first_not_of(" \t\n\v\f\r");
  return end == std::string_view::npos ? text.size() : end;
}

}  // namespace

void SpecialTokens::Add(std::string_view text, Entry entry) {
  if (text.empty() || !entries_.emplace(text, entry).second) return;
  std::vector<uint32_t>& sizes = sizes_by_first_byte_[static_cast<uint8_t>(text[0])];
  const auto size = static_cast<uint32_t>(text.size());
  const auto place = std::lower_bound(sizes.begin(), sizes.end(), size, std::greater<>());
  if (place == sizes.end() || *place != size) sizes.insert(place, size);
}

std::optional<SpecialTokens::Match> SpecialTokens::LongestAt(std::string_view text,
                                                             bool parse_control) const {
  for (uint32_t size : sizes_by_first_byte_[static_cast<uint8_t>(text[0])]) {
    if (size > text.size()) continue;
    const auto found = entries_.find(text.substr(0, size));
    if (found == entries_.end() || (found->second.control && !parse_control)) continue;
    return Match{&found->second, size};
  }
  return std::nullopt;
}

std::vector<SpecialTokens::Part> SpecialTokens::Split(std::string_view text,
                                                      bool parse_control) const {
  std::vector<Part> parts;
  size_t plain_begin = 0;
  size_t offset = 0;
  while (offset < text.size()) {
    const auto match = LongestAt(text.substr(offset), parse_control);
    if (!match) {
      ++offset;
      continue;
    }
    if (plain_begin < offset) {
      parts.push_back({std::nullopt, text.substr(plain_begin, offset - plain_begin)});
    }
    parts.push_back({match->entry->id, text.substr(offset, match->size)});
    offset += match->size;
    if (match->entry->strips_right) offset += WhiteSpaceSize(text.substr(offset));
    plain_begin = offset;
  }
  if (plain_begin < text.size()) parts.push_back({std::nullopt, text.substr(plain_begin)});
  return parts;
}

}  // namespace cairn
