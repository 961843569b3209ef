#include "cairn/base/base64.h"

#include <doctest/doctest.h>

#include <string_view>

namespace cairn {

TEST_CASE("base64 is what RFC 4648 gives for its own examples") {
  const auto of = [](std::string_view text) { return Base64(std::as_bytes(std::span(text))); };
  CHECK(of("") == "");
  CHECK(of("f") == "Zg==");
  CHECK(of("fo") == "Zm8=");
  CHECK(of("foo") == "Zm9v");
  CHECK(of("foob") == "Zm9vYg==");
  CHECK(of("fooba") == "Zm9vYmE=");
  CHECK(of("foobar") == "Zm9vYmFy");
  CHECK(of("\xFB\xFF\xBF") == "+/+/");
}

}  // namespace cairn
