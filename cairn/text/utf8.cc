#include "cairn/text/utf8.h"

#include <cstdint>

namespace cairn {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class CharacterState { kComplete, kInvalid, kIncomplete };

struct Character {
  CharacterState state;
  size_t size;  // of the character, or of its longest valid prefix (at least 1)
};

struct ByteRange {
  uint8_t low;
  uint8_t high;
};

bool Contains(ByteRange range, char byte) {
  const auto value = static_cast<uint8_t>(byte);
  return range.low <= value && value <= range.high;
}

// What may follow `lead` as the second byte: no overlong forms, surrogates or values over U+10FFFF.
ByteRange SecondByte(uint8_t lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

size_t CharacterSize(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

Character FirstCharacter(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t size = CharacterSize(lead);
  if (size == 0) return {CharacterState::kInvalid, 1};
  ByteRange allowed = SecondByte(lead);
  for (size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {CharacterState::kIncomplete, i};
    if (!Contains(allowed, text[i])) return {CharacterState::kInvalid, i};
    allowed = {0x80, 0xBF};
  }
  return {CharacterState::kComplete, size};
}

}  // namespace

size_t FindInvalidUtf8(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Character character = FirstCharacter(text.substr(offset));
    if (character.state != CharacterState::kComplete) return offset;
    offset += character.size;
  }
  return std::string_view::npos;
}

std::string ForMessage(std::string_view text) {
  constexpr size_t kLongest = 60;
  Utf8Stream stream;
  std::string result = stream.Push(text.substr(0, kLongest));
  for (char& c : result) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return text.size() > kLongest ? result + "..." : result + stream.Flush();
}

std::string Utf8Stream::Push(std::string_view bytes) {
  pending_.append(bytes);
  std::string text;
  text.reserve(pending_.size());
  size_t offset = 0;
  while (offset < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(offset);
    const Character character = FirstCharacter(rest);
    if (character.state == CharacterState::kIncomplete) break;
    const bool complete = character.state == CharacterState::kComplete;
    text.append(complete ? rest.substr(0, character.size) : kReplacement);
    offset += character.size;
  }
  pending_.erase(0, offset);
  return text;
}

std::string Utf8Stream::Flush() {
  // What is pending is the prefix of one character.
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string(kReplacement) : std::string();
}

}  // namespace cairn
