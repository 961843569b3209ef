#include "cairn/base/parse_number.h"

#include <doctest/doctest.h>

#include <limits>

namespace cairn {
namespace {

TEST_CASE("decimal numbers are read to the last bit") {
  CHECK(ParseDouble("0") == 0.0);
  CHECK(ParseDouble("-0.5") == -0.5);
  CHECK(ParseDouble("0.1") == 0.1);
  CHECK(ParseDouble("3e8") == 3e8);
  CHECK(ParseDouble("1E-3") == 0.001);
  CHECK(ParseDouble("1.7976931348623157e308") == std::numeric_limits<double>::max());
  CHECK(ParseDouble("5e-324") == std::numeric_limits<double>::denorm_min());
}

TEST_CASE("anything else is no number") {
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "inf", "nan", "1e999", "1e", "--1", "1,5",
                           "1.2.3", "e5", "-"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseDouble(text).has_value());
  }
}

TEST_CASE("only the view's own characters count") {
  const std::string_view text = "12345";
  CHECK(ParseDouble(text.substr(1, 2)) == 23.0);
}

}  // namespace
}  // namespace cairn
