// Setting: one way to keep a sequence's state, which is what eval compares; and a sequence under
// it.
//
// A setting is a model loaded with some stored forms of keys and values, and perhaps a token
// policy. Tasks see neither; they only say where the context ends, which is where a policy drops
// rows: what is asked comes later, so that it can't choose what is kept. Thread-compatible.
#ifndef CAIRN_EVAL_SETTING_H_
#define CAIRN_EVAL_SETTING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cairn/engine/sequence_runner.h"

namespace cairn {

struct EvalSetting {
  std::string name;                     // "q8_0", "q8_0/q4_0"
  Model* model = nullptr;               // outlives the setting
  TokenCount chunk{512};                // tokens computed at once; changes no bit
  const TokenPolicy* policy = nullptr;  // outlives the setting; null: all rows stay
};

// What the state costs, from the layout that `cairn size` adds up and the arena allocates by.
struct StateCost {
  Bytes bytes;  // of one sequence of that many tokens, allocated
  // Of rows: bits for each element of values, and of all other rows (keys, latents, index keys), a
  // mean over the rows that so many tokens see; absent where a model has no such rows. Rows of
  // exact ends are in the bytes alone: what they add to a row's bits shrinks as the context grows.
  std::optional<double> key_bits;
  std::optional<double> value_bits;
};
StateCost StateCostOf(const StateLayout& layout, TokenCount tokens);

// A sequence in a store of its own, with room for some forks at the same time.
class EvalSequence {
 public:
  static Result<std::unique_ptr<EvalSequence>> Begin(const EvalSetting& setting, TokenCount context,
                                                     int64_t forks = 0);
  // Made by Begin.
  EvalSequence(const EvalSetting& setting, SequenceRunner::Options options,
               std::unique_ptr<StateStore> store)
      : setting_(setting), options_(options), store_(std::move(store)) {}

  SequenceRunner& runner() { return *runner_; }
  // What was read so far is what will be asked about.
  Status EndContext();
  Bytes HeldBytes() const { return store_->HeldBytes(runner_->id()); }
  // Goes on from where the sequence is; must be gone before it.
  Result<std::unique_ptr<SequenceRunner>> Fork();
  // Sized = allocated: an error if the store holds other bytes than the layout says. REQUIRES no
  // fork is alive.
  Status CheckBytes() const;

 private:
  const EvalSetting& setting_;
  const SequenceRunner::Options options_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<SequenceRunner> runner_;  // before the store: it releases its sequence
};

}  // namespace cairn

#endif  // CAIRN_EVAL_SETTING_H_
