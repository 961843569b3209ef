#include "tools/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

namespace cairn {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void OnInterrupt(int signal) {
  if (g_interrupted != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_interrupted = 1;
}

}  // namespace

ProgressLine::ProgressLine(std::string_view text) : visible_(isatty(STDERR_FILENO) != 0) {
  Update(text);
}

ProgressLine::~ProgressLine() {
  if (visible_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::Update(std::string_view text) const {
  if (!visible_) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

std::string WithSeparators(int64_t value) {
  std::string digits = fmt::format("{}", value);
  const int first = digits.front() == '-' ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::string BytesText(Bytes bytes) {
  constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.value());
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} bytes", bytes.value());
  return fmt::format("{:.2f} {} ({} bytes)", value, kUnits[unit], WithSeparators(bytes.value()));
}

bool OutputIsTerminal() { return isatty(STDOUT_FILENO) != 0; }

int OutputColumns() {
  constexpr int kPlain = 100;
  winsize size = {};
  if (!OutputIsTerminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return kPlain;
  return size.ws_col == 0 ? kPlain : int{size.ws_col};
}

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  // Without SA_RESTART a blocked read of standard input ends, so that a prompt can be left.
  sigaction(SIGINT, &action, nullptr);
}

bool Interrupted() { return g_interrupted != 0; }

void ClearInterrupt() { g_interrupted = 0; }

}  // namespace cairn
