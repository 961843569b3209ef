#include "cairn/serve/http_parser.h"

#include <doctest/doctest.h>

namespace cairn {
namespace {

constexpr HttpLimits kLimits = {.header_bytes = 1000, .body_bytes = 20};

// Feeds the bytes in pieces of that size, as a connection does.
HttpParser::State FeedAll(HttpParser& parser, std::string_view text, size_t piece) {
  std::string pending;
  while (!text.empty() && parser.state() == HttpParser::State::kNeedsMore) {
    pending += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    pending.erase(0, parser.Feed(pending));
  }
  return parser.state();
}

int RefusalOf(std::string_view text) {
  HttpParser parser(kLimits);
  if (FeedAll(parser, text, text.size()) != HttpParser::State::kRefused) return 0;
  return parser.refusal().status();
}

TEST_CASE("a request is the same however its bytes are cut") {
  const std::string text =
      "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Api-KEY: k\r\nContent-Length: 5\r\n\r\nhello";
  for (const size_t piece : {size_t{1}, size_t{7}, text.size()}) {
    HttpParser parser(kLimits);
    REQUIRE(FeedAll(parser, text, piece) == HttpParser::State::kComplete);
    CHECK(parser.keep_alive());
    const HttpRequest request = parser.Take();
    CHECK(request.method == "POST");
    CHECK(request.path == "/v1/x");
    CHECK(request.body == "hello");
    CHECK(request.Header("x-api-key") == "k");
    CHECK(request.Header("absent").empty());
  }
}

TEST_CASE("a body may come in chunks, and its limit holds for them, too") {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  HttpParser parser(kLimits);
  REQUIRE(FeedAll(parser, head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 1) ==
          HttpParser::State::kComplete);
  CHECK(parser.Take().body == "abcde");
  CHECK(RefusalOf(head + "ffff\r\n") == 413);
  CHECK(RefusalOf(head + "zz\r\n") == 400);
}

TEST_CASE("the end of a body in chunks may come in any pieces") {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string body :
       {"0\r\n\r\n", "0\r\nA: b\r\n\r\n", "1\r\na\r\n0;x=y\r\nA: b\r\n\r\n"}) {
    for (size_t cut = 1; cut < body.size(); ++cut) {
      for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, body.size()}) {
        HttpParser parser(kLimits);
        std::string pending = head + body.substr(0, cut);
        pending.erase(0, parser.Feed(pending));
        for (size_t at = cut; at < body.size(); at += piece) {
          REQUIRE(parser.state() == HttpParser::State::kNeedsMore);
          pending += body.substr(at, piece);
          pending.erase(0, parser.Feed(pending));
        }
        CHECK(parser.state() == HttpParser::State::kComplete);
      }
    }
  }
}

TEST_CASE("what may stand between the chunks and behind them is bounded like the header") {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string endless(2000, 'a');
  CHECK(RefusalOf(head + "1;" + endless) == 431);
  CHECK(RefusalOf(head + "1\r\na\r\n0\r\nA: " + endless) == 431);
  CHECK(RefusalOf(head + "0;" + endless) == 431);
  CHECK(RefusalOf(head + "1\r\na\r\n0\r\nA: " + endless.substr(0, 900)) == 0);
}

TEST_CASE("bytes behind a request are left for the next one") {
  HttpParser parser(kLimits);
  const std::string_view text = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
  CHECK(parser.Feed(text) == text.size() / 2);
  CHECK(parser.state() == HttpParser::State::kComplete);
}

TEST_CASE("what is too large or no HTTP has the fitting status") {
  CHECK(RefusalOf("POST / HTTP/1.1\r\nContent-Length: 21\r\n\r\n") == 413);
  CHECK(RefusalOf("GET / HTTP/1.1\r\nA: " + std::string(2000, 'a')) == 431);
  CHECK(RefusalOf("\x16\x03\x01\x02") == 400);  // a TLS client
  CHECK(RefusalOf("GET / HTTP/3.0\r\n\r\n") == 400);
  CHECK(RefusalOf("GET / HTTP/1.1\r\nA : b\r\n\r\n") == 400);
  CHECK(RefusalOf("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n") == 400);
  CHECK(RefusalOf("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n") ==
        400);
  CHECK(RefusalOf("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n") == 400);
  CHECK(RefusalOf("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n") == 400);
}

TEST_CASE("a client that waits for leave to send its body is seen once") {
  HttpParser parser(kLimits);
  parser.Feed("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  CHECK(parser.TakeWantsContinue());
  CHECK_FALSE(parser.TakeWantsContinue());
  HttpParser plain(kLimits);
  plain.Feed("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n");
  CHECK_FALSE(plain.TakeWantsContinue());
}

TEST_CASE("old clients and those that say so want one answer a connection") {
  HttpParser old(kLimits);
  old.Feed("GET / HTTP/1.0\r\n\r\n");
  CHECK(old.is_http_1_0());
  CHECK_FALSE(old.keep_alive());
  HttpParser closing(kLimits);
  closing.Feed("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  CHECK_FALSE(closing.keep_alive());
}

}  // namespace
}  // namespace cairn
