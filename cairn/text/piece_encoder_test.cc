#include "cairn/text/piece_encoder.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

// Pieces "▁" (1), "a" (2), "▁a" (3), "▁▁" (4); the control token <s> is 9.
std::vector<int32_t> Encode(PieceSpaces spaces, std::string_view text) {
  const std::vector<PieceMerger::Piece> pieces = {
      {"▁", TokenId(1), -4}, {"a", TokenId(2), -3}, {"▁a", TokenId(3), -1}, {"▁▁", TokenId(4), -2}};
  SpecialTokens special;
  special.Add("<s>", {.id = TokenId(9), .control = true, .strips_right = false});
  const PieceEncoder encoder(std::move(special), PieceMerger(pieces), spaces);
  const auto ids = encoder.Encode(text, /*parse_special=*/true);
  std::vector<int32_t> values;
  for (TokenId id : *ids) values.push_back(id.value());
  return values;
}

using Ids = std::vector<int32_t>;

TEST_CASE("spaces become markers, and nothing is added") {
  CHECK(Encode({}, "a a  a") == Ids{2, 3, 1, 3});
  CHECK(Encode({}, " ") == Ids{1});
  CHECK(Encode({}, "").empty());
}

TEST_CASE("a text, and text after a token, begins as if there were a space in front") {
  const PieceSpaces prefix = {.add_space_prefix = true};
  CHECK(Encode(prefix, "a") == Ids{3});
  CHECK(Encode(prefix, " a") == Ids{1, 3});
  CHECK(Encode(prefix, "a<s>aa<s>") == Ids{3, 9, 3, 2, 9});
  CHECK(Encode(prefix, "").empty());
}

TEST_CASE("extra white space is removed where the vocabulary was trained so") {
  const PieceSpaces remove = {.remove_extra_whitespaces = true};
  CHECK(Encode(remove, "  a   a ") == Ids{2, 3});
  CHECK(Encode(remove, "   ").empty());
}

}  // namespace
}  // namespace cairn
