// Engine: many generations at once on one model. Token ids in, token ids out.
//
// Submit queues a generation, Step moves all of them on by one batch and tells the listener what
// came of it. State is shared through the StateManager: what others have read is not read again.
// What a generation answers depends on its request alone: not on who else is there, on chunks,
// preemption or where its prefix came from.
//
// Thread safety: none. One thread calls everything; listeners are called on it, from within Step,
// and must not call the engine back. Time comes from the options' clock and may be virtual.
#ifndef CAIRN_ENGINE_ENGINE_H_
#define CAIRN_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/engine/sampler.h"
#include "cairn/models/model.h"
#include "cairn/policies/policy_settings.h"
#include "cairn/spec/pooling.h"
#include "cairn/state/state_manager.h"

namespace cairn {

using GenerationId = Id<struct GenerationTag, int64_t>;

// Which tokens may come next, of answers that must follow a grammar. One object per answer; it sees
// every token of it in order.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Sets scores of tokens that may not come now to minus infinity. At least one is left.
  virtual void Restrict(std::span<float> logits) = 0;
  virtual void Accept(TokenId token) = 0;
  // A copy in its present state.
  virtual std::unique_ptr<TokenConstraint> Clone() const = 0;
};

// A text, as tokens, to go on with.
struct GenerationRequest {
  std::vector<TokenId> prompt;  // at least one token
  int64_t max_tokens = 0;       // of each answer; 0: the prompt is read and kept, nothing more
  int32_t answers = 1;          // forks of the prompt, at most kMaxAnswers; answer i draws with
                                // seed + i
  SamplingOptions sampling;
  // Added to logits before all else, by rising id; minus infinity forbids a token.
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::vector<TokenId> ends;  // an answer ends where it would come to one of these
  bool wants_logprobs = false;
  int32_t top_logprobs = 0;                     // that many of the likeliest tokens beside each
  std::unique_ptr<TokenConstraint> constraint;  // null: any token
  std::string tenant;                           // state is shared within a tenant only
  int32_t priority = 0;                         // higher ones first
  int64_t deadline_us = 0;                      // of the engine's clock, 0: none
  // An embedding of the prompt is wanted: one answer of no tokens. Its state is computed anew and
  // not kept, for an embedding is of tokens' hidden states, which state doesn't hold.
  std::optional<Pooling> embedding = {};
  // Which tokens' rows stay from the prompt's end on; absent: all. What was dropped is lost: the
  // answer's state is kept for nobody, the prompt's before its end is.
  std::optional<PolicySettings> policy = {};
};

inline constexpr int32_t kMaxAnswers = 128;

struct TokenLogprob {
  TokenId token;
  float logprob = 0;  // natural logarithm, of the softmax over the model's logits
};

// One more token of an answer.
struct GeneratedToken {
  GenerationId id;
  int32_t answer = 0;
  TokenId token;
  float logprob = 0;                        // if wanted
  std::span<const TokenLogprob> likeliest;  // if wanted; likeliest first
};

enum class GenerationEnd : uint8_t {
  kEnd,        // one of `ends`
  kLength,     // max_tokens
  kContext,    // the context is full
  kStopped,    // the listener said so
  kCancelled,  // Cancel
  kDeadline,
  kFailed,  // `problem` says why
};

struct GenerationUsage {
  TokenCount prompt;
  StateOrigin origin;  // where the prompt's state came from when it first began
  int64_t preemptions = 0;
  TokenCount dropped;          // tokens whose rows the answer lost, in the mean over all heads
  int64_t queued_us = 0;       // from Submit until its first batch
  int64_t first_token_us = 0;  // from Submit
};

// The end of one answer; after the last of a generation's answers its id means nothing any more.
struct GenerationEnded {
  GenerationId id;
  int32_t answer = 0;
  GenerationEnd reason = GenerationEnd::kEnd;
  int64_t tokens = 0;   // of this answer
  bool last = true;     // of the generation's answers
  std::string problem;  // of kFailed
  GenerationUsage usage;
};

class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  // False ends this answer here (kStopped); the token counts as one of it.
  virtual bool OnToken(const GeneratedToken& token) = 0;
  virtual void OnEnd(const GenerationEnded& end) = 0;
  // Of a generation that wants one, before its OnEnd; not of length 1. Nothing of one that fails.
  virtual void OnEmbedding(GenerationId /*id*/, std::span<const float> /*embedding*/) {}
  // Asked when an answer ends, before OnEnd: whether it calls a tool, whose result will then come
  // back soon. A hint for what to keep.
  virtual bool CallsTool(GenerationId /*id*/, int32_t /*answer*/) { return false; }
  // Of the chunks of a long prompt, so that somebody can watch.
  virtual void OnPromptProgress(GenerationId /*id*/, TokenCount /*done*/, TokenCount /*total*/) {}
};

struct EngineStats {
  int64_t waiting = 0;
  int64_t running = 0;  // answers that have a sequence
  int64_t submitted = 0, finished = 0, failed = 0, cancelled = 0, refused = 0;
  int64_t preemptions = 0;
  int64_t steps = 0;
  int64_t prompt_tokens = 0;  // computed, those that were resumed aside
  int64_t resumed_tokens = 0;
  int64_t answer_tokens = 0;
  int64_t dropped_tokens = 0;  // whose rows token policies dropped, in the mean over all heads
  int64_t busy_us = 0;         // inside the model
  int64_t last_batch_tokens = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Errors, at once: kInvalidArgument (an empty prompt, a token outside the vocabulary, a prompt as
  // long as the context, an option out of range), kUnsupported (MissingBytes), kExhausted (the
  // queue is full). `listener` must outlive the generation.
  virtual Result<GenerationId> Submit(GenerationRequest request, GenerationListener& listener) = 0;
  // What the budget of state lacks for the request however long it waits; 0: nothing.
  virtual Bytes MissingBytes(const GenerationRequest& /*request*/) const { return {}; }
  // Its answers end with kCancelled in the next Step. An id that has ended is ignored.
  virtual void Cancel(GenerationId id) = 0;
  // From now on Submit refuses with kCancelled. What is there goes on to its end; what hasn't ended
  // at `deadline_us` (0: never) then ends with kDeadline. Step says kIdle when all is done.
  virtual void Drain(int64_t /*deadline_us*/) {}

  // One batch. kIdle: nothing is to be done until Submit; kWaiting: only reads and writes of lower
  // tiers are on the way, so it should be called again soon, but not at once.
  enum class Progress : uint8_t { kComputed, kWaiting, kIdle };
  virtual Progress Step() = 0;

  // What is at hand of the state of a tenant's tokens stays until Unpin, whatever the eviction
  // policy says. Between steps, as the next ones.
  virtual PinId Pin(const std::string& tenant, std::span<const TokenId> tokens) = 0;
  virtual void Unpin(PinId id) = 0;
  virtual StateManager::PinUse UseOf(PinId id) const = 0;
  // Of all pins, each byte once, and the budget that they take it from.
  virtual Bytes PinnedBytes() const = 0;
  virtual Bytes StateBudget() const = 0;
  // Drops from memory what begins with a tenant's tokens, and of them what nobody else uses but the
  // first `keep`; nothing that is pinned or that answers go on from. Returns the bytes freed.
  virtual Bytes Forget(const std::string& tenant, std::span<const TokenId> tokens,
                       TokenCount keep) = 0;

  virtual const EngineStats& stats() const = 0;
  virtual const ModelSpec& spec() const = 0;
  virtual TokenCount context() const = 0;
};

struct EngineOptions {
  TokenCount context{4096};     // of one sequence
  int64_t max_running = 64;     // answers at once
  int64_t max_waiting = 1024;   // generations
  TokenCount step_tokens{512};  // of one batch, at most
  // While answers wait for their next token, a batch takes only as many prompt tokens as keep a
  // step near this. 0: no such limit.
  int64_t target_step_us = 50'000;
  // Likewise, at most so many times what it takes without prompt tokens. 0: no such limit.
  double target_gap = 1.8;
  std::string weights = {};              // fingerprint of the model's files, for keys
  std::function<int64_t()> now_us = {};  // null: the machine's clock
};

// All must outlive the engine.
Result<std::unique_ptr<Engine>> MakeEngine(Model& model, StateManager& state,
                                           EngineOptions options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_ENGINE_H_
