// The requests that are live together, and what they keep.
//
// Requests may begin with the same tokens: rows of the shared prefix are kept once, whole blocks of
// it too. Fixed components can't be shared while requests run: each moves its own. Of a window only
// the prefix rows that some request still sees are kept. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_REQUEST_MIX_H_
#define CAIRN_SIZING_REQUEST_MIX_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/state_layout.h"

namespace cairn {

inline constexpr int64_t kMaxRequests = 1'000'000'000;

// So many requests of so many tokens each, the shared prefix included.
struct RequestGroup {
  int64_t count = 1;
  TokenCount tokens;

  bool operator==(const RequestGroup&) const = default;
};

struct RequestMix {
  std::vector<RequestGroup> groups;
  TokenCount shared_prefix;  // of all requests; a shorter request is all prefix

  int64_t Requests() const;
  TokenCount Longest() const;
  bool operator==(const RequestMix&) const = default;
};

// The state of some requests, or a group of layers' part of it.
struct StateAmount {
  ElementCount content_elements;
  Bytes content_bytes;    // rows still needed for the next token, and what doesn't grow
  Bytes allocated_bytes;  // the whole blocks that hold them
  Bytes kv_bytes;         // rows there must be room for: min(tokens, W) of a window
  Bytes state_bytes;      // all that doesn't grow
  // Rows that a compressor still needs for its next entry; content and allocated count them, kv and
  // total don't, as published figures don't.
  Bytes open_window_bytes = {};

  Bytes TotalBytes() const { return kv_bytes + state_bytes; }
  bool operator==(const StateAmount&) const = default;
};

// `row_ranks` cards divide the rows that live as long as their sequence (decode context
// parallelism); the amount is the one's with the most. Errors: a request of more than
// kMaxStateTokens, more than kMaxRequests, a sum that passes 63 bits.
Result<StateAmount> AmountOf(const StateLayout& layout, const RequestMix& mix, int row_ranks = 1);

// Lines of "TOKENS", "COUNT x TOKENS" or "COUNT,TOKENS"; empty lines and what follows a # don't
// count. `where` names the text in errors.
Result<std::vector<RequestGroup>> ParseRequests(std::string_view text, std::string_view where);

}  // namespace cairn

#endif  // CAIRN_SIZING_REQUEST_MIX_H_
