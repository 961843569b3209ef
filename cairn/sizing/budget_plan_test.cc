#include "cairn/sizing/budget_plan.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cairn {
namespace {

// 32 layers, 8 KV heads of 128: 128 KiB a token; 8.03 billion weights.
ModelSpec Llama8B() {
  ModelSpec model;
  model.family = "llama";
  model.vocabulary = 128'256;
  model.hidden = 4096;
  AttentionSpec attention;
  attention.heads = 32;
  attention.kv_heads = 8;
  attention.key_width = attention.value_width = 128;
  model.layers.assign(32,
                      {.mixer = attention, .feed_forward = GatedMlpSpec{.intermediate = 14'336}});
  return model;
}

CardQuestion Question(ModelSpec model) {
  CardQuestion question;
  question.storage = StorageOf(model, *WeightFormatFromName("bf16"));
  question.model = std::move(model);
  question.codecs = {.keys = DType::kBF16, .values = DType::kBF16};
  question.mix.groups = {{.count = 4, .tokens = TokenCount(8192)}};
  question.gpu = ParseGpu("H100")->gpu;
  return question;
}

std::vector<std::string> KeysOf(const CardQuestion& question) {
  const auto sections = CardSections(question);
  REQUIRE_MESSAGE(sections.has_value(), sections.error().message);
  std::vector<std::string> keys;
  for (const Section& section : *sections) keys.push_back(section.key);
  return keys;
}

BudgetAnswer Budget(const CardQuestion& question) {
  const auto budget = BudgetOf(question);
  REQUIRE_MESSAGE(budget.has_value(), budget.error().message);
  const auto answer = AnswerBudget(*budget);
  REQUIRE_MESSAGE(answer.has_value(), answer.error().message);
  return *answer;
}

}  // namespace

TEST_CASE("all sections are there when a card is named, and no budget when none is") {
  using Keys = std::vector<std::string>;
  CardQuestion question = Question(Llama8B());
  CHECK_EQ(KeysOf(question), Keys{"weights", "activations", "budget", "bounds", "transfers"});
  question.fleet = true;
  CHECK_EQ(KeysOf(question),
           Keys{"weights", "activations", "budget", "fleet", "bounds", "transfers"});
  question.fleet = false;
  question.gpu = nullptr;
  CHECK_EQ(KeysOf(question), Keys{"weights", "activations", "fleet", "bounds", "transfers"});
  question.model.uncounted = "its gates aren't described";
  CHECK_EQ(KeysOf(question), Keys{"weights", "activations", "bounds", "transfers"});
}

TEST_CASE("the budget charges the state of the mix, and searches per request") {
  const BudgetAnswer answer = Budget(Question(Llama8B()));
  CHECK_EQ(answer.Tightest().weights, Bytes(int64_t{8'030'261'248} * 2));
  CHECK_EQ(answer.Tightest().state, Bytes(int64_t{4} * 8192 * 131'072));
  CHECK(answer.Fits());
  // The most that fits does, one token more of each request doesn't.
  const Bytes each = Bytes(4 * 131'072);
  const Bytes left = answer.Tightest().left;
  CHECK_LE(each * answer.most_tokens->value(), left);
  CHECK_GT(each * (answer.most_tokens->value() + 1), left);
  CHECK_EQ(*answer.most_requests, left.value() / (8192 * 131'072));
}

TEST_CASE("a shared prefix is kept once") {
  CardQuestion question = Question(Llama8B());
  question.mix.shared_prefix = TokenCount(4096);
  CHECK_EQ(Budget(question).Tightest().state, Bytes(int64_t{4096 + 4 * 4096} * 131'072));
}

TEST_CASE("copies divide the requests, cards of a copy the weights and the state") {
  CardQuestion question = Question(Llama8B());
  question.parallel.dp = 2;
  CHECK_EQ(Budget(question).Tightest().state, Bytes(int64_t{2} * 8192 * 131'072));
  question.parallel.tp = 2;
  CHECK_EQ(Budget(question).Tightest().state, Bytes(int64_t{2} * 8192 * 65'536));
  CHECK_LT(Budget(question).Tightest().weights, Bytes(8'040'000'000));
}

TEST_CASE("cards are spread over servers of eight, experts over all of a server") {
  ModelSpec model = Llama8B();
  CHECK_EQ(SpreadOver(model, 4)->tp, 4);
  CHECK_EQ(SpreadOver(model, 16)->tp, 8);
  CHECK_EQ(SpreadOver(model, 16)->pp, 2);
  CHECK_EQ(SpreadOver(model, 8)->ep, 1);
  model.layers[3].feed_forward =
      MixtureSpec{.experts = 64, .experts_per_token = 8, .intermediate = 512};
  CHECK_EQ(SpreadOver(model, 8)->ep, 8);
  CHECK_FALSE(SpreadOver(model, 12).has_value());
  CHECK_FALSE(SpreadOver(model, 0).has_value());
  model.layers.resize(1);
  CHECK_FALSE(SpreadOver(model, 16).has_value());
}

TEST_CASE("the memory that a card needs is enough, and a byte less isn't") {
  CardQuestion question = Question(Llama8B());
  question.memory = Budget(question).memory_needed;
  CHECK(Budget(question).Fits());
  question.memory = question.memory - Bytes(2);
  CHECK_FALSE(Budget(question).Fits());
}

}  // namespace cairn
