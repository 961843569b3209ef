#include "cairn/text/utf8.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace cairn {
namespace {

std::string Lossy(std::string_view bytes) {
  Utf8Stream stream;
  const std::string text = stream.Push(bytes);
  return text + stream.Flush();
}

TEST_CASE("text that is UTF-8 is passed through, and its end is found valid") {
  for (const char* text :
       {"", "a", "é", "€", "𝔹", "日本\n\x7F", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    CHECK(FindInvalidUtf8(text) == std::string_view::npos);
    CHECK(Lossy(text) == text);
  }
}

TEST_CASE("bytes that are no UTF-8 become one mark for each longest prefix of a character") {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"\x80", "�"},
      {"\xFF\xFE", "��"},
      {"a\xC3", "a�"},
      {"\xC0\x80", "��"},                  // an overlong form
      {"\xE0\x80\x80", "���"},             // another
      {"\xED\xA0\x80", "���"},             // a surrogate
      {"\xF4\x90\x80\x80", "����"},        // over U+10FFFF
      {"\xE2\x82 x", "� x"},               // cut off by a space
      {"\xF0\x9F\x98\xE2\x82\xAC", "�€"},  // cut off by a character
      {"\xE2\x28\xA1", "�(�"},
  };
  for (const auto& [bytes, text] : cases) CHECK(Lossy(bytes) == text);
}

TEST_CASE("the offset of the first invalid byte is reported") {
  CHECK(FindInvalidUtf8("abc\xFF") == 3);
  CHECK(FindInvalidUtf8("é\xC3") == 2);
  CHECK(FindInvalidUtf8("\xC0\x80") == 0);
}

TEST_CASE("every way to cut bytes in two gives the same text, and only whole characters") {
  const std::string bytes =
      "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF0\x9F\xFF\xE2\x82z\xED\xA0\x80";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Utf8Stream stream;
    const std::string first = stream.Push(std::string_view(bytes).substr(0, cut));
    const std::string second = stream.Push(std::string_view(bytes).substr(cut));
    CHECK(FindInvalidUtf8(first) == std::string_view::npos);
    CHECK(FindInvalidUtf8(second) == std::string_view::npos);
    CHECK(first + second + stream.Flush() == Lossy(bytes));
  }
}

TEST_CASE("text of a file is one short line of UTF-8 in a message") {
  CHECK(ForMessage("abc") == "abc");
  CHECK(ForMessage("a\nb\x7F\xFF") == "a?b?�");
  const std::string shortened = ForMessage(std::string(59, 'x') + "éé");
  CHECK(shortened == std::string(59, 'x') + "...");
}

TEST_CASE("a stream can be used again after its end") {
  Utf8Stream stream;
  CHECK(stream.Push("\xE2\x82").empty());
  CHECK(stream.Flush() == "�");
  CHECK(stream.Push("\xAC") == "�");
  CHECK(stream.Flush().empty());
}

}  // namespace
}  // namespace cairn
