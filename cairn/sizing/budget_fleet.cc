// The budget backwards: which devices hold so many users at so long a context.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cairn/sizing/budget.h"

namespace cairn {
namespace {

// The budget of a plan on cards of one size.
Result<BudgetAnswer> OnCards(const FleetQuestion& question, const ModelPlan& plan, int64_t cards,
                             Bytes memory) {
  BudgetQuestion budget;
  budget.memory = memory;
  budget.memory_fraction = question.memory_fraction;
  budget.cards = cards;
  budget.overhead = question.overhead;
  budget.stages = plan.stages;
  budget.context = question.context;
  budget.batch = question.users;
  return AnswerBudget(budget);
}

// What a card of any size would need, per count.
struct Plan {
  int64_t cards = 1;
  ModelPlan plan;
  Bytes needed;
};

std::vector<Column> DeviceColumns() {
  return {{"gpu", "device"},
          {"cards", "cards"},
          {"memory_bytes", "memory of each", Unit::kBytes},
          {"needed_bytes", "needed of each", Unit::kBytes},
          {"headroom_bytes", "headroom of each", Unit::kBytes},
          {"max_batch", "users that fit"}};
}

// The smallest count of the device that holds the users; no row where none does.
Status AddDevice(const FleetQuestion& question, const std::vector<Plan>& plans, const Gpu& gpu,
                 Table& table) {
  if (gpu.Memory() <= Bytes(0)) return {};
  for (const Plan& plan : plans) {
    if (plan.needed > gpu.Memory()) continue;
    CAIRN_ASSIGN(const BudgetAnswer answer, OnCards(question, plan.plan, plan.cards, gpu.Memory()));
    if (!answer.Fits()) continue;
    table.rows.push_back({std::string(gpu.name), plan.cards, CellOf(gpu.Memory()),
                          CellOf(plan.needed), CellOf(answer.Tightest().headroom),
                          answer.most_requests.value_or(0)});
    return {};
  }
  return {};
}

}  // namespace

Result<Section> FleetSection(const FleetQuestion& question) {
  Section section{.key = "fleet", .title = "Devices that hold the requests"};
  Table needs{.key = "needs", .label = "Memory that each card needs", .columns = {}};
  needs.columns = {{"cards", "cards"}, {"needed_bytes", "memory of each", Unit::kBytes}};
  std::vector<Plan> plans;
  for (const int64_t cards : question.counts) {
    auto plan = question.plan(cards);
    if (!plan) {
      section.notes.push_back(fmt::format("{} cards: {}", cards, plan.error().message));
      continue;
    }
    // Any positive memory will do: what is needed doesn't depend on it.
    CAIRN_ASSIGN(const BudgetAnswer answer, OnCards(question, *plan, cards, Bytes(1)));
    needs.rows.push_back({cards, CellOf(answer.memory_needed)});
    plans.push_back({.cards = cards, .plan = *std::move(plan), .needed = answer.memory_needed});
  }
  section.fields.push_back({"users", "requests", question.users});
  section.fields.push_back({"context", "tokens of each", CellOf(question.context), Unit::kTokens});
  section.fields.push_back({"memory_fraction", "of a card's memory", question.memory_fraction});
  Table devices{.key = "devices",
                .label = "Smallest count of each that holds them",
                .columns = DeviceColumns()};
  for (const Gpu& gpu : Gpus()) CAIRN_TRY(AddDevice(question, plans, gpu, devices));
  if (devices.rows.empty()) {
    section.warnings.emplace_back("no device of the table holds these requests in these counts");
  }
  section.tables.push_back(std::move(needs));
  section.tables.push_back(std::move(devices));
  section.notes.push_back(
      "needed = (weights + state + activations + overhead) / memory fraction; "
      "overhead: " +
      OverheadSentence(question.overhead));
  return section;
}

}  // namespace cairn
