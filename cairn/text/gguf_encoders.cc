#include "cairn/text/gguf_encoders.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "cairn/text/piece_encoder.h"
#include "cairn/text/rust_encoder.h"

namespace cairn {
namespace {

constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";  // U+2581

TokenId IdOf(size_t index) { return TokenId(static_cast<int32_t>(index)); }

std::string Replace(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  for (size_t at = result.find(from); at != std::string::npos; at = result.find(from, at)) {
    result.replace(at, from.size(), to);
    at += to.size();
  }
  return result;
}

// Byte tokens are written <0x00> to <0xFF>.
Result<uint8_t> FallbackByte(const GgufVocabulary& vocabulary, size_t index) {
  const std::string_view text = vocabulary.tokens[index];
  uint8_t byte = 0;
  if (text.size() == 6 && text.starts_with("<0x") && text.ends_with('>')) {
    const char* end = text.data() + 5;
    if (std::from_chars(text.data() + 3, end, byte, 16).ptr == end) return byte;
  }
  return Fail(ErrorCode::kCorrupt,
              "{}: token {} has the type of a byte, but its text is not <0xNN>", vocabulary.where,
              index);
}

SpecialTokens ReadSpecialTokens(const GgufVocabulary& vocabulary) {
  // Phi-3's control tokens take white space after them along; the file has no other sign of it.
  const std::string_view name = vocabulary.general_name;
  const bool is_phi3 =
      name.starts_with("Phi3") || name.starts_with("Phi-3") || name.starts_with("Phi 3");
  SpecialTokens tokens;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const bool user_defined = vocabulary.TypeOf(i) == GgufTokenType::kUserDefined;
    if (!user_defined && !vocabulary.IsControl(i)) continue;
    const std::string_view text = vocabulary.tokens[i];
    const bool plain = text == "<s>" || text == "<unk>" || text == "<|endoftext|>";
    tokens.Add(text, {.id = IdOf(i), .control = !user_defined, .strips_right = is_phi3 && !plain});
  }
  // Runs of spaces were runs of markers in the original, and match those as well.
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string_view text = vocabulary.tokens[i];
    if (vocabulary.TypeOf(i) != GgufTokenType::kUserDefined) continue;
    if (text.find_first_not_of(' ') != std::string_view::npos) continue;
    tokens.Add(Replace(text, " ", kSpaceMarker),
               {.id = IdOf(i), .control = false, .strips_right = false});
  }
  return tokens;
}

// The token that stands for what has no other: the one that is named, or else the first.
std::optional<TokenId> UnknownToken(const GgufVocabulary& vocabulary) {
  const auto count = static_cast<int64_t>(vocabulary.tokens.size());
  const int64_t id = vocabulary.unk_id.value_or(0);
  if (id < 0 || id >= count || !vocabulary.IsControl(static_cast<size_t>(id))) return std::nullopt;
  return TokenId(static_cast<int32_t>(id));
}

Result<PieceMerger> ReadPieces(const GgufVocabulary& vocabulary, TokenTable& table) {
  std::vector<PieceMerger::Piece> pieces;
  pieces.reserve(vocabulary.tokens.size());
  std::vector<std::pair<uint8_t, TokenId>> bytes;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string_view text = vocabulary.tokens[i];
    const GgufTokenType type = vocabulary.TypeOf(i);
    if (vocabulary.IsControl(i) || type == GgufTokenType::kUserDefined) {
      table.Add(text, text, vocabulary.IsControl(i));
    } else if (type == GgufTokenType::kByte) {
      CAIRN_ASSIGN(const uint8_t byte, FallbackByte(vocabulary, i));
      bytes.emplace_back(byte, IdOf(i));
      const char decoded = static_cast<char>(byte);
      table.Add(text, {&decoded, 1}, false);
    } else {
      pieces.push_back({text, IdOf(i), vocabulary.scores[i]});
      table.Add(text, Replace(text, kSpaceMarker, " "), false);
    }
  }
  PieceMerger merger(pieces);
  for (const auto& [byte, id] : bytes) merger.SetByteToken(byte, id);
  if (const auto unknown = UnknownToken(vocabulary)) merger.SetUnknownToken(*unknown);
  return merger;
}

}  // namespace

Result<GgufEncoder> MergesFromGguf(const GgufVocabulary& vocabulary,
                                   const PreTokenizer& pre_tokenizer) {
  if (vocabulary.merges.empty()) {
    return Fail(ErrorCode::kCorrupt, "{}: tokenizer.ggml.merges is missing or empty",
                vocabulary.where);
  }
  using Kind = RustTokenizer::TokenKind;
  std::vector<Kind> kinds;
  kinds.reserve(vocabulary.tokens.size());
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const bool user_defined = vocabulary.TypeOf(i) == GgufTokenType::kUserDefined;
    const Kind matched = user_defined ? Kind::kUserDefined : Kind::kNormal;
    kinds.push_back(vocabulary.IsControl(i) ? Kind::kSpecial : matched);
  }
  auto tokenizer = RustTokenizer::FromBpe(SettingsJson(pre_tokenizer), vocabulary.tokens, kinds,
                                          vocabulary.merges);
  if (!tokenizer) {
    return Fail(tokenizer.error().code, "{}: the tokenizer's vocabulary is wrong: {}",
                vocabulary.where, tokenizer.error().message);
  }
  CAIRN_ASSIGN(TokenTable table, tokenizer->Table());
  return GgufEncoder{std::make_unique<RustEncoder>(std::move(*tokenizer)), std::move(table)};
}

Result<GgufEncoder> PiecesFromGguf(const GgufVocabulary& vocabulary) {
  if (vocabulary.scores.empty()) {
    return Fail(ErrorCode::kCorrupt, "{}: tokenizer.ggml.scores is missing or empty",
                vocabulary.where);
  }
  const PieceSpaces spaces = {
      .add_space_prefix = vocabulary.add_space_prefix.value_or(true),
      .remove_extra_whitespaces = vocabulary.remove_extra_whitespaces.value_or(false)};
  TokenTable table(spaces.add_space_prefix ? 1 : 0);
  CAIRN_ASSIGN(PieceMerger merger, ReadPieces(vocabulary, table));
  if (!merger.CoversAllText()) {
    return Fail(ErrorCode::kCorrupt,
                "{}: the vocabulary has neither tokens for all bytes nor an unknown token",
                vocabulary.where);
  }
  auto encoder =
      std::make_unique<PieceEncoder>(ReadSpecialTokens(vocabulary), std::move(merger), spaces);
  return GgufEncoder{std::move(encoder), std::move(table)};
}

}  // namespace cairn
