// From the bodies of /v1/contexts to what is to be done: new texts of contexts, and the jobs that
// read them. Thread-safe: everything here is const.
#ifndef CAIRN_SERVE_PREPARE_CONTEXT_H_
#define CAIRN_SERVE_PREPARE_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "cairn/serve/prepare_answer.h"

namespace cairn {

// Of facts.context unless it makes one. The answer's jobs, one at most, read the text and keep its
// state.
ApiResult<PreparedAnswer> PrepareContextMake(const ServedModel& model, std::string_view body,
                                             const RequestFacts& facts);
ApiResult<PreparedAnswer> PrepareContextAppend(const ServedModel& model, std::string_view body,
                                               const RequestFacts& facts);
ApiResult<PreparedAnswer> PrepareContextRewind(const ServedModel& model, std::string_view body,
                                               const RequestFacts& facts);
ApiResult<PreparedAnswer> PrepareContextFork(const ServedModel& model, std::string_view body,
                                             const RequestFacts& facts);

// The small bodies: nothing is the same as {}.
struct ContextTouch {
  std::optional<int64_t> ttl_us;
};
ApiResult<ContextTouch> ParseContextTouch(std::string_view body);
struct ContextRelease {
  bool forget = false;
};
ApiResult<ContextRelease> ParseContextRelease(std::string_view body);

}  // namespace cairn

#endif  // CAIRN_SERVE_PREPARE_CONTEXT_H_
