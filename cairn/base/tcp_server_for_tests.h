// TcpServer: a server on this machine that does to its clients what a test says.
#ifndef CAIRN_BASE_TCP_SERVER_FOR_TESTS_H_
#define CAIRN_BASE_TCP_SERVER_FOR_TESTS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "cairn/base/check.h"

namespace cairn {

// One client, for the thread that serves it.
class TcpClientOfTest {
 public:
  explicit TcpClientOfTest(int fd) : fd_(fd) {}
  // Some bytes; empty when the client, or the server's end, closed the connection.
  std::string Receive() const {
    std::string bytes(64 << 10, '\0');
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  // False when it is gone.
  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Reads and ignores until the client or the server is gone: a server that hangs.
  void Hang() const {
    while (!Receive().empty()) {
    }
  }

 private:
  int fd_;
};

// Serves each client by a thread of its own, which ends the connection when it returns.
class TcpServer {
 public:
  using Serve = std::function<void(const TcpClientOfTest&)>;

  // On a free port, or the given one.
  explicit TcpServer(Serve serve, uint16_t port = 0) : serve_(std::move(serve)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    CAIRN_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CAIRN_CHECK(::listen(listener_, 64) == 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~TcpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const Client& client : clients_) ::shutdown(client.fd, SHUT_RDWR);
    }
    for (Client& client : clients_) {
      client.thread.join();
      ::close(client.fd);
    }
  }
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  uint16_t port() const { return port_; }
  int connections() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(clients_.size());
  }

 private:
  struct Client {
    int fd;
    std::thread thread;
  };

  void Accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;  // or small answers wait for each other
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      const std::lock_guard lock(mutex_);
      clients_.push_back({fd, std::thread([this, fd] {
                            serve_(TcpClientOfTest(fd));
                            ::shutdown(fd, SHUT_RDWR);  // closed at the end: the number stays ours
                          })});
    }
  }

  Serve serve_;
  int listener_ = -1;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::list<Client> clients_;
  std::thread accepting_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_TCP_SERVER_FOR_TESTS_H_
