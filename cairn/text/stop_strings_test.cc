#include "cairn/text/stop_strings.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

struct Streamed {
  std::string text;
  std::string matched;
};

// Pushes `text` in pieces that end at the given offsets.
Streamed Stream(std::vector<std::string> stops, std::string_view text, std::vector<size_t> cuts) {
  StopStrings stream = *StopStrings::Create(std::move(stops));
  Streamed result;
  size_t begin = 0;
  cuts.push_back(text.size());
  for (size_t end : cuts) {
    result.text += stream.Push(text.substr(begin, end - begin));
    begin = end;
  }
  result.text += stream.Flush();
  result.matched = stream.matched();
  return result;
}

TEST_CASE("text ends before the stop string, wherever the text is cut") {
  const std::string_view text = "one\n\nUser: two\nUser:";
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = a; b <= text.size(); ++b) {
      const Streamed streamed = Stream({"User:", "\n\n\n", "Use r"}, text, {a, b});
      CHECK(streamed.text == "one\n\n");
      CHECK(streamed.matched == "User:");
    }
  }
}

TEST_CASE(
    "text without a stop string comes through whole, also what looked like the start of one") {
  const std::string_view text = "aab aabb aa";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const Streamed streamed = Stream({"aabaa", "aac"}, text, {cut});
    CHECK(streamed.text == text);
    CHECK(streamed.matched.empty());
  }
}

TEST_CASE("the stop string that is complete first wins, and of those at one place the longest") {
  for (size_t cut = 0; cut <= 6; ++cut) {
    CHECK(Stream({"abcd", "bc"}, "xabcdx", {cut}).text == "xa");
    CHECK(Stream({"c", "bc", "abc"}, "xabcdx", {cut}).matched == "abc");
  }
}

TEST_CASE("no more is held back than may begin a stop string") {
  StopStrings stream = *StopStrings::Create({"<|end|>"});
  CHECK(stream.Push("hello <") == "hello ");
  CHECK(stream.Push("|en") == "");
  CHECK(stream.Push("!") == "<|en!");
  CHECK(stream.Push("x<|end|>y") == "x");
  CHECK(stream.stopped());
  CHECK(stream.Push("more").empty());
  CHECK(stream.Flush().empty());
}

TEST_CASE("without stop strings everything comes through at once") {
  StopStrings stream = *StopStrings::Create({});
  CHECK(stream.Push("abc") == "abc");
  CHECK(stream.Flush().empty());
}

TEST_CASE("an empty stop string and one that is no UTF-8 are errors") {
  CHECK(StopStrings::Create({"a", ""}).error().IsBadInput());
  CHECK(StopStrings::Create({"\xFF"}).error().IsBadInput());
}

}  // namespace
}  // namespace cairn
