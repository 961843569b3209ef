#include "cairn/spec/quoted.h"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("foreign text stays on one line, printable and short") {
  CHECK_EQ(Quoted("llama"), "\"llama\"");
  CHECK_EQ(Quoted("a\nb\xff"), "\"a\\x0ab\\xff\"");
  CHECK_EQ(Quoted(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
  CHECK_EQ(Quoted(""), "\"\"");
}

}  // namespace cairn
