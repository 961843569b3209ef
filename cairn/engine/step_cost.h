// StepCost: what a step costs, learned from steps, and so how much of a prompt fits beside answers
// that wait for their next token.
//
// The model of cost is a sum: so much for each answer's token, so much for each prompt token. Both
// follow what is measured, so that they hold for the contexts and the machine as they are now.
// However few tokens a piece of a prompt has, each of its layers reads all state before it; where a
// step has room for a few tokens only, a piece therefore has more, and its layers are shared out
// among steps. A part of the layers counts as that part of the tokens.
// Results depend on time; nothing that is computed depends on them. Thread-compatible.
#ifndef CAIRN_ENGINE_STEP_COST_H_
#define CAIRN_ENGINE_STEP_COST_H_

#include <cstdint>

namespace cairn {

class StepCost {
 public:
  // A prompt goes on by so many tokens in each step, whatever that costs: it must not starve.
  static constexpr int64_t kLeastPromptTokens = 4;
  // Of a piece whose layers are shared out, so that reading the state before it counts little for
  // each token. More would have other prompts wait longer for its end.
  static constexpr int64_t kMostPieceTokens = 64;
  // Fewer cost about as much.
  static constexpr int64_t kLeastPieceTokens = 16;

  // A step beside answers should take at most `target_us`, and at most `gap` times what such a step
  // takes without prompt tokens, so that streams don't stutter. 0: no such target.
  explicit StepCost(int64_t target_us, double gap = 0) : target_us_(target_us), gap_(gap) {}

  // What a step of so many tokens took.
  void Observe(int64_t answer_tokens, double prompt_tokens, int64_t us);
  // How many prompt tokens keep a step with so many answers near the target; at most twice as many
  // as were last seen beside answers, since cost need not grow as it did so far.
  int64_t PromptTokens(int64_t answer_tokens) const;
  // Of the time of such a step, what each of its prompt tokens took.
  double PromptTokenUs(int64_t answer_tokens, double prompt_tokens, int64_t us) const;

  // ---- Pieces whose layers may be shared out ----

  // As PromptTokens, in parts of a token, and with no such least: a prompt has at least the time of
  // so many tokens, or a part of what the answers take.
  double Room(int64_t answer_tokens) const;
  // As how many tokens a piece counts.
  static int64_t Counted(int64_t tokens);
  // How many tokens a piece should have, of `left`, for a model of so many layers.
  static int64_t PieceTokens(double room, int64_t layers, int64_t left);
  // How many of the `left` layers of such a piece fit, at least one.
  static int64_t SliceLayers(double room, int64_t tokens, int64_t layers, int64_t left);

 private:
  // For prompt tokens; negative: none. Infinite: no limit.
  double TimeLeft(int64_t answer_tokens) const;

  const int64_t target_us_;
  const double gap_;
  double alone_us_ = 0;   // of an answer's token in the latest steps without prompt tokens
  double answer_us_ = 0;  // of one token; 0: not known yet
  double prompt_us_ = 0;
  double last_beside_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_STEP_COST_H_
