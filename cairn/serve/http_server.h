// HttpServer: HTTP/1.1 over TCP for thousands of connections on one thread.
//
// It knows nothing of what it serves. A complete request becomes an exchange, which the handler
// answers at any later time, as a whole or as a stream; if its client leaves before, the handler is
// told so at once. Everything that a client decides has a bound (HttpServerOptions): header and
// body bytes, the time that a request may take to arrive, bytes that it doesn't read, connections.
// What exceeds one is answered, as far as it can be, with the fitting status and never with more
// memory.
//
// Invariants: an exchange ends exactly once, by Respond, EndStream or OnLeft; calls for an exchange
// that has ended do nothing. OnLeft may come after Respond or EndStream was posted, never twice.
// Thread safety: Run and the handler's calls are on one thread, everything else on any.
#ifndef CAIRN_SERVE_HTTP_SERVER_H_
#define CAIRN_SERVE_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/serve/http_parser.h"
#include "cairn/serve/http_response.h"

namespace cairn {

using ExchangeId = Id<struct ExchangeTag, int64_t>;

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  int64_t max_connections = 4096;
  HttpLimits limits = {};                         // of one request
  int64_t max_bodies_bytes = int64_t{256} << 20;  // of all connections
  int64_t max_unsent_bytes = int64_t{8} << 20;    // of one connection
  int64_t request_timeout_us = 60'000'000;        // from a request's first byte to its last
  int64_t idle_timeout_us = 75'000'000;           // between requests
  int64_t write_timeout_us = 60'000'000;          // without the client reading
  int64_t linger_timeout_us = 2'000'000;          // for a refused client to read the answer
};

struct HttpStats {
  int64_t connections = 0;  // open now
  int64_t accepted = 0;
  int64_t refused = 0;    // requests that broke a rule of HTTP or a bound
  int64_t timed_out = 0;  // slow in sending or reading
  int64_t left = 0;       // before their answer was complete
};

// All calls come on the thread of Run, and must return soon.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void OnRequest(ExchangeId id, HttpRequest request) = 0;
  // Nobody reads the answer any more. It may still be given.
  virtual void OnLeft(ExchangeId id) = 0;
  // About once a second.
  virtual void OnTick() {}
  // SIGINT or SIGTERM came.
  virtual void OnSignal() {}
};

class HttpServer {
 public:
  // Listens from now on, answers in Run. The handler must outlive the server.
  static Result<std::unique_ptr<HttpServer>> Listen(HttpServerOptions options,
                                                    HttpHandler& handler);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Until Stop, or until a drain is complete.
  virtual void Run() = 0;
  // SIGINT and SIGTERM become OnSignal from now on.
  virtual void CatchSignals() = 0;

  virtual void Respond(ExchangeId id, HttpResponse response) = 0;
  virtual void StartStream(ExchangeId id, std::string content_type) = 0;
  virtual void Write(ExchangeId id, std::string bytes) = 0;
  virtual void EndStream(ExchangeId id) = 0;
  // Drops the connection: a stream that must not look complete.
  virtual void Abort(ExchangeId id) = 0;
  // Runs the job on the thread of Run.
  virtual void Post(std::move_only_function<void()> job) = 0;

  // No new connections and requests; Run returns when the last exchange has ended, or at the time.
  virtual void Drain(int64_t deadline_us) = 0;
  virtual void Stop() = 0;

  // On the thread of Run.
  virtual const HttpStats& stats() const = 0;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_HTTP_SERVER_H_
