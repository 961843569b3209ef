// What the scheduler knows of a generation and of each of its answers. Plain data.
#ifndef CAIRN_ENGINE_GENERATION_H_
#define CAIRN_ENGINE_GENERATION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cairn/engine/engine.h"
#include "cairn/engine/pooled_rows.h"
#include "cairn/engine/tenants.h"
#include "cairn/engine/token_chooser.h"
#include "cairn/policies/token_policy.h"
#include "cairn/state/state_manager.h"

namespace cairn {

struct Generation;

// One chain of tokens. Answers are scheduled each by itself: one that has to make room goes alone.
struct Answer {
  enum class Stage : uint8_t {
    kUnborn,   // answer 0 is still reading the prompt for it
    kWaiting,  // for a lease
    kRunning,  // has one
    kEnded,
  };

  Answer(Generation& of, int32_t at, const GenerationRequest& request)
      : generation(&of), index(at), chooser(request, at) {}

  Generation* generation;
  int32_t index;
  Stage stage = Stage::kUnborn;
  TokenChooser chooser;
  std::vector<TokenId> tokens;  // the prompt, and the answer so far
  int64_t produced = 0;         // tokens of the answer
  // It had a lease and lost it, or never got the fork it should have had: goes before new ones.
  bool preempted = false;
  // Nothing of it is kept: an embedding's, or there was no room for it while others could have
  // resumed from it.
  bool alone = false;

  // Of a lease.
  std::optional<LeaseId> lease;
  bool ready = false;  // what lower tiers had of it has been read
  TokenCount read;     // tokens that the model has read
  TokenCount kept;     // others may resume up to here
  int64_t points = 0;  // lengths at which it was kept
  // Of its rows the first `shares` tokens' are those of `sharer`, another running answer.
  Answer* sharer = nullptr;
  TokenCount shares;

  // Of a token policy.
  std::unique_ptr<RowWatcher> watcher;  // while rows will be dropped
  bool drop_due = false;                // now, before it goes on
  bool lost_rows = false;               // its state is its own alone from then on
  TokenCount dropped;                   // of its tokens, in the mean over all heads

  // Others wait for these lengths to be kept; see prefix_sharing.h.
  std::vector<TokenCount> cuts;
  Answer* waits_for = nullptr;
  TokenCount waits_until;  // it has kept so many tokens

  int64_t tried_in_step = -1;

  TokenCount size() const { return TokenCount(static_cast<int64_t>(tokens.size())); }
  TokenCount unread() const { return size() - read; }
  // Its next token is wanted now; otherwise there is a prompt, or what it lost, to be read.
  // What it may begin with of what others have kept, at most.
  TokenCount MostResumed() const;
  bool Answering() const { return produced > 0 && unread() == TokenCount(1); }
  std::span<const TokenId> ReadTokens() const {
    return std::span(tokens).first(static_cast<size_t>(read.value()));
  }
};

struct Generation {
  GenerationId id;
  GenerationRequest request;  // the prompt has moved to answer 0
  TokenCount prompt;
  GenerationListener* listener = nullptr;
  Tenant* tenant = nullptr;
  int64_t submitted_us = 0;
  bool cancelled = false;
  bool begun = false;      // some of it was in a batch
  bool answering = false;  // the prompt has been read, and all answers are born
  bool answered = false;   // with a token or more
  size_t ended = 0;        // answers
  GenerationUsage usage;
  std::optional<PooledRows> pooled;     // of one that wants an embedding, of the tokens read
  std::unique_ptr<TokenPolicy> policy;  // null: all rows stay
  std::vector<std::unique_ptr<Answer>> answers;
};

// All but the last token, which must be computed; and those whose queries a policy must see.
inline TokenCount Answer::MostResumed() const {
  const TokenCount most = size() - TokenCount(1);
  if (!generation->policy) return most;
  const TokenCount seen(std::max<int64_t>(1, generation->policy->needs().window));
  return std::max(TokenCount(0), std::min(most, generation->prompt - seen));
}

// Who keeps its lease when bytes are short: higher priority, then who came first. A total order.
inline bool Precedes(const Answer& a, const Answer& b) {
  const int32_t ours = a.generation->request.priority;
  const int32_t theirs = b.generation->request.priority;
  if (ours != theirs) return ours > theirs;
  if (a.generation != b.generation) return a.generation->id < b.generation->id;
  return a.index < b.index;
}

// Whose prompt is read next: higher priority, then who lost what it had, then the tenant that was
// served least, then who came first. A total order.
inline bool IsNext(const Answer& a, const Answer& b) {
  const int32_t ours = a.generation->request.priority;
  const int32_t theirs = b.generation->request.priority;
  if (ours != theirs) return ours > theirs;
  if (a.preempted != b.preempted) return a.preempted;
  const int64_t our_served = a.generation->tenant->served;
  const int64_t their_served = b.generation->tenant->served;
  if (our_served != their_served) return our_served < their_served;
  return Precedes(a, b);
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_GENERATION_H_
