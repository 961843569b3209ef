#include "cairn/eval/recall_case.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/text/chat_template.h"

namespace cairn {
namespace {

using Tokens = std::vector<TokenId>;

size_t CommonPrefix(const Tokens& a, const Tokens& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// A text and what follows it as the tokens that the model would read.
class Reader {
 public:
  static Result<Reader> Make(const TaskInput& input) {
    Reader reader(*input.tokenizer);
    if (input.chat) {
      CAIRN_ASSIGN(reader.chat_, ChatTemplate::FromTokenizer(*input.tokenizer));
    }
    return reader;
  }

  Result<Tokens> Read(const std::string& text, const RecallQuestion& question,
                      const std::string& answer) const {
    if (!chat_) return tokenizer_.Encode(text + "\n" + question.stem + answer);
    const std::array<ChatMessage, 1> messages = {
        {{"user", "Read this text.\n\n" + text + "\n\n" + question.ask}}};
    CAIRN_ASSIGN(const std::string rendered, chat_->Render(messages, {.now_unix_s = 0}));
    return tokenizer_.EncodeChat(rendered + question.stem + answer);
  }

 private:
  explicit Reader(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> chat_;
};

// Each answer behind its question; where they part from each other is found in tokens, since texts
// that are joined need not be tokenized as their parts.
Result<RecallCase> CaseOf(const Reader& reader, const RecallText& text) {
  std::vector<Tokens> stems;
  std::vector<std::vector<Tokens>> wholes;
  size_t shared = SIZE_MAX;
  for (const RecallQuestion& question : text.questions) {
    CAIRN_ASSIGN(Tokens stem, reader.Read(text.text, question, ""));
    std::vector<std::string> answers = {question.answer};
    answers.insert(answers.end(), question.wrong.begin(), question.wrong.end());
    std::vector<Tokens>& whole = wholes.emplace_back();
    size_t asked = stem.size();
    for (const std::string& answer : answers) {
      CAIRN_ASSIGN(whole.emplace_back(), reader.Read(text.text, question, answer));
      asked = std::min(asked, CommonPrefix(stem, whole.back()));
    }
    stem.resize(asked);
    shared = std::min(shared, asked - std::min<size_t>(asked, 1));
    if (!stems.empty()) shared = std::min(shared, CommonPrefix(stem, stems.front()));
    stems.push_back(std::move(stem));
  }
  CAIRN_CHECK(!stems.empty());
  RecallCase made;
  const auto begin = stems.front().begin();
  made.context.assign(begin, begin + static_cast<ptrdiff_t>(shared));
  for (size_t i = 0; i < stems.size(); ++i) {
    RecallCase::Question& question = made.questions.emplace_back();
    question.depth = text.questions[i].depth;
    question.tokens.assign(stems[i].begin() + static_cast<ptrdiff_t>(shared), stems[i].end());
    for (const Tokens& whole : wholes[i]) {
      question.answers.emplace_back(whole.begin() + static_cast<ptrdiff_t>(stems[i].size()),
                                    whole.end());
    }
  }
  return made;
}

}  // namespace

int64_t RecallCase::Longest() const {
  size_t longest = 0;
  for (const Question& question : questions) {
    for (const Tokens& answer : question.answers) {
      longest = std::max(longest, context.size() + question.tokens.size() + answer.size());
    }
  }
  return static_cast<int64_t>(longest);
}

Result<RecallCase> MakeRecallCase(const TaskInput& input, RecallKind kind, int64_t index) {
  CAIRN_ASSIGN(const Reader reader, Reader::Make(input));
  const auto make = [&](int64_t sentences) {
    return CaseOf(reader, MakeRecallText(kind, input.seed, index, sentences));
  };
  CAIRN_ASSIGN(RecallCase best, make(0));
  if (best.Longest() > input.context.value()) {
    return Fail(ErrorCode::kInvalidArgument,
                "a context of {} tokens has no room for the facts and a question, which take {}; a "
                "longer one (-c) would be right",
                input.context.value(), best.Longest());
  }
  int64_t fits = 0;
  int64_t too_many = 1;
  for (;; too_many *= 2) {
    CAIRN_ASSIGN(RecallCase made, make(too_many));
    if (made.Longest() > input.context.value()) break;
    fits = too_many;
    best = std::move(made);
  }
  while (too_many - fits > 1) {
    const int64_t sentences = fits + (too_many - fits) / 2;
    CAIRN_ASSIGN(RecallCase made, make(sentences));
    if (made.Longest() > input.context.value()) {
      too_many = sentences;
    } else {
      fits = sentences;
      best = std::move(made);
    }
  }
  return best;
}

}  // namespace cairn
