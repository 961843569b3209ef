// What a person at a terminal sees: progress on stderr, numbers with units.
#ifndef CAIRN_TOOLS_TERMINAL_H_
#define CAIRN_TOOLS_TERMINAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cairn/base/ids.h"

namespace cairn {

// One line on stderr that Update rewrites and the destructor wipes; silent unless stderr is a
// terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::string_view text);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(std::string_view text) const;

 private:
  const bool visible_;
};

// "1.25 MiB (1,310,720 bytes)"
std::string BytesText(Bytes bytes);
// 1310720 -> "1,310,720"
std::string WithSeparators(int64_t value);

// Whether standard output is a terminal, and how many columns it has (100 if it isn't one).
bool OutputIsTerminal();
int OutputColumns();

// Ctrl-C sets a flag instead of ending the process; a second one ends it.
void CatchInterrupts();
bool Interrupted();
// Forgets an interrupt that was dealt with.
void ClearInterrupt();

}  // namespace cairn

#endif  // CAIRN_TOOLS_TERMINAL_H_
