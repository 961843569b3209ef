#include "cairn/eval/excerpt.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace cairn {

TEST_CASE("the built-in text is plain ASCII prose, long enough for a context of 2,048 tokens") {
  const std::string_view text = EvalExcerpt();
  CHECK(text.starts_with("To the Senate"));
  CHECK(text.ends_with(".\n"));
  CHECK(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  CHECK(text.size() > 13'000);  // a token of English is 4 to 5 letters
}

}  // namespace cairn
