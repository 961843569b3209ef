// HttpParser: the bytes of a connection to one HTTP/1 request, within bounds.
//
// Strict where leniency has let requests be smuggled: no space before a header's colon, not both
// lengths, no obsolete folding, no second Host. Thread-compatible.
#ifndef CAIRN_SERVE_HTTP_PARSER_H_
#define CAIRN_SERVE_HTTP_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/serve/api_error.h"

namespace cairn {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query; nothing here is decoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // Without regard to case; empty if absent.
  std::string_view Header(std::string_view name) const;
};

struct HttpLimits {
  int64_t header_bytes = int64_t{32}
                         << 10;  // also of a chunk's first line, and of what follows the last
  int64_t body_bytes = int64_t{32} << 20;
};

class HttpParser {
 public:
  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  enum class State : uint8_t { kNeedsMore, kComplete, kRefused };

  // Goes on with the connection's next bytes and returns how many were taken; the others must be
  // given again, with more behind them.
  size_t Feed(std::string_view input);
  State state() const;
  // Of kRefused.
  const ApiError& refusal() const;

  // The client waits for leave to send the body (Expect: 100-continue); true once.
  bool TakeWantsContinue();
  bool keep_alive() const;
  bool is_http_1_0() const;
  int64_t body_bytes() const;  // so far
  // REQUIRES kComplete; once.
  HttpRequest Take();

 private:
  void BoundLines(size_t pending_bytes);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_HTTP_PARSER_H_
