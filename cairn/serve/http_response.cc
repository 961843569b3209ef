#include "cairn/serve/http_response.h"

#include <fmt/core.h>

#include "cairn/base/check.h"

namespace cairn {
namespace {

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

}  // namespace

std::string HttpHead(const HttpResponse& response, HttpBody body, std::string_view connection) {
  // Browsers mustn't guess what an answer is.
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nServer: cairn\r\nContent-Type: {}\r\nCache-Control: {}\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: {}\r\n",
      response.status, ReasonOf(response.status), response.content_type, response.cache_control,
      connection);
  for (const auto& [name, value] : response.headers) {
    CAIRN_CHECK(value.find_first_of("\r\n") == std::string::npos);
    head += fmt::format("{}: {}\r\n", name, value);
  }
  // What hasn't changed has no body, and no length to say.
  if (body == HttpBody::kSized && response.status != 304)
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  if (body == HttpBody::kChunked) head += "Transfer-Encoding: chunked\r\n";
  return head + "\r\n";
}

std::string HttpChunk(std::string_view bytes) {
  CAIRN_CHECK(!bytes.empty());
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace cairn
