#include "cairn/eval/recall_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "cairn/base/check.h"
#include "cairn/eval/filler.h"

namespace cairn {
namespace {

struct PlacedFact {
  double depth = 0;
  std::string sentence;
};

// Filler with facts in their places; facts of equal places in their order.
std::string TextWith(std::span<const PlacedFact> facts, std::span<const std::string> filler) {
  std::string text;
  size_t next = 0;
  for (size_t i = 0; i <= filler.size(); ++i) {
    const auto place = [&](const PlacedFact& fact) {
      return static_cast<size_t>(std::llround(fact.depth * static_cast<double>(filler.size())));
    };
    for (; next < facts.size() && place(facts[next]) <= i; ++next) {
      text += (text.empty() ? "" : " ") + facts[next].sentence;
    }
    if (i < filler.size()) text += (text.empty() ? "" : " ") + filler[i];
  }
  CAIRN_CHECK(next == facts.size());
  return text;
}

// Numbers that no other fact of the text has.
class Numbers {
 public:
  Numbers(RandomStream& random, int digits) : random_(random), digits_(digits) {}
  std::string Next() {
    std::string number = NumberOf(random_, digits_);
    while (!taken_.insert(number).second) number = NumberOf(random_, digits_);
    return number;
  }

 private:
  RandomStream& random_;
  const int digits_;
  std::unordered_set<std::string> taken_;
};

// Different names, "copper lantern".
std::vector<std::string> Names(RandomStream& random, int64_t count) {
  std::vector<std::string> names;
  while (static_cast<int64_t>(names.size()) < count) {
    std::string name = fmt::format("{} {}", random.Pick(FactKinds()), random.Pick(FactThings()));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

RecallQuestion NumberQuestion(const std::string& name, const std::string& number) {
  return {.ask = fmt::format("What is the secret number of the {}?", name),
          .stem = fmt::format("The secret number of the {} is", name),
          .answer = " " + number,
          .wrong = {},
          .depth = 0};
}

std::string SentenceOf(const RecallQuestion& question) {
  return question.stem + question.answer + ".";
}

RecallText NeedleText(RandomStream& random, int64_t index, std::span<const std::string> filler) {
  constexpr int kDigits = 7;
  Numbers numbers(random, kDigits);
  RecallQuestion question = NumberQuestion(Names(random, 1).front(), numbers.Next());
  question.depth = static_cast<double>(index % kNeedleDepths) / (kNeedleDepths - 1);
  for (int64_t i = 0; i < kWrongAnswers; ++i) question.wrong.push_back(" " + numbers.Next());
  const PlacedFact fact = {question.depth, SentenceOf(question)};
  return {TextWith({&fact, 1}, filler), {std::move(question)}};
}

// Wrong answers are those to other questions: numbers that the text has, too.
void AddOthers(RandomStream& random, std::vector<RecallQuestion>& questions, int64_t count) {
  std::vector<std::string> answers;
  for (const RecallQuestion& question : questions) answers.push_back(question.answer);
  for (RecallQuestion& question : questions) {
    while (static_cast<int64_t>(question.wrong.size()) < count) {
      const std::string& other = random.Pick(std::span<const std::string>(answers));
      if (other == question.answer) continue;
      if (std::ranges::find(question.wrong, other) != question.wrong.end()) continue;
      question.wrong.push_back(other);
    }
  }
}

RecallText MultiKeyText(RandomStream& random, std::span<const std::string> filler) {
  constexpr int kDigits = 6;
  Numbers numbers(random, kDigits);
  std::vector<RecallQuestion> all;
  std::vector<PlacedFact> facts;
  for (const std::string& name : Names(random, kKeys)) {
    all.push_back(NumberQuestion(name, numbers.Next()));
    all.back().depth = static_cast<double>(facts.size()) / (kKeys - 1);
    facts.push_back({all.back().depth, SentenceOf(all.back())});
  }
  AddOthers(random, all, kWrongAnswers);
  RecallText made = {TextWith(facts, filler), {}};
  for (size_t i = 0; i < all.size(); i += kKeys / kKeysAsked) {
    made.questions.push_back(std::move(all[i]));
  }
  return made;
}

// "QRT", of letters that don't make words.
std::string Variable(RandomStream& random) {
  constexpr std::string_view kLetters = "BCDFGHJKLMNPQRSTVWXZ";
  std::string name;
  for (int i = 0; i < 3; ++i) {
    name += kLetters[static_cast<size_t>(random.Below(static_cast<int64_t>(kLetters.size())))];
  }
  return name;
}

RecallQuestion VariableQuestion(const std::string& variable, const std::string& number) {
  return {.ask = fmt::format("What is the value of VAR {}?", variable),
          .stem = fmt::format("The value of VAR {} is", variable),
          .answer = " " + number,
          .wrong = {},
          .depth = 0};
}

// One chain, as a worked example, before the text; then chains spread over it, hop by hop.
RecallText VarTrackText(RandomStream& random, std::span<const std::string> filler) {
  constexpr int kDigits = 5;
  Numbers numbers(random, kDigits);
  std::unordered_set<std::string> taken;
  const auto variable = [&] {
    std::string name = Variable(random);
    while (!taken.insert(name).second) name = Variable(random);
    return name;
  };
  std::string example;
  std::vector<RecallQuestion> questions;
  std::vector<PlacedFact> facts;
  for (int64_t chain = 0; chain <= kChains; ++chain) {
    std::string name = variable();
    const std::string number = numbers.Next();
    const double first = static_cast<double>(chain) / (kChains * (kHops + 1));
    std::vector<PlacedFact> hops = {{first, fmt::format("VAR {} = {}.", name, number)}};
    for (int64_t hop = 1; hop <= kHops; ++hop) {
      std::string next = variable();
      hops.push_back({first + static_cast<double>(hop) / (kHops + 1),
                      fmt::format("VAR {} = VAR {}.", next, name)});
      name = std::move(next);
    }
    RecallQuestion question = VariableQuestion(name, number);
    if (chain == kChains) {
      for (const PlacedFact& hop : hops) example += hop.sentence + " ";
      example += SentenceOf(question) + " ";
      continue;
    }
    question.depth = first;
    facts.insert(facts.end(), hops.begin(), hops.end());
    questions.push_back(std::move(question));
  }
  std::ranges::sort(facts, {}, &PlacedFact::depth);
  AddOthers(random, questions, kChains - 1);
  return {example + TextWith(facts, filler), std::move(questions)};
}

}  // namespace

RecallText MakeRecallText(RecallKind kind, uint64_t seed, int64_t index, int64_t sentences) {
  const std::vector<std::string> filler = FillerSentences(seed, index, sentences);
  RandomStream random(seed, "facts", index * 8 + static_cast<int64_t>(kind));
  switch (kind) {
    case RecallKind::kNeedle:
      return NeedleText(random, index, filler);
    case RecallKind::kMultiKey:
      return MultiKeyText(random, filler);
    case RecallKind::kVarTrack:
      return VarTrackText(random, filler);
  }
  CAIRN_CHECK(false);
}

}  // namespace cairn
