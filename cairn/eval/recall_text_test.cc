#include "cairn/eval/recall_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace cairn {
namespace {

int64_t CountOf(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

double PlaceOf(const std::string& text, const std::string& part) {
  return static_cast<double>(text.find(part)) / static_cast<double>(text.size());
}

}  // namespace

TEST_CASE("a needle stands once, at its depth, and its wrong answers nowhere") {
  for (int64_t index = 0; index < 10; ++index) {
    const RecallText made = MakeRecallText(RecallKind::kNeedle, 5, index, 200);
    REQUIRE(made.questions.size() == 1);
    const RecallQuestion& question = made.questions.front();
    CHECK(CountOf(made.text, question.stem + question.answer + ".") == 1);
    CHECK(CountOf(made.text, question.answer) == 1);
    CHECK(question.depth == static_cast<double>(index % 5) / 4);
    CHECK(PlaceOf(made.text, question.stem) == doctest::Approx(question.depth).epsilon(0.02));
    REQUIRE(question.wrong.size() == kWrongAnswers);
    for (const std::string& wrong : question.wrong) {
      CHECK(wrong.size() == question.answer.size());
      CHECK(CountOf(made.text, wrong) == 0);
    }
  }
}

TEST_CASE("facts are the same whatever the filler's length, and others for another seed or index") {
  for (const RecallKind kind :
       {RecallKind::kNeedle, RecallKind::kMultiKey, RecallKind::kVarTrack}) {
    const auto stems = [&](uint64_t seed, int64_t index, int64_t sentences) {
      std::string all;
      for (const RecallQuestion& q : MakeRecallText(kind, seed, index, sentences).questions) {
        all += q.stem + q.answer + q.wrong.front();
      }
      return all;
    };
    CHECK(stems(1, 0, 0) == stems(1, 0, 100));
    CHECK(stems(1, 0, 10) != stems(2, 0, 10));
    CHECK(stems(1, 0, 10) != stems(1, 1, 10));
    CHECK(MakeRecallText(kind, 1, 0, 30).text == MakeRecallText(kind, 1, 0, 30).text);
  }
}

TEST_CASE("of many keys each stands once, and wrong answers are those of others") {
  const RecallText made = MakeRecallText(RecallKind::kMultiKey, 9, 0, 100);
  CHECK(CountOf(made.text, "The secret number of the") == kKeys);
  CHECK(made.questions.size() == kKeysAsked);
  std::set<std::string> stems;
  for (const RecallQuestion& question : made.questions) {
    CHECK(stems.insert(question.stem).second);
    CHECK(CountOf(made.text, question.stem + question.answer + ".") == 1);
    CHECK(question.wrong.size() == kWrongAnswers);
    for (const std::string& wrong : question.wrong) {
      CHECK(wrong != question.answer);
      CHECK(CountOf(made.text, wrong + ".") == 1);
    }
  }
  CHECK(made.questions.front().depth == 0);
  CHECK(made.questions.back().depth > 0.9);
}

TEST_CASE("a chain leads from the variable that is asked for to its number, in the text's order") {
  const RecallText made = MakeRecallText(RecallKind::kVarTrack, 4, 2, 100);
  REQUIRE(made.questions.size() == kChains);
  CHECK(CountOf(made.text, " = VAR ") == (kChains + 1) * kHops);
  for (const RecallQuestion& question : made.questions) {
    std::string name = question.stem.substr(sizeof("The value of VAR ") - 1, 3);
    size_t before = made.text.size();
    for (int64_t hop = 0; hop < kHops; ++hop) {
      const std::string assignment = "VAR " + name + " = VAR ";
      CHECK(CountOf(made.text, assignment) == 1);
      const size_t at = made.text.find(assignment);
      CHECK(at < before);
      before = at;
      name = made.text.substr(at + assignment.size(), 3);
    }
    CHECK(made.text.find("VAR " + name + " =" + question.answer + ".") < before);
    CHECK(question.wrong.size() == kChains - 1);
  }
}

}  // namespace cairn
