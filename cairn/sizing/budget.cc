#include "cairn/sizing/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {
namespace {

// What servers were seen to hold beside weights, state and activations: a CUDA context with loaded
// kernels, buffers of the communication library, captured graphs.
constexpr Bytes kContext{int64_t{768} << 20};
constexpr Bytes kCommunication{int64_t{512} << 20};
constexpr Bytes kGraphs{int64_t{512} << 20};

constexpr int64_t kMostRequests = 1'000'000;
constexpr Bytes kMostState{int64_t{1} << 61};  // keeps the sums below in 63 bits

Status CheckFraction(double fraction) {
  if (fraction > 0 && fraction <= 1) return {};
  return Fail(ErrorCode::kInvalidArgument, "--memory-fraction {}, expected more than 0, at most 1",
              fraction);
}

Status CheckQuestion(const BudgetQuestion& question) {
  CAIRN_TRY(CheckFraction(question.memory_fraction));
  CAIRN_CHECK(!question.stages.empty());
  if (question.memory <= Bytes(0)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: its memory isn't known; give it with a size",
                question.card.empty() ? std::string("the card") : question.card);
  }
  if (question.batch < 1 || question.batch > kMostRequests) {
    return Fail(ErrorCode::kInvalidArgument, "batch {}, expected 1 to {}", question.batch,
                kMostRequests);
  }
  return {};
}

Bytes Usable(Bytes memory, double fraction) {
  return Bytes(static_cast<int64_t>(std::floor(static_cast<double>(memory.value()) * fraction)));
}

bool HoldsActivations(const OverheadRule& rule) {
  return rule.kind == OverheadRule::Kind::kShareOfWeights;
}

StageAnswer Spend(const BudgetQuestion& question, const StageBudget& stage, Bytes state) {
  StageAnswer answer;
  answer.stage = stage.stage;
  answer.usable = Usable(question.memory, question.memory_fraction);
  answer.weights = stage.weights;
  answer.activations = HoldsActivations(question.overhead) ? Bytes(0) : stage.activations;
  answer.overhead = OverheadOf(question.overhead, stage.weights, question.cards);
  answer.left = answer.usable - answer.weights - answer.activations - answer.overhead;
  answer.state = state;
  answer.headroom = answer.left - state;
  return answer;
}

// Whether every stage holds so much; what can't be counted doesn't fit.
Result<bool> AllFit(const BudgetQuestion& question, const std::vector<StageAnswer>& spent,
                    TokenCount context, int64_t batch) {
  for (size_t i = 0; i < spent.size(); ++i) {
    const StageBudget& stage = question.stages[i];
    Bytes left = spent[i].left;
    if (stage.step && !HoldsActivations(question.overhead)) {
      const Result<Bytes> activations = stage.step(context, batch);
      if (!activations) return false;
      left = left + spent[i].activations - *activations;
    }
    if (left < Bytes(0)) return false;
    const Result<Bytes> state = stage.state(context, batch);
    if (!state || *state > left) return false;
  }
  return true;
}

Status Search(const BudgetQuestion& question, BudgetAnswer& answer) {
  const auto context_fits = [&](int64_t tokens) {
    return AllFit(question, answer.stages, TokenCount(tokens), question.batch);
  };
  const int64_t most = question.most_context.value();
  CAIRN_ASSIGN(const auto tokens, Largest(1, most, context_fits));
  if (tokens) answer.most_tokens = TokenCount(*tokens);
  answer.most_tokens_unbounded = tokens == most;
  const auto batch_fits = [&](int64_t batch) {
    return AllFit(question, answer.stages, question.context, batch);
  };
  CAIRN_ASSIGN(answer.most_requests, Largest(1, kMostRequests, batch_fits));
  answer.most_requests_unbounded = answer.most_requests == kMostRequests;
  return {};
}

Bytes Needed(const BudgetQuestion& question, const StageAnswer& stage) {
  const Bytes used = stage.weights + stage.activations + stage.overhead + stage.state;
  return Bytes(static_cast<int64_t>(
      std::ceil(static_cast<double>(used.value()) / question.memory_fraction)));
}

std::string Found(int64_t value, bool unbounded, std::string_view what) {
  return unbounded ? fmt::format("{} or more {}", value, what) : fmt::format("{} {}", value, what);
}

void AddSearches(const BudgetQuestion& question, const BudgetAnswer& answer, Section& section) {
  Field tokens{"max_context",
               fmt::format("longest context for {} request{}", question.batch,
                           question.batch == 1 ? "" : "s"),
               {},
               Unit::kTokens,
               "the largest at which state and activations still fit, by bisection"};
  if (answer.most_tokens) tokens.value = answer.most_tokens->value();
  Field requests{"max_batch",
                 fmt::format("most requests of {} tokens", question.context.value()),
                 {},
                 Unit::kNone,
                 "the largest number whose state and activations still fit, by bisection"};
  if (answer.most_requests) requests.value = *answer.most_requests;
  section.fields.push_back(std::move(tokens));
  section.fields.push_back(std::move(requests));
  if (answer.most_tokens_unbounded) {
    section.warnings.push_back("the state doesn't bound the context: the search ended at " +
                               Found(answer.most_tokens->value(), true, "tokens"));
  }
  if (answer.most_requests_unbounded) {
    section.warnings.push_back("the state doesn't bound the batch: the search ended at " +
                               Found(*answer.most_requests, true, "requests"));
  }
}

Table StagesTable(const BudgetAnswer& answer) {
  Table table{.key = "stages", .label = "A card of each stage", .columns = {}};
  table.columns = {{"stage", "stage"},
                   {"weights_bytes", "weights", Unit::kBytes},
                   {"activations_bytes", "activations", Unit::kBytes},
                   {"overhead_bytes", "overhead", Unit::kBytes},
                   {"left_bytes", "left for state", Unit::kBytes},
                   {"state_bytes", "state", Unit::kBytes},
                   {"headroom_bytes", "headroom", Unit::kBytes}};
  for (const StageAnswer& stage : answer.stages) {
    table.rows.push_back({int64_t{stage.stage}, CellOf(stage.weights), CellOf(stage.activations),
                          CellOf(stage.overhead), CellOf(stage.left), CellOf(stage.state),
                          CellOf(stage.headroom)});
  }
  return table;
}

void AddSpending(const BudgetQuestion& question, const StageAnswer& tight, Section& section) {
  if (!question.card.empty()) section.fields.push_back({"card", "card", question.card});
  section.fields.push_back({"cards", "cards that hold one copy", question.cards});
  section.fields.push_back(
      {"card_memory_bytes", "memory of a card", CellOf(question.memory), Unit::kBytes});
  section.fields.push_back(
      {"usable_bytes", "that may be used", CellOf(tight.usable), Unit::kBytes,
       fmt::format("{} x {}", question.memory.value(), question.memory_fraction)});
  section.fields.push_back({"weights_bytes", "weights", CellOf(tight.weights), Unit::kBytes});
  section.fields.push_back(
      {"activations_bytes", "activations", CellOf(tight.activations), Unit::kBytes});
  section.fields.push_back({"overhead_bytes", "runtime overhead (estimate)", CellOf(tight.overhead),
                            Unit::kBytes, OverheadSentence(question.overhead)});
  section.fields.push_back(
      {"left_bytes", "left for state", CellOf(tight.left), Unit::kBytes,
       fmt::format("{} - {} - {} - {}", tight.usable.value(), tight.weights.value(),
                   tight.activations.value(), tight.overhead.value())});
  section.fields.push_back(
      {"state_bytes", "state of the requests", CellOf(tight.state), Unit::kBytes});
  section.fields.push_back({"headroom_bytes", "headroom", CellOf(tight.headroom), Unit::kBytes,
                            fmt::format("{} - {}", tight.left.value(), tight.state.value())});
  section.bar = {{"weights", tight.weights},
                 {"activations", tight.activations},
                 {"overhead", tight.overhead},
                 {"state", tight.state},
                 {"free", std::max(tight.headroom, Bytes(0))},
                 {"not used", question.memory - tight.usable}};
}

}  // namespace

Bytes OverheadOf(const OverheadRule& rule, Bytes weights, int64_t cards) {
  if (rule.kind == OverheadRule::Kind::kShareOfWeights) {
    return Bytes(std::llround(static_cast<double>(weights.value()) * rule.share));
  }
  return kContext + kGraphs + (cards > 1 ? kCommunication : Bytes(0));
}

std::string OverheadSentence(const OverheadRule& rule) {
  if (rule.kind == OverheadRule::Kind::kShareOfWeights) {
    return fmt::format("{:.3g} % of the weights, activations among it", 100 * rule.share);
  }
  return "768 MiB for the context and kernels, 512 MiB for captured graphs, 512 MiB for "
         "communication if there are several cards";
}

Result<std::optional<int64_t>> Largest(int64_t least, int64_t most,
                                       const std::function<Result<bool>(int64_t)>& fits) {
  CAIRN_CHECK(least <= most);
  CAIRN_ASSIGN(const bool any, fits(least));
  if (!any) return std::nullopt;
  int64_t good = least;
  int64_t bad = most + 1;  // doesn't fit, or is past the end
  // Gallop first, so that the state of absurd sizes is seldom asked for.
  for (int64_t step = 1; good + step < bad; step *= 2) {
    CAIRN_ASSIGN(const bool fit, fits(good + step));
    if (!fit) {
      bad = good + step;
      break;
    }
    good += step;
  }
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    CAIRN_ASSIGN(const bool fit, fits(middle));
    (fit ? good : bad) = middle;
  }
  return good;
}

Result<BudgetAnswer> AnswerBudget(const BudgetQuestion& question) {
  CAIRN_TRY(CheckQuestion(question));
  BudgetAnswer answer;
  for (const StageBudget& stage : question.stages) {
    Bytes state;
    if (stage.mix) {
      state = *stage.mix;
    } else {
      CAIRN_ASSIGN(state, stage.state(question.context, question.batch));
    }
    if (state > kMostState || stage.weights > kMostState || stage.activations > kMostState) {
      return Fail(ErrorCode::kInvalidArgument,
                  "weights, activations or state take more bytes than can be counted");
    }
    answer.stages.push_back(Spend(question, stage, state));
    const auto at = answer.stages.size() - 1;
    if (answer.stages[at].headroom < answer.stages[answer.tightest].headroom) answer.tightest = at;
    answer.memory_needed = std::max(answer.memory_needed, Needed(question, answer.stages[at]));
  }
  CAIRN_TRY(Search(question, answer));
  return answer;
}

Result<Section> BudgetSection(const BudgetQuestion& question) {
  CAIRN_ASSIGN(const BudgetAnswer answer, AnswerBudget(question));
  const StageAnswer& tight = answer.Tightest();
  Section section{.key = "budget", .title = "Memory of a card"};
  AddSpending(question, tight, section);
  section.fields.push_back({"fits", "fits", answer.Fits()});
  AddSearches(question, answer, section);
  section.fields.push_back(
      {"memory_needed_bytes", "memory that a card needs", CellOf(answer.memory_needed),
       Unit::kBytes,
       fmt::format("({} weights + {} activations + {} overhead + {} state) / {}",
                   tight.weights.value(), tight.activations.value(), tight.overhead.value(),
                   tight.state.value(), question.memory_fraction)});
  if (answer.stages.size() > 1) section.tables.push_back(StagesTable(answer));
  section.notes.push_back("runtime overhead is an estimate: " +
                          OverheadSentence(question.overhead));
  if (tight.left < Bytes(0)) {
    section.warnings.emplace_back("the weights alone don't fit beside activations and overhead");
  } else if (!answer.Fits()) {
    section.warnings.emplace_back("the state of these requests doesn't fit");
  }
  return section;
}

}  // namespace cairn
