// ContextPlan: what a request wants of contexts, from its body to the change that ends it. Plain
// data.
#ifndef CAIRN_SERVE_CONTEXT_PLAN_H_
#define CAIRN_SERVE_CONTEXT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/serve/context_table.h"
#include "cairn/serve/context_text.h"

namespace cairn {

struct ContextPlan {
  enum class Kind : uint8_t {
    kMake,
    kFork,
    kAppend,  // or rewind: the context becomes `text`
    kAnswer,  // goes on from the context
    kAppendAnswer,
  };
  Kind kind = Kind::kAnswer;
  std::string id = {};  // of all but kMake, once it is found
  // What kMake makes and kAppend leaves; of answers, the prompt.
  ContextText text = {};
  int64_t kept_tokens = 0;  // of those that the context had
  // Of kMake and kFork:
  std::optional<int64_t> ttl_us = std::nullopt;
  std::optional<bool> pin = std::nullopt;
  int64_t count = 1;  // forks
  // Of kAppendAnswer: what has come so far.
  GivenAnswer answer = {};

  ContextTable::UseKind use() const {
    const bool reads = kind == Kind::kAnswer || kind == Kind::kFork;
    return reads ? ContextTable::UseKind::kReads : ContextTable::UseKind::kChanges;
  }
};

// What became of the context that an answer goes on from, as the answer says it.
struct ContextNote {
  std::string id;
  int64_t tokens = 0;       // that it has now
  int64_t kept_tokens = 0;  // of those that it had before, with which the prompt begins
  bool appended = false;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_CONTEXT_PLAN_H_
