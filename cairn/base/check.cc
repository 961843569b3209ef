#include "cairn/base/check.h"

#include <fmt/core.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace cairn {
namespace {

std::atomic<CheckFailureHandler> g_handler{nullptr};

}  // namespace

CheckFailureHandler SetCheckFailureHandler(CheckFailureHandler handler) {
  return g_handler.exchange(handler);
}

void CheckFailed(const char* condition, const char* file, int line) {
  const std::string message = fmt::format("{}:{}: broken invariant: {}", file, line, condition);
  if (CheckFailureHandler handler = g_handler.load()) handler(message);
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace cairn
