// Socket: a TCP connection to a server, with a deadline for everything.
//
// Deadlines are by NowMicroseconds(). Only the system's lookup of a host's name has limits of its
// own (some seconds); addresses in digits need none. Movable; used by one thread at a time. Errors
// name the server.
#ifndef CAIRN_BASE_SOCKET_H_
#define CAIRN_BASE_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cairn/base/status.h"

namespace cairn {

class Socket {
 public:
  // Tries all addresses of the host in turn. Errors (kIo): an unknown name, refused, unreachable,
  // too late.
  static Result<Socket> Connect(const std::string& host, uint16_t port, int64_t deadline_us);

  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // All of the pieces, one behind the other; after an error any part of them went out.
  Status Send(std::span<const std::span<const std::byte>> pieces, int64_t deadline_us);
  // Waits for the first bytes; how many came. 0: the server closed the connection.
  Result<size_t> Receive(std::span<std::byte> to, int64_t deadline_us);

 private:
  Socket(int fd, std::string server) : fd_(fd), server_(std::move(server)) {}
  Status WaitUntil(short events, int64_t deadline_us, const char* action) const;

  int fd_ = -1;
  std::string server_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_SOCKET_H_
