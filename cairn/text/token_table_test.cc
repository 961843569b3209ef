#include "cairn/text/token_table.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

TEST_CASE("a token has its text, its bytes and its kind") {
  TokenTable table(1);
  table.Add("Ġa", " a", false);
  table.Add("", "", false);
  table.Add("<s>", "<s>", true);
  CHECK(table.size() == 3);
  CHECK(table.leading_spaces_dropped() == 1);
  CHECK(table.Text(TokenId(0)) == "Ġa");
  CHECK(table.Bytes(TokenId(0)) == " a");
  CHECK_FALSE(table.IsSpecial(TokenId(0)));
  CHECK(table.IsSpecial(TokenId(2)));
}

TEST_CASE("ids without a token have no text and are not special") {
  TokenTable table;
  table.Add("a", "a", true);
  for (int32_t id : {-1, 1, 2'000'000'000}) {
    CHECK(table.Text(TokenId(id)).empty());
    CHECK(table.Bytes(TokenId(id)).empty());
    CHECK_FALSE(table.IsSpecial(TokenId(id)));
  }
}

TEST_CASE("a token is found by its text, the first of several") {
  TokenTable table;
  table.Add("", "", false);
  table.Add("a", "b", false);
  table.Add("a", "c", false);
  CHECK(table.FindText("a") == TokenId(1));
  CHECK(table.FindText("b") == std::nullopt);
  CHECK(table.FindText("") == std::nullopt);
}

}  // namespace
}  // namespace cairn
