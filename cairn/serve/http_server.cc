#include "cairn/serve/http_server.h"

#include <array>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <unordered_map>

#include "cairn/base/env.h"
#include "cairn/serve/api_error.h"

namespace cairn {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

using ConnectionId = Id<struct ConnectionTag, int64_t>;

constexpr size_t kReadBytes = 16 << 10;
// Of later requests, while one is being answered.
constexpr size_t kMaxPipelinedBytes = 64 << 10;
constexpr std::chrono::milliseconds kSweepEvery(100);
constexpr int kSweepsPerTick = 10;
constexpr std::chrono::milliseconds kAcceptPause(50);

enum class Phase : uint8_t {
  kRequest,   // a request is awaited or on its way
  kExchange,  // it is being answered
  kFlush,     // the answer is complete, and being sent
  kLinger,    // whatever still comes is thrown away, so that the client can read the answer
  kClosed,    // waits for its last operation
};

struct Connection {
  Connection(ConnectionId its_id, tcp::socket its_socket)
      : id(its_id), socket(std::move(its_socket)) {}

  const ConnectionId id;
  tcp::socket socket;
  Phase phase = Phase::kRequest;
  int operations = 0;  // that will still call back
  bool reading = false;
  bool writing = false;
  bool begun = false;  // the request that is awaited
  bool ended = false;  // the client sends no more
  bool left_told = false;
  int64_t deadline_us = 0;        // of what comes in
  int64_t write_deadline_us = 0;  // of what goes out, while writing

  std::array<char, kReadBytes> chunk;
  std::string input;
  std::unique_ptr<HttpParser> parser;
  int64_t counted_bytes = 0;  // of the body, in the server's sum

  ExchangeId exchange{0};
  bool keep_alive = false;
  bool is_head = false;
  bool chunked = false;    // of a stream's form
  bool streaming = false;  // its head is out
  std::string output;      // not yet given to the socket
  std::string sending;
};

class AsioServer final : public HttpServer {
 public:
  AsioServer(HttpServerOptions options, HttpHandler& handler)
      : options_(std::move(options)),
        handler_(handler),
        acceptor_(io_),
        sweep_timer_(io_),
        accept_timer_(io_),
        signals_(io_) {}

  Status Open();
  int port() const override { return port_; }
  void Run() override { io_.run(); }
  void CatchSignals() override;
  const HttpStats& stats() const override { return stats_; }
  void Stop() override { io_.stop(); }

  void Post(std::move_only_function<void()> job) override {
    asio::post(io_, [job = std::move(job)]() mutable { job(); });
  }
  void Respond(ExchangeId id, HttpResponse response) override {
    Post([this, id, response = std::move(response)] { DoRespond(id, response); });
  }
  void StartStream(ExchangeId id, std::string content_type) override {
    Post([this, id, type = std::move(content_type)] { DoStartStream(id, type); });
  }
  void Write(ExchangeId id, std::string bytes) override {
    Post([this, id, bytes = std::move(bytes)] { DoWrite(id, bytes); });
  }
  void EndStream(ExchangeId id) override {
    Post([this, id] { DoEndStream(id); });
  }
  void Abort(ExchangeId id) override {
    Post([this, id] { DoAbort(id); });
  }
  void Drain(int64_t deadline_us) override {
    Post([this, deadline_us] { DoDrain(deadline_us); });
  }

 private:
  void DoRespond(ExchangeId id, const HttpResponse& response);
  void DoStartStream(ExchangeId id, const std::string& content_type);
  void DoWrite(ExchangeId id, std::string_view bytes);
  void DoEndStream(ExchangeId id);
  void DoAbort(ExchangeId id);
  void DoDrain(int64_t deadline_us);
  void Accept();
  void OnAccepted(const error_code& error, tcp::socket socket);
  Connection* OfExchange(ExchangeId id);
  void StartRead(Connection& c);
  void OnRead(ConnectionId id, const error_code& error, size_t bytes);
  void OnInputEnd(Connection& c);
  void Process(Connection& c);
  bool CountBody(Connection& c);
  void BeginExchange(Connection& c);
  void Refuse(Connection& c, const ApiError& error);
  void AppendHead(Connection& c, const HttpResponse& response, HttpBody body);
  void FinishExchange(Connection& c);
  void StartWrite(Connection& c);
  void OnWritten(ConnectionId id, const error_code& error);
  void OnFlushed(Connection& c);
  void TellLeft(Connection& c);
  void Close(Connection& c);
  void EraseIfDone(ConnectionId id);
  void Sweep();
  void SweepOne(Connection& c, int64_t now_us);
  void WaitForSignal();

  const HttpServerOptions options_;
  HttpHandler& handler_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer sweep_timer_;
  asio::steady_timer accept_timer_;
  asio::signal_set signals_;
  int port_ = 0;
  std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
  std::unordered_map<ExchangeId, ConnectionId> exchanges_;
  int64_t next_connection_ = 1;
  int64_t next_exchange_ = 1;
  int64_t bodies_bytes_ = 0;
  int sweeps_ = 0;
  bool draining_ = false;
  int64_t drain_deadline_us_ = 0;
  HttpStats stats_;
};

Status AsioServer::Open() {
  error_code error;
  tcp::resolver resolver(io_);
  const auto found =
      resolver.resolve(options_.host, std::to_string(options_.port), tcp::resolver::passive, error);
  const auto refused = [&](std::string_view what) {
    return Fail(ErrorCode::kInvalidArgument, "--host {} --port {}: {}: {}", options_.host,
                options_.port, what, error.message());
  };
  if (error || found.empty()) return refused("no such address");
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return refused("cannot listen");
  port_ = acceptor_.local_endpoint(error).port();
  Accept();
  Sweep();
  return {};
}

void AsioServer::CatchSignals() {
  error_code ignored;
  signals_.add(SIGINT, ignored);
  signals_.add(SIGTERM, ignored);
  WaitForSignal();
}

void AsioServer::WaitForSignal() {
  signals_.async_wait([this](const error_code& error, int /*signal*/) {
    if (error) return;
    handler_.OnSignal();
    WaitForSignal();
  });
}

void AsioServer::Accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    OnAccepted(error, std::move(socket));
  });
}

void AsioServer::OnAccepted(const error_code& error, tcp::socket socket) {
  if (draining_ || error == asio::error::operation_aborted) return;
  if (error) {  // no descriptors are left, most likely: later there may be
    accept_timer_.expires_after(kAcceptPause);
    accept_timer_.async_wait([this](const error_code&) {
      if (!draining_) Accept();
    });
    return;
  }
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const ConnectionId id(next_connection_++);
  Connection& c =
      *connections_.emplace(id, std::make_unique<Connection>(id, std::move(socket))).first->second;
  ++stats_.accepted;
  ++stats_.connections;
  c.deadline_us = NowMicroseconds() + options_.idle_timeout_us;
  c.parser = std::make_unique<HttpParser>(options_.limits);
  if (stats_.connections > options_.max_connections) {
    Refuse(c, {.type = ApiErrorType::kUnavailable,
               .message = fmt::format("{} connections are open, as many as there may be",
                                      options_.max_connections)});
  } else {
    StartRead(c);
  }
  Accept();
}

Connection* AsioServer::OfExchange(ExchangeId id) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return nullptr;
  Connection& c = *connections_.at(found->second);
  return c.phase == Phase::kExchange && c.exchange == id ? &c : nullptr;
}

void AsioServer::TellLeft(Connection& c) {
  if (c.phase != Phase::kExchange || std::exchange(c.left_told, true)) return;
  ++stats_.left;
  handler_.OnLeft(c.exchange);
}

void AsioServer::Close(Connection& c) {
  if (c.phase == Phase::kClosed) return;
  TellLeft(c);
  exchanges_.erase(c.exchange);
  bodies_bytes_ -= std::exchange(c.counted_bytes, 0);
  c.phase = Phase::kClosed;
  --stats_.connections;
  error_code ignored;
  c.socket.close(ignored);
  // Not at once: the caller still looks at it.
  Post([this, id = c.id] { EraseIfDone(id); });
}

void AsioServer::EraseIfDone(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (found->second->phase == Phase::kClosed && found->second->operations == 0) {
    connections_.erase(found);
  }
  if (draining_ && connections_.empty()) io_.stop();
}

void AsioServer::StartRead(Connection& c) {
  if (c.reading || c.ended || c.phase == Phase::kClosed) return;
  if (c.phase == Phase::kExchange && c.input.size() >= kMaxPipelinedBytes) return;
  c.reading = true;
  ++c.operations;
  c.socket.async_read_some(asio::buffer(c.chunk),
                           [this, id = c.id](const error_code& e, size_t n) { OnRead(id, e, n); });
}

void AsioServer::OnRead(ConnectionId id, const error_code& error, size_t bytes) {
  Connection& c = *connections_.at(id);
  c.reading = false;
  --c.operations;
  if (c.phase == Phase::kClosed) return EraseIfDone(id);
  if (error == asio::error::eof) return OnInputEnd(c);
  if (error) return Close(c);
  if (c.phase != Phase::kLinger) {
    if (c.phase == Phase::kRequest && !std::exchange(c.begun, true)) {
      c.deadline_us = NowMicroseconds() + options_.request_timeout_us;
    }
    c.input.append(c.chunk.data(), bytes);
    if (c.phase == Phase::kRequest) Process(c);
  }
  StartRead(c);
}

// The client will send no more. It may still read: an answer that is under way is finished, but a
// long one isn't waited for.
void AsioServer::OnInputEnd(Connection& c) {
  c.ended = true;
  if (c.phase == Phase::kRequest || c.phase == Phase::kLinger) return Close(c);
  TellLeft(c);
}

void AsioServer::Process(Connection& c) {
  c.input.erase(0, c.parser->Feed(c.input));
  if (c.parser->state() == HttpParser::State::kRefused) {
    ++stats_.refused;
    return Refuse(c, c.parser->refusal());
  }
  if (!CountBody(c)) return;
  if (c.parser->TakeWantsContinue()) {
    c.output += "HTTP/1.1 100 Continue\r\n\r\n";
    StartWrite(c);
  }
  if (c.parser->state() == HttpParser::State::kComplete) BeginExchange(c);
}

// Into the sum over all connections; refuses what would exceed it.
bool AsioServer::CountBody(Connection& c) {
  const int64_t bytes = c.parser->body_bytes();
  bodies_bytes_ += bytes - std::exchange(c.counted_bytes, bytes);
  if (bodies_bytes_ <= options_.max_bodies_bytes) return true;
  ++stats_.refused;
  Refuse(c, {.type = ApiErrorType::kUnavailable,
             .message = "too many bodies of other requests are on their way: try again"});
  return false;
}

void AsioServer::BeginExchange(Connection& c) {
  if (draining_) {
    return Refuse(c, {.type = ApiErrorType::kUnavailable, .message = "the server is stopping"});
  }
  c.keep_alive = c.parser->keep_alive();
  c.chunked = !c.parser->is_http_1_0();
  c.streaming = false;
  c.left_told = false;
  HttpRequest request = c.parser->Take();
  c.is_head = request.method == "HEAD";
  c.exchange = ExchangeId(next_exchange_++);
  c.phase = Phase::kExchange;
  exchanges_.emplace(c.exchange, c.id);
  handler_.OnRequest(c.exchange, std::move(request));
}

// Answers in the server's own name; the connection ends.
void AsioServer::Refuse(Connection& c, const ApiError& error) {
  c.keep_alive = false;
  c.is_head = false;
  c.phase = Phase::kFlush;
  bodies_bytes_ -= std::exchange(c.counted_bytes, 0);
  const HttpResponse response{.status = error.status(), .body = OpenAiErrorJson(error)};
  AppendHead(c, response, HttpBody::kSized);
  c.output += response.body;
  StartWrite(c);
}

void AsioServer::AppendHead(Connection& c, const HttpResponse& response, HttpBody body) {
  c.keep_alive = c.keep_alive && !draining_ && !c.ended && body != HttpBody::kUntilClose;
  c.output += HttpHead(response, body, c.keep_alive ? "keep-alive" : "close");
}

void AsioServer::DoRespond(ExchangeId id, const HttpResponse& response) {
  Connection* c = OfExchange(id);
  if (c == nullptr || c->streaming) return;
  AppendHead(*c, response, HttpBody::kSized);
  if (!c->is_head) c->output += response.body;
  FinishExchange(*c);
}

void AsioServer::DoStartStream(ExchangeId id, const std::string& content_type) {
  Connection* c = OfExchange(id);
  if (c == nullptr || c->streaming) return;
  c->streaming = true;
  AppendHead(*c, {.content_type = content_type},
             c->chunked ? HttpBody::kChunked : HttpBody::kUntilClose);
  StartWrite(*c);
}

void AsioServer::DoWrite(ExchangeId id, std::string_view bytes) {
  Connection* c = OfExchange(id);
  if (c == nullptr || !c->streaming || bytes.empty()) return;
  c->output += c->chunked ? HttpChunk(bytes) : std::string(bytes);
  if (static_cast<int64_t>(c->output.size()) > options_.max_unsent_bytes) {
    ++stats_.timed_out;
    return Close(*c);  // nobody reads this fast enough
  }
  StartWrite(*c);
}

void AsioServer::DoEndStream(ExchangeId id) {
  Connection* c = OfExchange(id);
  if (c == nullptr || !c->streaming) return;
  if (c->chunked) c->output += "0\r\n\r\n";
  FinishExchange(*c);
}

void AsioServer::DoAbort(ExchangeId id) {
  Connection* c = OfExchange(id);
  if (c == nullptr) return;
  c->left_told = true;
  Close(*c);
}

void AsioServer::FinishExchange(Connection& c) {
  exchanges_.erase(c.exchange);
  bodies_bytes_ -= std::exchange(c.counted_bytes, 0);
  c.phase = Phase::kFlush;
  StartWrite(c);
}

void AsioServer::StartWrite(Connection& c) {
  if (c.writing || c.phase == Phase::kClosed) return;
  if (c.output.empty()) return OnFlushed(c);
  c.writing = true;
  ++c.operations;
  c.sending = std::exchange(c.output, {});
  c.write_deadline_us = NowMicroseconds() + options_.write_timeout_us;
  asio::async_write(c.socket, asio::buffer(c.sending),
                    [this, id = c.id](const error_code& e, size_t) { OnWritten(id, e); });
}

void AsioServer::OnWritten(ConnectionId id, const error_code& error) {
  Connection& c = *connections_.at(id);
  c.writing = false;
  --c.operations;
  if (c.phase == Phase::kClosed) return EraseIfDone(id);
  if (error) return Close(c);
  StartWrite(c);
}

// All is sent. A complete answer makes way for the next request.
void AsioServer::OnFlushed(Connection& c) {
  if (c.phase != Phase::kFlush) return;
  if (c.ended) return Close(c);
  const int64_t now_us = NowMicroseconds();
  if (!c.keep_alive || draining_) {
    error_code ignored;
    c.socket.shutdown(tcp::socket::shutdown_send, ignored);
    c.phase = Phase::kLinger;
    c.input.clear();
    c.deadline_us = now_us + options_.linger_timeout_us;
  } else {
    c.phase = Phase::kRequest;
    c.parser = std::make_unique<HttpParser>(options_.limits);
    c.begun = !c.input.empty();
    c.deadline_us = now_us + (c.begun ? options_.request_timeout_us : options_.idle_timeout_us);
    // Not from within the handler's own call: pipelined requests would pile up on the stack.
    if (c.begun) {
      Post([this, id = c.id] {
        const auto found = connections_.find(id);
        if (found == connections_.end() || found->second->phase != Phase::kRequest) return;
        Process(*found->second);
        StartRead(*found->second);
      });
    }
  }
  StartRead(c);
}

void AsioServer::Sweep() {
  const int64_t now_us = NowMicroseconds();
  // None is erased meanwhile: Close leaves that to a job.
  for (const auto& [id, connection] : connections_) SweepOne(*connection, now_us);
  if (++sweeps_ % kSweepsPerTick == 0) handler_.OnTick();
  if (draining_ && (connections_.empty() || now_us >= drain_deadline_us_)) return io_.stop();
  sweep_timer_.expires_after(kSweepEvery);
  sweep_timer_.async_wait([this](const error_code& error) {
    if (!error) Sweep();
  });
}

void AsioServer::SweepOne(Connection& c, int64_t now_us) {
  if (c.writing && now_us >= c.write_deadline_us) {
    ++stats_.timed_out;
    return Close(c);
  }
  const bool awaits_client = c.phase == Phase::kRequest || c.phase == Phase::kLinger;
  if (!awaits_client || now_us < c.deadline_us) return;
  if (c.phase == Phase::kLinger || !c.begun) return Close(c);
  ++stats_.timed_out;
  Refuse(c, {.type = ApiErrorType::kTimeout,
             .message = fmt::format("the request wasn't complete within {} s",
                                    options_.request_timeout_us / 1'000'000)});
}

void AsioServer::DoDrain(int64_t deadline_us) {
  drain_deadline_us_ = deadline_us;
  if (std::exchange(draining_, true)) return;
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& [id, connection] : connections_) {
    if (connection->phase == Phase::kRequest) Close(*connection);
  }
  if (connections_.empty()) io_.stop();
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(HttpServerOptions options,
                                                       HttpHandler& handler) {
  auto server = std::make_unique<AsioServer>(std::move(options), handler);
  CAIRN_TRY(server->Open());
  return server;
}

}  // namespace cairn
