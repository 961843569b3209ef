// Generating text with one sequence: what `run` and `chat` share.
#ifndef CAIRN_TOOLS_GENERATION_H_
#define CAIRN_TOOLS_GENERATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/engine/sampler.h"
#include "cairn/engine/sequence_runner.h"
#include "cairn/state/state_key.h"
#include "cairn/state/state_manager.h"
#include "cairn/text/tokenizer.h"
#include "tools/model_args.h"
#include "tools/tier_args.h"

namespace CLI {
class App;
}

namespace cairn {

struct GenerationArgs {
  SamplingOptions sampling;
  int64_t seed = -1;       // -1: a fresh one
  int64_t max_tokens = 0;  // 0: until the model ends or the context is full
  std::vector<std::string> stop;
  bool ignore_end = false;
  std::string session;  // a file that the sequence is taken from and left in; empty: none
  TierArgs tiers;
  std::string token_policy;  // empty: all rows stay

  void AddFlags(CLI::App& command, int64_t default_max_tokens);
};

enum class FinishReason : uint8_t { kEndOfText, kLength, kStopString, kInterrupted };

struct TextAnswer {
  std::string text;
  std::vector<TokenId> tokens;  // without the end-of-generation token
  bool is_read = true;          // whether the sequence has read the last of them, too
  FinishReason finish = FinishReason::kLength;
  int64_t prompt_tokens = 0;  // computed
  StateOrigin origin;         // of those that weren't, with a tier
  int64_t prompt_us = 0;
  int64_t answer_us = 0;  // from the first token's logits to the last token

  double PromptTokensPerSecond() const;
  double AnswerTokensPerSecond() const;
};

std::string_view NameOf(FinishReason reason);

// A model, its tokenizer and one sequence of state.
class TextGenerator {
 public:
  static Result<std::unique_ptr<TextGenerator>> Open(const ModelArgs& model,
                                                     const GenerationArgs& generation);

  // Appends the prompt (shown as progress) and generates. `emit` gets each piece of text as soon as
  // it is certain. An interrupt (terminal.h) ends the answer, not the generator.
  Result<TextAnswer> Generate(std::span<const TokenId> prompt,
                              const std::function<void(std::string_view)>& emit);

  // Keeps the longest prefix of `tokens` that the sequence has read; at least one token is left to
  // be computed, for its logits are what comes next. Returns how many are kept.
  Result<TokenCount> KeepCommonPrefix(std::span<const TokenId> tokens);

  // Tokens that came with the session file, and what its owner had noted.
  TokenCount restored() const { return restored_; }
  const std::string& note() const { return note_; }
  // Leaves the sequence in the session file, with all tokens of the answer. REQUIRES the file was
  // named.
  Status SaveSession(const TextAnswer& answer, std::string_view note);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  SequenceRunner& runner() { return *runner_; }
  const Model& model() const { return *opened_.model; }
  const StateStore& store() const { return *store_; }
  const OpenedModel& opened() const { return opened_; }
  uint64_t seed() const { return seed_; }

 private:
  TextGenerator(OpenedModel opened, Tokenizer tokenizer, std::unique_ptr<StateStore> store,
                const GenerationArgs& args, uint64_t seed);

  Status OpenManager();
  Status ResumeFromTiers(std::span<const TokenId> prompt, TextAnswer& answer);
  Status AppendPrompt(std::span<const TokenId> prompt, TextAnswer& answer);
  Status StartSequence(const SequenceRunner::Options& options);
  StateKey Key() const;

  OpenedModel opened_;
  std::unique_ptr<TokenPolicy> policy_;  // null: all rows stay
  Tokenizer tokenizer_;
  std::unique_ptr<StateStore> store_;
  OpenedTiers tiers_;
  std::unique_ptr<StateManager> manager_;  // null: no tiers
  std::unique_ptr<SequenceRunner> runner_;
  const GenerationArgs args_;
  const uint64_t seed_;
  Sampler sampler_;
  TokenCount restored_;
  std::string note_;
};

// The tokenizer in a GGUF file, or beside the safetensors that were opened from `path`.
Result<Tokenizer> OpenTokenizer(const WeightFile& file, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_TOOLS_GENERATION_H_
