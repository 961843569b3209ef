#include "cairn/eval/recall_case.h"

#include <doctest/doctest.h>

#include "cairn/eval/induction_model_for_tests.h"

namespace cairn {
namespace {

std::string TextOf(const Tokenizer& tokenizer, const RecallCase& made,
                   const RecallCase::Question& question, size_t answer) {
  std::vector<TokenId> all = made.context;
  all.insert(all.end(), question.tokens.begin(), question.tokens.end());
  all.insert(all.end(), question.answers[answer].begin(), question.answers[answer].end());
  return tokenizer.Decode(all);
}

}  // namespace

TEST_CASE(
    "a case is the text, a question and an answer, and fills the context but for a sentence") {
  EvalForTests made;
  for (const int64_t context : {700, 1500, 3000}) {
    for (const RecallKind kind :
         {RecallKind::kNeedle, RecallKind::kMultiKey, RecallKind::kVarTrack}) {
      const TaskInput input = made.Input("", context);
      const Result<RecallCase> found = MakeRecallCase(input, kind, 1);
      if (!found) {  // many facts need more than the shortest context
        CHECK(context == 700);
        CHECK(kind != RecallKind::kNeedle);
        CHECK(found.error().message.find("a longer one (-c)") != std::string::npos);
        continue;
      }
      CHECK(found->Longest() <= context);
      CHECK(found->Longest() > context - 130);
      const RecallText text = MakeRecallText(kind, input.seed, 1, 0);
      REQUIRE(found->questions.size() == text.questions.size());
      for (size_t i = 0; i < text.questions.size(); ++i) {
        const RecallQuestion& question = text.questions[i];
        CHECK_FALSE(found->questions[i].tokens.empty());
        const std::string right = TextOf(made.tokenizer, *found, found->questions[i], 0);
        CHECK(right.ends_with("\n" + question.stem + question.answer));
        REQUIRE(found->questions[i].answers.size() == question.wrong.size() + 1);
        for (size_t w = 0; w < question.wrong.size(); ++w) {
          CHECK(TextOf(made.tokenizer, *found, found->questions[i], w + 1)
                    .ends_with(question.stem + question.wrong[w]));
        }
      }
    }
  }
}

TEST_CASE(
    "in the chat form the question is the user's and the answer begins the assistant's turn") {
  VocabularyForTests vocabulary;
  FillMerges(vocabulary);
  vocabulary->bos_id.reset();
  vocabulary->chat_template =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  const Tokenizer tokenizer = *Tokenizer::FromGguf(*vocabulary);
  EvalForTests made;
  TaskInput input = made.Input("", 1000);
  input.tokenizer = &tokenizer;
  input.chat = true;
  const Result<RecallCase> found = MakeRecallCase(input, RecallKind::kNeedle, 0);
  REQUIRE(found);
  const RecallQuestion question =
      MakeRecallText(RecallKind::kNeedle, input.seed, 0, 0).questions.front();
  const std::string text = TextOf(tokenizer, *found, found->questions.front(), 0);
  CHECK(text.starts_with("<user>Read this text.\n\n"));
  CHECK(text.ends_with("\n\n" + question.ask + "<assistant>" + question.stem + question.answer));

  input.tokenizer = &made.tokenizer;  // which has no template
  CHECK_FALSE(MakeRecallCase(input, RecallKind::kNeedle, 0));
}

}  // namespace cairn
