#include "cairn/base/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "cairn/base/env.h"

namespace cairn {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

std::unexpected<Error> Failure(const std::string& server, const char* action, int number) {
  return Fail(ErrorCode::kIo, "{}: cannot {}: {}", server, action,
              std::generic_category().message(number));
}

// Milliseconds for poll(), rounded up so that it does not spin before the deadline.
int MillisecondsUntil(int64_t deadline_us) {
  constexpr int64_t kLongest = 60'000;
  const int64_t left_us = std::max<int64_t>(deadline_us - NowMicroseconds(), 0);
  return static_cast<int>(std::min((left_us + 999) / 1000, kLongest));
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), server_(std::move(other.server_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(server_, other.server_);
  return *this;
}

Status Socket::WaitUntil(short events, int64_t deadline_us, const char* action) const {
  while (true) {
    pollfd waiting{.fd = fd_, .events = events, .revents = 0};
    const int ready = ::poll(&waiting, 1, MillisecondsUntil(deadline_us));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Failure(server_, action, errno);
    if (NowMicroseconds() >= deadline_us) {
      return Fail(ErrorCode::kIo, "{}: cannot {}: no answer in time", server_, action);
    }
  }
}

Result<Socket> Socket::Connect(const std::string& host, uint16_t port, int64_t deadline_us) {
  const std::string server = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int lookup = ::getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &hints, &found);
  if (lookup != 0) {
    return Fail(ErrorCode::kIo, "{}: cannot find the host: {}", server, ::gai_strerror(lookup));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  Status last = Fail(ErrorCode::kIo, "{}: the host has no address", server);
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), server);
    if (socket.fd_ < 0) {
      last = Failure(server, "open a socket", errno);
      continue;
    }
    if (::connect(socket.fd_, at->ai_addr, at->ai_addrlen) != 0) {
      int problem = errno;
      if (problem == EINPROGRESS) {
        last = socket.WaitUntil(POLLOUT, deadline_us, "connect");
        if (!last) continue;
        socklen_t size = sizeof(problem);
        ::getsockopt(socket.fd_, SOL_SOCKET, SO_ERROR, &problem, &size);
      }
      if (problem != 0) {
        last = Failure(server, "connect", problem);
        continue;
      }
    }
    // Requests are answered before the next one is sent: nothing is gained by waiting for more.
    const int on = 1;
    ::setsockopt(socket.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return socket;
  }
  return std::unexpected(last.error());
}

Status Socket::Send(std::span<const std::span<const std::byte>> pieces, int64_t deadline_us) {
  size_t skip = 0;  // bytes of the first piece that went out
  while (!pieces.empty()) {
    if (pieces.front().size() == skip) {
      pieces = pieces.subspan(1);
      skip = 0;
      continue;
    }
    std::array<iovec, 64> vectors;
    const size_t count = std::min(pieces.size(), vectors.size());
    for (size_t i = 0; i < count; ++i) {
      const std::span<const std::byte> rest = pieces[i].subspan(i == 0 ? skip : 0);
      vectors[i] = {const_cast<std::byte*>(rest.data()), rest.size()};
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return Failure(server_, "send", errno);
      CAIRN_TRY(WaitUntil(POLLOUT, deadline_us, "send"));
      continue;
    }
    skip += static_cast<size_t>(sent);
    while (!pieces.empty() && skip >= pieces.front().size()) {
      skip -= pieces.front().size();
      pieces = pieces.subspan(1);
    }
    // A server that takes a byte now and then would never make poll() wait.
    if (!pieces.empty() && NowMicroseconds() >= deadline_us) {
      return Fail(ErrorCode::kIo, "{}: cannot send: no answer in time", server_);
    }
  }
  return {};
}

Result<size_t> Socket::Receive(std::span<std::byte> to, int64_t deadline_us) {
  if (NowMicroseconds() >= deadline_us) {
    return Fail(ErrorCode::kIo, "{}: cannot receive: no answer in time", server_);
  }
  while (true) {
    const ssize_t got = ::recv(fd_, to.data(), to.size(), 0);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return Failure(server_, "receive", errno);
    CAIRN_TRY(WaitUntil(POLLIN, deadline_us, "receive"));
  }
}

}  // namespace cairn
