// SearchForms: the forms of the fewest bytes whose measured loss is within a goal.
//
// Two measurements say what a unit of keys' and of values' error costs (FormErrors); a choice is
// made by these prices, measured whole, and the prices are corrected by what it came to, a few
// times. What is returned was measured; nothing is promised that wasn't. Thread-compatible.
#ifndef CAIRN_EVAL_FORM_SEARCH_H_
#define CAIRN_EVAL_FORM_SEARCH_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/eval/form_choice.h"
#include "cairn/eval/task.h"

namespace cairn {

// The most that a state may cost: nats of mean divergence from the f32 state, and nats for each
// token of a far passage that is copied, over the f32 state.
struct StateGoal {
  std::string name;
  double kl = 0;
  double copy_nats = 0;
};
std::span<const StateGoal> StateGoals();  // the most exact first
std::string StateGoalNames();             // "near-lossless, high, ..."
// One of these by its name, or a number: the divergence.
Result<StateGoal> StateGoalOf(std::string_view text);

struct FormReport {
  StateGoal goal;
  TokenCount context;  // for which bytes were weighed
  LayerChoice layers;
  // Measured over `measured_tokens` tokens: the choice's, and what f16 has, which is as low as this
  // engine goes where activations are rounded.
  double kl = 0;
  double kl_floor = 0;
  double copy_over_f32 = 0;
  TokenCount measured_tokens;
  // The goal, or half of it above the floor where the floor leaves less.
  double kl_allowed = 0;
  bool reached = false;  // false: not even the most exact forms are within it; they are the choice
};

struct FormSearch {
  TaskInput input;        // its context is what is measured over
  EvalSetting reference;  // f32
  const ModelSpec* model = nullptr;
  const FormErrors* errors = nullptr;
  // A model of the same weights with these stored forms.
  std::function<Result<std::unique_ptr<Model>>(const StateCodecs& codecs)> load;
};

Result<FormReport> SearchForms(const FormSearch& search, const StateGoal& goal, TokenCount context);

}  // namespace cairn

#endif  // CAIRN_EVAL_FORM_SEARCH_H_
