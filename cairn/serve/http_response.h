// The bytes that begin an HTTP/1.1 response. Pure; thread-safe.
#ifndef CAIRN_SERVE_HTTP_RESPONSE_H_
#define CAIRN_SERVE_HTTP_RESPONSE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string cache_control = "no-store";  // answers are nobody else's
};

enum class HttpBody : uint8_t { kSized, kChunked, kUntilClose };

// Up to the empty line. The sized body's length is the response's own.
std::string HttpHead(const HttpResponse& response, HttpBody body, std::string_view connection);
// A piece of a chunked body; an empty one would end it. REQUIRES not empty.
std::string HttpChunk(std::string_view bytes);

}  // namespace cairn

#endif  // CAIRN_SERVE_HTTP_RESPONSE_H_
