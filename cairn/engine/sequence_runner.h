// SequenceRunner: one sequence of a model, fed token by token or chunk by chunk.
//
// Tokens are computed in chunks, so that neither working memory nor a window's blocks grow with the
// prompt; the chunk size changes no bit. After a failed Append the sequence holds the tokens that
// were appended before it failed. Thread-compatible.
#ifndef CAIRN_ENGINE_SEQUENCE_RUNNER_H_
#define CAIRN_ENGINE_SEQUENCE_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/models/model.h"
#include "cairn/policies/token_policy.h"
#include "cairn/state/state_store.h"

namespace cairn {

class SequenceRunner {
 public:
  struct Options {
    TokenCount context{4096};  // tokens that the sequence may hold
    TokenCount chunk{512};     // tokens computed at once
    // Which rows stay once EndPrompt was called, and after that; outlives the runner. Null: all.
    const TokenPolicy* policy = nullptr;
  };
  // Called after each chunk with the tokens done so far; false stops with kCancelled.
  using Progress = std::function<bool(TokenCount done)>;

  static Result<std::unique_ptr<SequenceRunner>> Make(Model& model, StateStore& store,
                                                      Options options);
  // Goes on with a sequence of the store that has read `tokens`; owns it, also after an error. No
  // policy holds for what it reads.
  // kInvalidArgument: more tokens than the context, or one outside the vocabulary.
  static Result<std::unique_ptr<SequenceRunner>> Continue(Model& model, StateStore& store,
                                                          Options options, SequenceId id,
                                                          std::vector<TokenId> tokens);
  ~SequenceRunner();
  SequenceRunner(const SequenceRunner&) = delete;
  SequenceRunner& operator=(const SequenceRunner&) = delete;

  // Errors: kInvalidArgument if the context would overflow or a token id is outside the vocabulary
  // (nothing is computed), kExhausted, kCancelled.
  Status Append(std::span<const TokenId> tokens, const Progress& progress = {});
  // Logits after the appended tokens `first` and following, `vocabulary` floats each.
  using LogitRows = std::function<void(int64_t first, std::span<const float> rows)>;
  // As Append; `rows` also gets the logits after every one of the tokens, in order, some at a time.
  Status AppendForLogits(std::span<const TokenId> tokens, const LogitRows& rows);
  // Logits after the last appended token. REQUIRES: something was appended.
  std::span<const float> logits();
  // What was appended so far is the prompt: the policy drops rows now, and then after each `every`
  // tokens more, wherever an Append ends. REQUIRES a policy, and something was appended.
  Status EndPrompt();
  // What was dropped; null: nothing.
  const DroppedRows* dropped() const { return store_.Dropped(id_); }
  // Keeps the first `tokens` tokens. Needs a new Append before logits(). kUnsupported under a
  // policy.
  Status Rewind(TokenCount tokens);

  std::span<const TokenId> tokens() const { return tokens_; }
  SequenceId id() const { return id_; }
  const Options& options() const { return options_; }

 private:
  SequenceRunner(Model& model, StateStore& store, Options options, SequenceId id);

  Status CheckAppend(std::span<const TokenId> tokens) const;
  Status DropRows();
  // How many of the next `most` tokens may be computed before rows are dropped.
  int64_t UntilDrop(int64_t most) const;
  // Computes one chunk; the model then has logits after its last `wanted` tokens.
  Status AppendChunk(std::span<const TokenId> chunk, int64_t wanted);

  Model& model_;
  StateStore& store_;
  const Options options_;
  const SequenceId id_;
  std::vector<TokenId> tokens_;
  std::unique_ptr<RowWatcher> watcher_;
  std::optional<TokenCount> prompt_;  // once it has ended
  std::vector<float> logits_;
  bool have_logits_ = false;
};

// The largest state that one sequence of the runner can ever hold: what its store's budget must be.
Bytes StateBytesFor(const StateLayout& layout, const SequenceRunner::Options& options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_SEQUENCE_RUNNER_H_
