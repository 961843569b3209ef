#include "cairn/text/piece_merger.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>

namespace cairn {
namespace {

using Piece = PieceMerger::Piece;

std::vector<int32_t> Encode(const PieceMerger& merger, std::string_view text) {
  std::vector<TokenId> ids;
  merger.Encode(text, ids);
  std::vector<int32_t> values;
  values.reserve(ids.size());
  for (TokenId id : ids) values.push_back(id.value());
  return values;
}

// The definition, word by word: merge the best pair until there is none.
std::vector<int32_t> EncodeSlowly(const std::vector<Piece>& pieces, const std::string& text) {
  const auto find = [&](const std::string& wanted) -> const Piece* {
    for (const Piece& piece : pieces) {
      if (piece.text == wanted) return &piece;
    }
    return nullptr;
  };
  std::vector<std::string> symbols;
  for (char c : text) symbols.emplace_back(1, c);
  for (;;) {
    size_t best = symbols.size();
    float best_score = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const Piece* merged = find(symbols[i] + symbols[i + 1]);
      if (merged == nullptr || merged->score <= best_score) continue;
      best = i;
      best_score = merged->score;
    }
    if (best == symbols.size()) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  std::vector<int32_t> ids;
  ids.reserve(symbols.size());
  for (const std::string& symbol : symbols) ids.push_back(find(symbol)->id.value());
  return ids;
}

TEST_CASE("the highest score is merged first, and of equal ones the leftmost") {
  const std::vector<Piece> pieces = {{"a", TokenId(1), -9},  {"b", TokenId(2), -9},
                                     {"ab", TokenId(3), -2}, {"ba", TokenId(4), -1},
                                     {"aa", TokenId(5), -3}, {"aaa", TokenId(6), -4}};
  const PieceMerger merger(pieces);
  CHECK(Encode(merger, "aba") == std::vector<int32_t>{1, 4});
  CHECK(Encode(merger, "aaa") == std::vector<int32_t>{6});
  CHECK(Encode(merger, "aaaa") == std::vector<int32_t>{5, 5});
  CHECK(Encode(merger, "").empty());
}

TEST_CASE("random vocabularies and texts give what the definition gives") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts = {"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      texts.push_back(texts[random() % texts.size()] + texts[random() % texts.size()]);
    }
    std::vector<Piece> pieces;
    for (size_t i = 0; i < texts.size(); ++i) {
      const bool doubled = std::find(texts.begin(), texts.begin() + static_cast<ptrdiff_t>(i),
                                     texts[i]) != texts.begin() + static_cast<ptrdiff_t>(i);
      // Few scores, so that many are equal.
      const auto score = -static_cast<float>(random() % 4);
      if (!doubled) pieces.push_back({texts[i], TokenId(static_cast<int32_t>(i)), score});
    }
    std::string text;
    for (size_t size = random() % 40; text.size() < size;) text += "abc"[random() % 3];
    CHECK(Encode(PieceMerger(pieces), text) == EncodeSlowly(pieces, text));
  }
}

TEST_CASE("a character that is no piece becomes bytes, or else the unknown token") {
  const std::vector<Piece> pieces = {{"a", TokenId(1), 0}};
  PieceMerger merger(pieces);
  CHECK_FALSE(merger.CoversAllText());
  CHECK(Encode(merger, "a€").size() == 1);
  merger.SetUnknownToken(TokenId(7));
  CHECK(merger.CoversAllText());
  CHECK(Encode(merger, "a€b") == std::vector<int32_t>{1, 7, 7});
  for (int byte = 0; byte < 256; ++byte) {
    merger.SetByteToken(static_cast<uint8_t>(byte), TokenId(1000 + byte));
  }
  CHECK(Encode(merger, "a€b") ==
        std::vector<int32_t>{1, 1000 + 0xE2, 1000 + 0x82, 1000 + 0xAC, 1000 + 'b'});
}

TEST_CASE("empty and doubled pieces and scores that are no numbers do no harm") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<Piece> pieces = {{"a", TokenId(1), kNan},
                                     {"", TokenId(2), 0},
                                     {"a", TokenId(3), 0},
                                     {"aa", TokenId(4), kNan},
                                     {"aaaa", TokenId(5), kInfinity},
                                     {"aaa", TokenId(6), -kInfinity}};
  CHECK(Encode(PieceMerger(pieces), "aaaa") == std::vector<int32_t>{5});
}

TEST_CASE("a merger can be moved after its pieces are gone") {
  PieceMerger merger(std::vector<Piece>{});
  {
    const std::string text = "a";
    merger = PieceMerger(std::vector<Piece>{{text, TokenId(1), 0}});
  }
  const PieceMerger moved = std::move(merger);
  CHECK(Encode(moved, "aa") == std::vector<int32_t>{1, 1});
}

}  // namespace
}  // namespace cairn
