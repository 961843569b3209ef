// Errors of the outside world: files, configs, flags, budgets.
//
// A Result<T> holds a T or an Error; Status is Result<void>. An Error's message says which input,
// what was wrong and what would be right, in one line. Our own mistakes are CHECKs (check.h), never
// Errors. Nothing here throws across a folder.
#ifndef CAIRN_BASE_STATUS_H_
#define CAIRN_BASE_STATUS_H_

#include <fmt/core.h>

#include <expected>
#include <string>
#include <utility>

namespace cairn {

enum class ErrorCode {
  kInvalidArgument,  // a flag, request or config value that can't be right
  kNotFound,         // a file or key that isn't there
  kUnsupported,      // well-formed, but nothing here can do it
  kCorrupt,          // bytes that contradict their own format
  kExhausted,        // a budget is used up
  kIo,               // the system refused a read or write
  kCancelled,        // the caller asked to stop
};

struct Error {
  ErrorCode code;
  std::string message;

  // True for input that a user can correct (exit code 2), false for failures (exit code 1).
  bool IsBadInput() const {
    return code == ErrorCode::kInvalidArgument || code == ErrorCode::kNotFound ||
           code == ErrorCode::kUnsupported || code == ErrorCode::kCorrupt;
  }
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

using Status = Result<void>;

// return Fail(ErrorCode::kCorrupt, "{}: tensor {} ends after the file", path, name);
template <class... Args>
std::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// Returns the error of `expression` to the caller, if it has one.
#define CAIRN_TRY(expression)                                        \
  do {                                                               \
    auto cairn_status = (expression);                                \
    if (!cairn_status) return std::unexpected(cairn_status.error()); \
  } while (false)

#define CAIRN_CONCAT_INNER(a, b) a##b
#define CAIRN_CONCAT(a, b) CAIRN_CONCAT_INNER(a, b)

// CAIRN_ASSIGN(auto file, MappedFile::Open(path)): the value, or the caller gets the error.
#define CAIRN_ASSIGN(declaration, expression) \
  CAIRN_ASSIGN_NAMED(CAIRN_CONCAT(cairn_result_, __LINE__), declaration, expression)
#define CAIRN_ASSIGN_NAMED(name, declaration, expression) \
  auto name = (expression);                               \
  if (!name) return std::unexpected(name.error());        \
  declaration = std::move(*name)

}  // namespace cairn

#endif  // CAIRN_BASE_STATUS_H_
