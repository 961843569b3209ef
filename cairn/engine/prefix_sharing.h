// Answers that begin alike: who waits for whom to read the common prefix, and whose rows are whose.
//
// If B begins as A does, and A is reading that just now, B waits until A has kept it; A stops at
// exactly that length, so that B can resume there whatever kind of state the model has. B is
// never more urgent than A, and A runs, so B doesn't wait for nothing.
//
// What running answers share is counted once: each but one of those with a common prefix says which
// other it shares how many tokens with, which makes a tree. An answer that leaves it is replaced by
// an heir. Pure functions on answers.
#ifndef CAIRN_ENGINE_PREFIX_SHARING_H_
#define CAIRN_ENGINE_PREFIX_SHARING_H_

#include <span>

#include "cairn/engine/generation.h"

namespace cairn {

// Fewer tokens than this are not worth waiting for.
inline constexpr TokenCount kWorthWaiting{128};

TokenCount CommonPrefix(const Answer& a, const Answer& b);

// The length at which the running `reader` could hand its state over to `waiting`, if that would
// save enough; else 0. A length that it has passed already isn't one.
TokenCount HandOver(const Answer& waiting, const Answer& reader);
// Makes `waiting` wait for that. REQUIRES: it waits for nobody; 0 is nothing to wait for.
void WaitForPrefix(Answer& waiting, Answer& reader, TokenCount length);
// `reader` has kept more tokens, or lost its lease: who waited for that needn't any more.
void ReleaseWaiting(std::span<Answer* const> waiting, Answer& reader);

// Which of the running answers `answer` shares most with, so far as they have read.
struct SharedPrefix {
  Answer* with = nullptr;
  TokenCount tokens;
};
SharedPrefix LongestShared(const Answer& answer, std::span<Answer* const> running);
// `leaver`, one of `running`, gives its place among those that share to one of them.
void LeaveSharing(Answer& leaver, std::span<Answer* const> running);

}  // namespace cairn

#endif  // CAIRN_ENGINE_PREFIX_SHARING_H_
