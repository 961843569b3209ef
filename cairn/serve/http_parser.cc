#include "cairn/serve/http_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "cairn/base/check.h"
#include "cairn/text/utf8.h"

namespace cairn {
namespace {

namespace http = boost::beast::http;

// "0\r\n\r\n", the least that still has to come of a message in chunks.
constexpr size_t kLastChunkBytes = 5;

ApiError RefusalOf(const boost::system::error_code& error, const HttpLimits& limits) {
  if (error == http::error::body_limit) {
    return {.type = ApiErrorType::kTooLarge,
            .message = fmt::format("the body has more than {} bytes", limits.body_bytes)};
  }
  if (error == http::error::header_limit) {
    return {.type = ApiErrorType::kHeaderTooLarge,
            .message = fmt::format("the header has more than {} bytes", limits.header_bytes)};
  }
  return {.type = ApiErrorType::kInvalidRequest,
          .message = fmt::format("not an HTTP request: {}", ForMessage(error.message()))};
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (boost::beast::iequals({key.data(), key.size()}, {name.data(), name.size()})) return value;
  }
  return {};
}

struct HttpParser::Impl {
  HttpLimits limits;
  http::request_parser<http::string_body> parser;
  State state = State::kNeedsMore;
  ApiError refusal;
  bool continue_asked = false;

  bool in_chunks() const { return parser.is_header_done() && parser.chunked(); }
};

HttpParser::HttpParser(const HttpLimits& limits) : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  impl_->parser.eager(true);
  impl_->parser.header_limit(static_cast<uint32_t>(limits.header_bytes));
  impl_->parser.body_limit(static_cast<uint64_t>(limits.body_bytes));
}

HttpParser::~HttpParser() = default;

size_t HttpParser::Feed(std::string_view input) {
  size_t taken = 0;
  while (impl_->state == State::kNeedsMore && taken < input.size()) {
    boost::system::error_code error;
    const std::string_view rest = input.substr(taken);
    // No message ends sooner, and Beast before 1.86 asserts that a last chunk isn't tried again
    // with less.
    if (impl_->in_chunks() && rest.size() < kLastChunkBytes) break;
    const size_t used = impl_->parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    taken += used;
    if (error && error != http::error::need_more) {
      impl_->state = State::kRefused;
      impl_->refusal = RefusalOf(error, impl_->limits);
    } else if (impl_->parser.is_done()) {
      impl_->state = State::kComplete;
    } else if (error == http::error::need_more || used == 0) {
      break;
    }
  }
  if (impl_->state == State::kNeedsMore) BoundLines(input.size() - taken);
  return taken;
}

// A chunk's first line and the trailer, of which Beast takes nothing before it has seen their end.
void HttpParser::BoundLines(size_t pending_bytes) {
  if (!impl_->in_chunks() || std::cmp_less_equal(pending_bytes, impl_->limits.header_bytes)) return;
  impl_->state = State::kRefused;
  impl_->refusal = RefusalOf(http::error::header_limit, impl_->limits);
}

HttpParser::State HttpParser::state() const { return impl_->state; }
const ApiError& HttpParser::refusal() const { return impl_->refusal; }

bool HttpParser::TakeWantsContinue() {
  if (impl_->continue_asked || impl_->state != State::kNeedsMore) return false;
  if (!impl_->parser.is_header_done()) return false;
  impl_->continue_asked = true;
  const auto& request = impl_->parser.get();
  return boost::beast::iequals(request[http::field::expect], "100-continue");
}

bool HttpParser::keep_alive() const {
  return impl_->state == State::kComplete && impl_->parser.keep_alive();
}

bool HttpParser::is_http_1_0() const { return impl_->parser.get().version() < 11; }

int64_t HttpParser::body_bytes() const {
  return static_cast<int64_t>(impl_->parser.get().body().size());
}

HttpRequest HttpParser::Take() {
  CAIRN_CHECK(impl_->state == State::kComplete);
  auto message = impl_->parser.release();
  const auto text = [](boost::beast::string_view view) {
    return std::string(view.data(), view.size());
  };
  HttpRequest request;
  request.method = text(message.method_string());
  request.path = text(message.target());
  request.path.resize(std::min(request.path.find('?'), request.path.size()));
  for (const auto& field : message) {
    request.headers.emplace_back(text(field.name_string()), text(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace cairn
