#include "cairn/text/piece_encoder.h"

namespace cairn {
namespace {

constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";  // U+2581
// Spaces triple in size, and there may be one more.
constexpr size_t kMaxTextBytes = PieceMerger::kMaxTextBytes / kSpaceMarker.size() - 1;

std::string WithoutExtraSpaces(std::string_view text) {
  std::string result;
  for (char c : text) {
    const bool extra = c == ' ' && (result.empty() || result.back() == ' ');
    if (!extra) result.push_back(c);
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

}  // namespace

Result<std::vector<TokenId>> PieceEncoder::Encode(std::string_view text, bool parse_special) const {
  if (text.size() > kMaxTextBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the text has {} bytes; at most {} can be encoded",
                text.size(), kMaxTextBytes);
  }
  std::vector<TokenId> ids;
  bool after_token = true;
  for (const SpecialTokens::Part& part : special_tokens_.Split(text, parse_special)) {
    if (part.id) {
      ids.push_back(*part.id);
    } else {
      const bool add_prefix = spaces_.add_space_prefix && after_token;
      std::string piece_text = add_prefix ? std::string(kSpaceMarker) : std::string();
      piece_text += WithMarkers(part.text);
      merger_.Encode(piece_text, ids);
    }
    after_token = part.id.has_value();
  }
  return ids;
}

std::string PieceEncoder::WithMarkers(std::string_view text) const {
  std::string kept;
  if (spaces_.remove_extra_whitespaces) {
    kept = WithoutExtraSpaces(text);
    text = kept;
  }
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (char c : text) {
    if (c == ' ') {
      result += kSpaceMarker;
    } else {
      result.push_back(c);
    }
  }
  return result;
}

}  // namespace cairn
