// CAIRN_CHECK: an invariant of our own code. Always on; CAIRN_DCHECK only in builds without NDEBUG.
//
// A failed check prints the condition and place, then calls the handler, which aborts. Tests
// replace the handler with one that throws, so that a broken invariant can be asserted.
// Input from outside the process must never reach a failing CHECK (status.h is for that).
#ifndef CAIRN_BASE_CHECK_H_
#define CAIRN_BASE_CHECK_H_

#include <string>

namespace cairn {

// Receives the message; must not return.
using CheckFailureHandler = void (*)(const std::string& message);

// Returns the previous handler. Thread-safe.
CheckFailureHandler SetCheckFailureHandler(CheckFailureHandler handler);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace cairn

#define CAIRN_CHECK(condition)                         \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::cairn::CheckFailed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define CAIRN_DCHECK(condition) static_cast<void>(0)
#else
#define CAIRN_DCHECK(condition) CAIRN_CHECK(condition)
#endif

#endif  // CAIRN_BASE_CHECK_H_
