#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "cairn/sizing/budget.h"

namespace cairn {
namespace {

// 140 GB of weights and 320 KiB a token, divided by the cards, of which 8 at most.
Result<ModelPlan> LargePlan(int64_t cards) {
  if (cards > 8) return Fail(ErrorCode::kInvalidArgument, "the heads don't divide");
  ModelPlan plan;
  plan.stages.push_back({.stage = 0,
                         .weights = Bytes(140'000'000'000 / cards),
                         .activations = Bytes(int64_t{1} << 30),
                         .state = [=](TokenCount context, int64_t batch) -> Result<Bytes> {
                           return Bytes(context.value() * batch * 327'680 / cards);
                         }});
  return plan;
}

FleetQuestion Question(int64_t users) {
  FleetQuestion question;
  question.plan = LargePlan;
  question.context = TokenCount(8192);
  question.users = users;
  return question;
}

int64_t CardsOf(const Section& section, const std::string& gpu) {
  const Table& devices = section.tables[1];
  for (const auto& row : devices.rows) {
    if (std::get<std::string>(row[0]) == gpu) return std::get<int64_t>(row[1]);
  }
  return 0;
}

}  // namespace

TEST_CASE("each device has the smallest count that holds the users") {
  const auto section = FleetSection(Question(8));
  REQUIRE_MESSAGE(section.has_value(), section.error().message);
  // 140 GB + 21.5 GB of state over n cards, 2.3 GiB and more of overhead each, of 0.9 of a card.
  CHECK_EQ(CardsOf(*section, "H100 SXM"), 4);
  CHECK_EQ(CardsOf(*section, "B200"), 1);
  CHECK_EQ(CardsOf(*section, "MI300X"), 1);
  CHECK_EQ(CardsOf(*section, "H200 SXM"), 2);
  CHECK_EQ(CardsOf(*section, "T4"), 0);
  CHECK_EQ(section->tables[0].rows.size(), 4);
  CHECK_NE(section->notes.front().find("16 cards: the heads don't divide"), std::string::npos);
}

TEST_CASE("more users never need fewer cards") {
  const auto few = FleetSection(Question(1));
  const auto many = FleetSection(Question(64));
  REQUIRE(few.has_value());
  REQUIRE(many.has_value());
  for (const Gpu& gpu : Gpus()) {
    const int64_t more = CardsOf(*many, std::string(gpu.name));
    if (more != 0) CHECK_LE(CardsOf(*few, std::string(gpu.name)), more);
  }
}

TEST_CASE("users that nothing holds are said so") {
  const auto section = FleetSection(Question(100'000));
  REQUIRE(section.has_value());
  CHECK(section->tables[1].rows.empty());
  CHECK_EQ(section->warnings.size(), 1);
}

}  // namespace cairn
