#include "cairn/serve/http_response.h"

#include <doctest/doctest.h>

#include <string>

namespace cairn {
namespace {

TEST_CASE("a head says status, type, length and what becomes of the connection") {
  const std::string head = HttpHead({.status = 405, .body = "abc", .headers = {{"Allow", "GET"}}},
                                    HttpBody::kSized, "close");
  CHECK(head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
  CHECK(head.contains("\r\nContent-Length: 3\r\n"));
  CHECK(head.contains("\r\nConnection: close\r\n"));
  CHECK(head.contains("\r\nAllow: GET\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
}

TEST_CASE("a stream has chunks, or ends with the connection") {
  CHECK(HttpHead({}, HttpBody::kChunked, "keep-alive").contains("Transfer-Encoding: chunked"));
  CHECK_FALSE(HttpHead({}, HttpBody::kUntilClose, "close").contains("Content-Length"));
  CHECK(HttpChunk(std::string(20, 'a')) == "14\r\n" + std::string(20, 'a') + "\r\n");
}

}  // namespace
}  // namespace cairn
