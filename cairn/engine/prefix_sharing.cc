#include "cairn/engine/prefix_sharing.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn {
namespace {

bool SameState(const Answer& a, const Answer& b) {
  return a.generation->tenant == b.generation->tenant && !a.alone && !b.alone && !a.lost_rows &&
         !b.lost_rows;
}

}  // namespace

// Most differ at once or not at all: pieces are compared by memcmp, the difference found in one.
TokenCount CommonPrefix(const Answer& a, const Answer& b) {
  constexpr size_t kPiece = 256;
  const size_t most = std::min(a.tokens.size(), b.tokens.size());
  for (size_t at = 0; at < most; at += kPiece) {
    const size_t count = std::min(kPiece, most - at);
    const TokenId* x = a.tokens.data() + at;
    const TokenId* y = b.tokens.data() + at;
    if (std::memcmp(x, y, count * sizeof(TokenId)) == 0) continue;
    const auto differs = std::mismatch(x, x + count, y).first - x;
    return TokenCount(static_cast<int64_t>(at) + differs);
  }
  return TokenCount(static_cast<int64_t>(most));
}

TokenCount HandOver(const Answer& waiting, const Answer& reader) {
  if (!SameState(waiting, reader)) return {};
  if (waiting.generation->request.priority > reader.generation->request.priority) return {};
  TokenCount common = std::min(CommonPrefix(waiting, reader), waiting.MostResumed());
  // One with a policy keeps nothing behind its prompt.
  if (reader.generation->policy) common = std::min(common, reader.generation->prompt);
  return common > reader.read && common - reader.kept >= kWorthWaiting ? common : TokenCount(0);
}

void WaitForPrefix(Answer& waiting, Answer& reader, TokenCount length) {
  if (length == TokenCount(0)) return;
  waiting.waits_for = &reader;
  waiting.waits_until = length;
  const auto at = std::ranges::lower_bound(reader.cuts, length);
  if (at == reader.cuts.end() || *at != length) reader.cuts.insert(at, length);
}

void ReleaseWaiting(std::span<Answer* const> waiting, Answer& reader) {
  std::erase_if(reader.cuts, [&](TokenCount cut) { return !reader.lease || cut <= reader.kept; });
  for (Answer* answer : waiting) {
    if (answer->waits_for != &reader) continue;
    if (!reader.lease || answer->waits_until <= reader.kept) answer->waits_for = nullptr;
  }
}

SharedPrefix LongestShared(const Answer& answer, std::span<Answer* const> running) {
  SharedPrefix longest;
  for (Answer* other : running) {
    if (other == &answer || !SameState(answer, *other)) continue;
    const TokenCount tokens = std::min(CommonPrefix(answer, *other), other->read);
    if (tokens > longest.tokens) longest = {.with = other, .tokens = tokens};
  }
  return longest;
}

// Of those that shared with the leaver the one that shared most has all that they others did, so
// they can share it with that one.
void LeaveSharing(Answer& leaver, std::span<Answer* const> running) {
  Answer* heir = nullptr;
  for (Answer* answer : running) {
    if (answer->sharer != &leaver) continue;
    if (heir == nullptr || answer->shares > heir->shares) heir = answer;
  }
  if (heir != nullptr) {
    for (Answer* answer : running) {
      if (answer->sharer == &leaver) answer->sharer = heir;
    }
    heir->sharer = leaver.sharer;
    heir->shares = std::min(heir->shares, leaver.shares);
  }
  leaver.sharer = nullptr;
  leaver.shares = TokenCount(0);
}

}  // namespace cairn
