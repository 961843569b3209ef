// Vocabularies that contradict themselves.
#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "cairn/text/tokenizer.h"
#include "cairn/text/utf8.h"
#include "cairn/text/vocabularies_for_tests.h"

namespace cairn {
namespace {

using Change = void (*)(VocabularyForTests&);

struct BadCase {
  const char* what;
  Change change;
  const char* message;  // a part of the error
};

const BadCase kBadForBoth[] = {
    {"no tokens", [](VocabularyForTests& v) { v->tokens.clear(); }, "tokens has 0"},
    {"fewer types", [](VocabularyForTests& v) { v->token_types.pop_back(); }, "token_type has"},
    {"more scores", [](VocabularyForTests& v) { v->scores.push_back(0); }, "scores has"},
    {"unknown model", [](VocabularyForTests& v) { v->model = "bert"; }, "\"bert\""},
    {"BOS outside", [](VocabularyForTests& v) { v->bos_id = 1'000'000; },
     "bos_token_id is 1000000"},
    {"EOS negative", [](VocabularyForTests& v) { v->eos_id = -7; }, "eos_token_id is -7"},
    {"EOT outside", [](VocabularyForTests& v) { v->eot_id = 1'000'000; }, "eot_token_id"},
    {"EOM outside", [](VocabularyForTests& v) { v->eom_id = 1LL << 40; }, "eom_token_id"},
    {"EOS wanted, but none",
     [](VocabularyForTests& v) {
       v->add_eos = true;
       v->eos_id = 4294967295;
     },
     "add_eos_token is true"},
    {"BOS wanted, but none",
     [](VocabularyForTests& v) {
       v->add_bos = true;
       v->bos_id = 4294967295;
     },
     "add_bos_token is true"},
};

const BadCase kBadMerges[] = {
    {"no merges", [](VocabularyForTests& v) { v->merges.clear(); }, "merges is missing"},
    {"a merge of one token", [](VocabularyForTests& v) { v->merges.push_back("he"); }, "merge 9"},
    {"an empty merge", [](VocabularyForTests& v) { v->merges.push_back(""); }, "merge 9"},
    {"a merge of a space", [](VocabularyForTests& v) { v->merges.push_back(" "); }, "merge 9"},
    {"a merge without a right side", [](VocabularyForTests& v) { v->merges.push_back("h "); },
     "merge 9"},
    {"a merge of unknown tokens", [](VocabularyForTests& v) { v->merges.push_back("x yz"); }, "yz"},
    {"a merge into no token", [](VocabularyForTests& v) { v->merges.push_back("x x"); }, "xx"},
    {"a token that is no UTF-8", [](VocabularyForTests& v) { v->tokens[3] = "\xFF"; }, "token 3"},
    {"a merge that is no UTF-8", [](VocabularyForTests& v) { v->merges[0] = "\xFF a"; }, "merge 0"},
    {"unknown pre-tokenizer", [](VocabularyForTests& v) { v->pre = "nope"; }, "\"nope\""},
};

const BadCase kBadPieces[] = {
    {"no scores", [](VocabularyForTests& v) { v->scores.clear(); }, "scores is missing"},
    {"a byte token of two letters",
     [](VocabularyForTests& v) { v.Add("ab", GgufTokenType::kByte); }, "type of a byte"},
    {"a byte token of no number",
     [](VocabularyForTests& v) { v.Add("<0x+1>", GgufTokenType::kByte); }, "type of a byte"},
    {"neither bytes nor unknown",
     [](VocabularyForTests& v) {
       v->token_types.assign(v->token_types.size(), static_cast<int32_t>(GgufTokenType::kNormal));
     },
     "neither"},
};

void CheckBad(void (*fill)(VocabularyForTests&), std::span<const BadCase> cases) {
  for (const BadCase& bad : cases) {
    CAPTURE(bad.what);
    VocabularyForTests made;
    fill(made);
    bad.change(made);
    const auto tokenizer = Tokenizer::FromGguf(*made);
    REQUIRE_FALSE(tokenizer.has_value());
    CHECK(tokenizer.error().IsBadInput());
    CHECK(tokenizer.error().message.starts_with("test.gguf: "));
    CHECK(tokenizer.error().message.find(bad.message) != std::string::npos);
  }
}

TEST_CASE("a vocabulary that contradicts itself is an error that says where and what") {
  CheckBad(FillMerges, kBadForBoth);
  CheckBad(FillPieces, kBadForBoth);
  CheckBad(FillMerges, kBadMerges);
  CheckBad(FillPieces, kBadPieces);
}

TEST_CASE("a token of absurd size is an error") {
  VocabularyForTests made;
  FillPieces(made);
  made.Add(std::string(100'000, 'a'));
  CHECK_FALSE(Tokenizer::FromGguf(*made).has_value());
}

TEST_CASE("empty and doubled tokens keep their ids, and the first of two is used") {
  for (const auto fill : {FillMerges, FillPieces}) {
    VocabularyForTests made;
    fill(made);
    const TokenId empty = made.Add("");
    const TokenId doubled = made.Add("h");
    const TokenId last = made.Add("");
    const auto tokenizer = Tokenizer::FromGguf(*made);
    REQUIRE(tokenizer.has_value());
    CHECK(tokenizer->vocab_size() == last.value() + 1);
    CHECK(tokenizer->TokenText(empty).empty());
    CHECK(tokenizer->TokenText(doubled) == "h");
    CHECK(tokenizer->TokenBytes(doubled) == "h");
    const auto ids = tokenizer->Encode("xh", {.add_bos = false});
    REQUIRE_FALSE(ids->empty());
    CHECK(ids->back() < doubled);
  }
}

TEST_CASE("pieces may be any bytes; decoded text is UTF-8 all the same") {
  VocabularyForTests made;
  FillPieces(made);
  const TokenId bad = made.Add("\xFF\xC3");
  made.Add("\xA9", GgufTokenType::kUserDefined);
  made->scores[300] = std::numeric_limits<float>::quiet_NaN();
  const auto tokenizer = Tokenizer::FromGguf(*made);
  REQUIRE(tokenizer.has_value());
  const std::vector<TokenId> ids = {bad};
  CHECK(tokenizer->Decode(ids) == "��");
  CHECK(tokenizer->Encode("é").has_value());
}

TEST_CASE("absent ids have the usual values where those are control tokens") {
  VocabularyForTests pieces;
  FillPieces(pieces);
  pieces->bos_id = pieces->eos_id = pieces->unk_id = std::nullopt;
  const auto tokenizer = Tokenizer::FromGguf(*pieces);
  CHECK(tokenizer->bos() == TokenId(1));
  CHECK(tokenizer->eos() == TokenId(2));
  VocabularyForTests merges;
  FillMerges(merges);
  merges->bos_id = merges->eos_id = std::nullopt;
  CHECK(Tokenizer::FromGguf(*merges)->bos() == std::nullopt);
}

TEST_CASE("random changes of a vocabulary give an error or a tokenizer that works") {
  std::mt19937 random(11);
  int working = 0;
  for (int round = 0; round < 400; ++round) {
    VocabularyForTests made;
    (round % 2 == 0 ? FillMerges : FillPieces)(made);
    const auto pick = [&](size_t size) { return random() % size; };
    for (int change = 0; change < 4; ++change) {
      const size_t at = pick(made->tokens.size());
      switch (pick(5)) {
        case 0:
          made->tokens[at] = made->tokens[pick(made->tokens.size())];
          break;
        case 1:
          made->tokens[at] = made->tokens[at].substr(pick(made->tokens[at].size() + 1));
          break;
        case 2:
          made->token_types[at] = static_cast<int32_t>(pick(9)) - 1;
          break;
        case 3:
          made->scores[at] = static_cast<float>(pick(5));
          break;
        default:
          made->eos_id = static_cast<int64_t>(at);
      }
    }
    const auto tokenizer = Tokenizer::FromGguf(*made);
    if (!tokenizer) continue;
    ++working;
    const auto ids = tokenizer->Encode("hello world <|im_end|>\n\n  é <tool>");
    if (!ids) continue;
    for (TokenId id : *ids) CHECK((id.value() >= 0 && id.value() < tokenizer->vocab_size()));
    CHECK(FindInvalidUtf8(tokenizer->Decode(*ids)) == std::string_view::npos);
  }
  CHECK(working > 100);
}

}  // namespace
}  // namespace cairn
