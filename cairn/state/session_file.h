// A sequence's state in a file of its own: what was read, and the bytes that came of it.
//
// The file (docs/session_format.md) holds the key that the state belongs to, the tokens, a note of
// the owner's and the state's blocks as they lie in memory, each part with its SHA-256. Blocks are
// taken back only under the same key and only if every byte is as it was written; else the tokens
// are still there, to be computed anew. Replaced as a whole, or not at all. Same thread as the
// store.
#ifndef CAIRN_STATE_SESSION_FILE_H_
#define CAIRN_STATE_SESSION_FILE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/state_key.h"
#include "cairn/state/state_store.h"

namespace cairn {

struct Session {
  std::vector<TokenId> tokens;
  std::string note;
  std::optional<SequenceId> state;  // of all the tokens; the caller's to release
  std::string why_not;              // if there is none: what was wrong with it
};

// Bytes of such a file: like all state, known before it is written.
Bytes SessionFileBytes(const StateLayout& layout, TokenCount tokens, Bytes note);

// REQUIRES the sequence is at rest and has read the tokens.
Status WriteSession(const std::string& path, const StateKey& key, std::span<const TokenId> tokens,
                    std::string_view note, const StateStore& store, SequenceId id);

// Errors: no such file, not a session file, another version, damaged before the state's blocks,
// too many sequences or no bytes in the store.
Result<Session> ReadSession(const std::string& path, const StateKey& key, StateStore& store);

}  // namespace cairn

#endif  // CAIRN_STATE_SESSION_FILE_H_
