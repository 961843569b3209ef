#include "cairn/text/end_of_generation.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

using Ids = std::vector<TokenId>;

TEST_CASE("what the file names and what is known by its text end an answer, but text does not") {
  TokenTable table;
  table.Add("<|im_end|>", "<|im_end|>", true);
  table.Add("<|eot_id|>", "<|eot_id|>", false);  // a normal token that only looks like one
  table.Add("<end_of_turn>", "<end_of_turn>", true);
  table.Add("<other>", "<other>", true);
  table.Add("x", "x", false);
  CHECK(EndOfGenerationTokens(table, {}) == Ids{TokenId(0), TokenId(2)});
  CHECK(EndOfGenerationTokens(table, {TokenId(4), TokenId(0), TokenId(4)}) ==
        Ids{TokenId(0), TokenId(2), TokenId(4)});
}

TEST_CASE("where a turn has several messages, the end of a message ends nothing") {
  TokenTable table;
  table.Add("<|end|>", "<|end|>", true);
  CHECK(EndOfGenerationTokens(table, {}) == Ids{TokenId(0)});
  table.Add("<|return|>", "<|return|>", true);
  CHECK(EndOfGenerationTokens(table, {}) == Ids{TokenId(1)});
}

TEST_CASE("where </s> is text, it ends nothing") {
  TokenTable table;
  table.Add("</s>", "</s>", true);
  CHECK(EndOfGenerationTokens(table, {}) == Ids{TokenId(0)});
  table.Add("<|tool_response>", "<|tool_response>", true);
  CHECK(EndOfGenerationTokens(table, {}) == Ids{TokenId(1)});
}

}  // namespace
}  // namespace cairn
