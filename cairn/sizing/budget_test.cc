#include "cairn/sizing/budget.h"

#include <doctest/doctest.h>

#include <cmath>

#include <string>
#include <utility>
#include <variant>

namespace cairn {
namespace {

// So many bytes for each token of each request.
StateBytes PerToken(int64_t bytes, int64_t fixed = 0) {
  return [=](TokenCount context, int64_t batch) -> Result<Bytes> {
    int64_t total = 0;
    if (__builtin_mul_overflow(context.value() * bytes + fixed, batch, &total)) {
      return Fail(ErrorCode::kInvalidArgument, "too many");
    }
    return Bytes(total);
  };
}

// A card of 1,000,000 bytes, 900,000 of them usable, 10 % of the weights for all else.
BudgetQuestion Simple() {
  BudgetQuestion question;
  question.memory = Bytes(1'000'000);
  question.overhead.kind = OverheadRule::Kind::kShareOfWeights;
  question.stages = {
      {.stage = 0, .weights = Bytes(500'000), .activations = Bytes(7), .state = PerToken(100)}};
  question.context = TokenCount(500);
  question.batch = 2;
  return question;
}

BudgetAnswer Answer(const BudgetQuestion& question) {
  auto answer = AnswerBudget(question);
  REQUIRE_MESSAGE(answer.has_value(), answer.error().message);
  return *std::move(answer);
}

const Field& FieldOf(const Section& section, std::string_view key) {
  for (const Field& field : section.fields) {
    if (field.key == key) return field;
  }
  FAIL("no field " << key);
  return section.fields.front();
}

}  // namespace

TEST_CASE("what is left is the usable memory without weights and overhead") {
  const BudgetAnswer answer = Answer(Simple());
  const StageAnswer& tight = answer.Tightest();
  CHECK_EQ(tight.usable, Bytes(900'000));
  CHECK_EQ(tight.overhead, Bytes(50'000));
  CHECK_EQ(tight.activations, Bytes(0));  // the rule of thumb has them in its share
  CHECK_EQ(tight.left, Bytes(350'000));
  CHECK_EQ(tight.state, Bytes(100'000));
  CHECK_EQ(tight.headroom, Bytes(250'000));
  CHECK(answer.Fits());
  CHECK_EQ(answer.memory_needed, Bytes((500'000 + 50'000 + 100'000) * 10 / 9 + 1));
}

TEST_CASE("the longest context and the largest batch fit exactly, one more doesn't") {
  const BudgetAnswer answer = Answer(Simple());
  CHECK_EQ(answer.most_tokens->value(), 1750);
  CHECK_EQ(*answer.most_requests, 7);
}

TEST_CASE("24 GB card with Qwen3-8B: 7.6 GB left in BF16, 19 GB in INT4; 7 GB hold 47,471 tokens") {
  BudgetQuestion question = Simple();
  question.memory = Bytes(24'000'000'000);
  question.memory_fraction = 1;
  question.overhead.share = 0;
  question.batch = 1;
  question.stages[0].state = PerToken(147'456);
  question.stages[0].weights = Bytes(16'400'000'000);
  CHECK_EQ(Answer(question).Tightest().left, Bytes(7'600'000'000));
  question.stages[0].weights = Bytes(5'000'000'000);
  CHECK_EQ(Answer(question).Tightest().left, Bytes(19'000'000'000));
  question.stages[0].weights = Bytes(17'000'000'000);
  CHECK_EQ(Answer(question).most_tokens->value(), 47'471);  // of 47,471.8
}

TEST_CASE("weights of 16.4 GB, a tenth of them and 4.83 GB of state are 22.87 GB") {
  BudgetQuestion question = Simple();
  question.memory = Bytes(80'000'000'000);
  question.memory_fraction = 1;
  question.batch = 1;
  question.context = TokenCount(32'768);
  question.stages[0].weights = Bytes(16'400'000'000);
  question.stages[0].state = PerToken(147'456);
  CHECK_EQ(Answer(question).memory_needed, Bytes(16'400'000'000 + 1'640'000'000 + 4'831'838'208));
}

TEST_CASE("the stage with the least headroom decides") {
  BudgetQuestion question = Simple();
  question.stages.push_back(
      {.stage = 1, .weights = Bytes(600'000), .activations = Bytes(0), .state = PerToken(50)});
  const BudgetAnswer answer = Answer(question);
  CHECK_EQ(answer.tightest, 1);
  CHECK_EQ(answer.Tightest().left, Bytes(240'000));
  CHECK_EQ(answer.most_tokens->value(), 1750);  // the first stage's state grows faster
  CHECK_EQ(*answer.most_requests, 7);
}

TEST_CASE("where not one token fits there is no context and no batch, and the section warns") {
  BudgetQuestion question = Simple();
  question.stages[0].weights = Bytes(899'000);
  const BudgetAnswer answer = Answer(question);
  CHECK_FALSE(answer.Fits());
  CHECK_FALSE(answer.most_tokens.has_value());
  CHECK_FALSE(answer.most_requests.has_value());
  const auto section = BudgetSection(question);
  REQUIRE(section.has_value());
  CHECK_EQ(section->warnings.size(), 1);
  CHECK(std::holds_alternative<std::monostate>(FieldOf(*section, "max_context").value));
}

TEST_CASE("a state that doesn't grow bounds neither context nor batch at once") {
  BudgetQuestion question = Simple();
  question.stages[0].state = PerToken(0, 1);
  const BudgetAnswer answer = Answer(question);
  CHECK(answer.most_tokens_unbounded);
  CHECK_EQ(*answer.most_requests, 350'000);
}

TEST_CASE("a mix that isn't batch x context is charged as given") {
  BudgetQuestion question = Simple();
  question.stages[0].mix = Bytes(123);
  CHECK_EQ(Answer(question).Tightest().state, Bytes(123));
}

TEST_CASE("the runtime's overhead has communication only among several cards") {
  CHECK_EQ(OverheadOf({}, Bytes(0), 1), Bytes(int64_t{1280} << 20));
  CHECK_EQ(OverheadOf({}, Bytes(0), 2), Bytes(int64_t{1792} << 20));
}

TEST_CASE("the section says its arithmetic, and its bar adds up to the card") {
  const auto section = BudgetSection(Simple());
  REQUIRE(section.has_value());
  CHECK_EQ(FieldOf(*section, "left_bytes").formula, "900000 - 500000 - 0 - 50000");
  CHECK_EQ(std::get<int64_t>(FieldOf(*section, "headroom_bytes").value), 250'000);
  CHECK(std::get<bool>(FieldOf(*section, "fits").value));
  Bytes sum;
  for (const BarPart& part : section->bar) sum += part.bytes;
  CHECK_EQ(sum, Bytes(1'000'000));
}

TEST_CASE("fractions, memories and batches out of range are refused") {
  for (const double fraction : {0.0, -1.0, 1.01, std::nan("")}) {
    BudgetQuestion question = Simple();
    question.memory_fraction = fraction;
    CHECK_FALSE(AnswerBudget(question).has_value());
  }
  BudgetQuestion question = Simple();
  question.memory = Bytes(0);
  question.card = "EPYC 9004";
  CHECK_EQ(AnswerBudget(question).error().message,
           "EPYC 9004: its memory isn't known; give it with a size");
  question = Simple();
  question.batch = 0;
  CHECK_FALSE(AnswerBudget(question).has_value());
}

TEST_CASE("the largest value is found wherever it lies") {
  for (const int64_t limit : {0, 1, 2, 3, 7, 8, 9, 99, 100}) {
    const auto fits = [&](int64_t value) -> Result<bool> { return value <= limit; };
    CHECK_EQ(*Largest(0, 100, fits), limit);
  }
  CHECK_FALSE(Largest(1, 100, [](int64_t) -> Result<bool> { return false; })->has_value());
  CHECK_EQ(*Largest(5, 5, [](int64_t) -> Result<bool> { return true; }), 5);
}

}  // namespace cairn
