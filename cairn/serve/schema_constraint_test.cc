#include "cairn/serve/schema_constraint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cairn/text/token_table.h"

namespace cairn {
namespace {

constexpr int32_t kEnd = 256;

// A token for each byte, and the end.
TokenTable Bytes() {
  TokenTable table;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    table.Add(text, text, false);
  }
  table.Add("<end>", "<end>", true);
  return table;
}

struct Grammar {
  Grammar() : factory(*RustGrammarFactory::Make(Bytes(), TokenId(kEnd))) {}
  ApiResult<std::unique_ptr<TokenConstraint>> Follow(std::string_view schema) {
    return SchemaConstraint::Make(factory, TokenId(kEnd), schema, "response_format");
  }
  RustGrammarFactory factory;
};

// Which tokens of the vocabulary, and some beyond it, may come.
std::vector<int32_t> Allowed(TokenConstraint& constraint) {
  std::vector<float> logits(300, 1);
  constraint.Restrict(logits);
  std::vector<int32_t> allowed;
  for (int32_t id = 0; id < 300; ++id) {
    if (!std::isinf(logits[static_cast<size_t>(id)])) allowed.push_back(id);
  }
  return allowed;
}

void AcceptAll(TokenConstraint& constraint, std::string_view text) {
  for (const char c : text) {
    const auto id = static_cast<int32_t>(static_cast<unsigned char>(c));
    const std::vector<int32_t> allowed = Allowed(constraint);
    CHECK(std::ranges::find(allowed, id) != allowed.end());
    constraint.Accept(TokenId(id));
  }
}

constexpr std::string_view kSchema =
    R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],)"
    R"("additionalProperties":false})";

TEST_CASE("only what the schema allows may come, and at its end only the end") {
  Grammar grammar;
  auto made = grammar.Follow(kSchema);
  REQUIRE(made);
  TokenConstraint& constraint = **made;
  CHECK(Allowed(constraint) == std::vector<int32_t>{'{'});
  AcceptAll(constraint, "{\"ok\": ");
  CHECK(Allowed(constraint) == std::vector<int32_t>{'f', 't'});
  AcceptAll(constraint, "true}");
  CHECK(Allowed(constraint) == std::vector<int32_t>{kEnd});
  constraint.Accept(TokenId(kEnd));
  CHECK(Allowed(constraint) == std::vector<int32_t>{kEnd});
}

TEST_CASE("a copy goes on by itself") {
  Grammar grammar;
  auto made = grammar.Follow(kSchema);
  AcceptAll(**made, "{\"ok\": t");
  const std::unique_ptr<TokenConstraint> copy = (*made)->Clone();
  AcceptAll(*copy, "rue}");
  CHECK(Allowed(*copy) == std::vector<int32_t>{kEnd});
  CHECK(Allowed(**made) == std::vector<int32_t>{'r'});
}

TEST_CASE("an answer that left the grammar can only end") {
  Grammar grammar;
  auto made = grammar.Follow(kSchema);
  (*made)->Accept(TokenId('x'));
  CHECK(Allowed(**made) == std::vector<int32_t>{kEnd});
}

TEST_CASE("what is no schema, or can't be followed, is refused with the field's name") {
  Grammar grammar;
  for (const char* schema : {"[]", R"({"type":"nothing"})", R"({"type":"string","pattern":"("})",
                             R"({"$ref":"https://example.invalid/schema"})"}) {
    const auto made = grammar.Follow(schema);
    REQUIRE_FALSE(made);
    CHECK(made.error().param == "response_format");
  }
}

TEST_CASE("a vocabulary without the end is refused") {
  CHECK_FALSE(RustGrammarFactory::Make(Bytes(), TokenId(257)));
}

}  // namespace
}  // namespace cairn
