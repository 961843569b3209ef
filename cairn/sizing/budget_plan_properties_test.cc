// What must hold for weights, budget and bounds of any model, tried on every golden and on every
// real config there is.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "cairn/sizing/bounds_reads.h"
#include "cairn/sizing/budget_plan.h"
#include "cairn/sizing/parameters.h"
#include "cairn/sizing/weight_bytes.h"
#include "cairn/spec/families_for_tests.h"
#include "cairn/spec/state_layout.h"

namespace cairn {
namespace {

constexpr StateCodecs kBF16 = {.keys = DType::kBF16, .values = DType::kBF16};

std::vector<std::filesystem::path> ConfigFiles() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"tests/golden", "../shared/data/configs"}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
      const std::filesystem::path config = entry.path() / "config.json";
      if (std::filesystem::exists(config)) files.push_back(config);
    }
  }
  return files;
}

using Check = std::function<void(const ModelSpec& model, const WeightStorage& storage)>;

void ForEachModel(const Check& check) {
  int models = 0;
  for (const std::filesystem::path& file : ConfigFiles()) {
    CAPTURE(file.string());
    const std::string json = ReadFileForTest(file);
    const auto model = ModelSpecFromConfig(json, file.string());
    if (!model) continue;  // out of scope; other tests say which may be
    const auto storage = StorageOfCheckpoint(*model, json, file.string());
    REQUIRE_MESSAGE(storage.has_value(), storage.error().message);
    check(*model, *storage);
    ++models;
  }
  CHECK_GE(models, 8);
}

Parallelism Cards(int tp, int pp, int ep) {
  Parallelism cards;
  cards.tp = tp;
  cards.pp = pp;
  cards.ep = ep;
  return cards;
}

CardQuestion Question(const ModelSpec& model, const WeightStorage& storage) {
  CardQuestion question;
  question.model = model;
  question.storage = storage;
  question.codecs = kBF16;
  question.mix.groups = {{.count = 4, .tokens = TokenCount(2048)}};
  question.gpu = ParseGpu("H100")->gpu;
  return question;
}

// Numbers that a report prints must be numbers.
void CheckFinite(const Section& section) {
  for (const Field& field : section.fields) {
    CAPTURE(field.key);
    if (const auto* value = std::get_if<double>(&field.value)) CHECK(std::isfinite(*value));
  }
  for (const Table& table : section.tables) {
    for (const std::vector<Cell>& row : table.rows) CHECK_EQ(row.size(), table.columns.size());
  }
}

}  // namespace

TEST_CASE("every model is answered in every section, on one card and on many") {
  ForEachModel([](const ModelSpec& model, const WeightStorage& storage) {
    for (const Parallelism& cards : {Cards(1, 1, 1), Cards(8, 1, 1), Cards(2, 2, 1)}) {
      if (cards.pp > static_cast<int>(model.layers.size())) continue;
      CardQuestion question = Question(model, storage);
      question.parallel = cards;
      const auto sections = CardSections(question);
      REQUIRE_MESSAGE(sections.has_value(), sections.error().message);
      CHECK_GE(sections->size(), 4);
      for (const Section& section : *sections) CheckFinite(section);
    }
  });
}

TEST_CASE("parts add up to the parameters, bytes to the total, cards to at least the model") {
  ForEachModel([](const ModelSpec& model, const WeightStorage& storage) {
    const auto parameters = ParameterCount(model);
    if (!parameters) return;
    for (const Parallelism& cards : {Cards(1, 1, 1), Cards(2, 1, 1), Cards(8, 1, 1)}) {
      const auto weights = WeighModel(model, cards, storage, std::nullopt);
      REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
      CHECK_EQ(weights->tree->Sum().Total(), parameters->value());
      CHECK_EQ(*weights->parameters, parameters->value());
      Bytes sum;
      for (const CardWeights& card : weights->cards) sum += card.total * cards.tp;
      CHECK_GE(sum, weights->total);
      if (cards.IsOne()) CHECK_EQ(sum, weights->total);
      if (weights->active) CHECK_LE(*weights->active, *weights->parameters);
      for (const CardWeights& card : weights->cards) {
        CHECK_LE(card.ReadBy(1), card.ReadBy(2));
        CHECK_LE(card.ReadBy(1e9), card.total);
      }
    }
  });
}

TEST_CASE("stages of a pipeline hold the model's weights once, but for a tied head's copy") {
  ForEachModel([](const ModelSpec& model, const WeightStorage& storage) {
    if (!ParameterCount(model) || model.layers.size() < 3) return;
    const auto weights = WeighModel(model, Cards(1, 3, 1), storage, std::nullopt);
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    Bytes sum;
    for (const CardWeights& card : weights->cards) sum += card.total;
    if (!model.tied_head) CHECK_EQ(sum, weights->total);
    CHECK_GE(sum, weights->total);
  });
}

TEST_CASE("the budget's state is the layout's, and more memory never holds less") {
  ForEachModel([](const ModelSpec& model, const WeightStorage& storage) {
    CardQuestion question = Question(model, storage);
    if (!ParameterCount(model)) return;
    const auto layout = StateLayout::Make(StateSpecOf(model, kBF16));
    REQUIRE(layout.has_value());
    const Bytes one = layout->SeenRowBytes(TokenCount(2048)) + layout->fixed_content_bytes();
    int64_t tokens = 0;
    int64_t requests = 0;
    for (const int64_t gib : {1, 8, 80, 800, 8000}) {
      question.memory = Bytes(gib << 30);
      const auto budget = BudgetOf(question);
      REQUIRE_MESSAGE(budget.has_value(), budget.error().message);
      const auto answer = AnswerBudget(*budget);
      REQUIRE_MESSAGE(answer.has_value(), answer.error().message);
      CHECK_EQ(answer->Tightest().state, one * 4);
      CHECK_GE(answer->most_tokens.value_or(TokenCount(0)).value(), tokens);
      CHECK_GE(answer->most_requests.value_or(0), requests);
      CHECK_EQ(answer->Fits(), answer->most_requests.value_or(0) >= 4);
      tokens = answer->most_tokens.value_or(TokenCount(0)).value();
      requests = answer->most_requests.value_or(0);
    }
  });
}

TEST_CASE("the largest context and batch fit when they are asked for, and one more doesn't") {
  const auto fits = [](CardQuestion question, int64_t requests, TokenCount tokens) {
    question.mix.groups = {{.count = requests, .tokens = tokens}};
    const auto answer = AnswerBudget(*BudgetOf(question));
    return answer.has_value() && answer->Fits();
  };
  ForEachModel([&](const ModelSpec& model, const WeightStorage& storage) {
    if (!ParameterCount(model)) return;
    for (const int64_t tokens : {100, 2048}) {
      CardQuestion question = Question(model, storage);
      question.mix.groups = {{.count = 4, .tokens = TokenCount(tokens)}};
      const auto answer = AnswerBudget(*BudgetOf(question));
      REQUIRE_MESSAGE(answer.has_value(), answer.error().message);
      if (answer->most_tokens && !answer->most_tokens_unbounded) {
        CHECK(fits(question, 4, *answer->most_tokens));
        CHECK_FALSE(fits(question, 4, *answer->most_tokens + TokenCount(1)));
      }
      if (answer->most_requests && !answer->most_requests_unbounded) {
        CHECK(fits(question, *answer->most_requests, TokenCount(tokens)));
        CHECK_FALSE(fits(question, *answer->most_requests + 1, TokenCount(tokens)));
      }
    }
  });
}

TEST_CASE("a step reads no more rows than a full read, and moves more for a longer context") {
  ForEachModel([](const ModelSpec& model, const WeightStorage& /*storage*/) {
    Bytes moved;
    for (const int64_t context : {1, 100, 2048, 65'536}) {
      const auto traffic = TrafficOfStep(model, kBF16, TokenCount(context));
      REQUIRE_MESSAGE(traffic.has_value(), traffic.error().message);
      CHECK_LE(traffic->rows, traffic->all_rows);
      CHECK_GE(traffic->Moved(), moved);
      moved = traffic->Moved();
    }
  });
}

}  // namespace cairn
