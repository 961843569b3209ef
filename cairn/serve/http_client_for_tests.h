// A blocking HTTP client that sends exactly the bytes it is given, for tests of the server.
#ifndef CAIRN_SERVE_HTTP_CLIENT_FOR_TESTS_H_
#define CAIRN_SERVE_HTTP_CLIENT_FOR_TESTS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace cairn {

class RawClient {
 public:
  explicit RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    connected_ =
        connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { Close(); }
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  RawClient& operator=(RawClient&&) = delete;

  bool connected() const { return connected_; }
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Says that no more will come.
  void EndSending() { shutdown(socket_, SHUT_WR); }
  void Close() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }
  // Until the text is in it, or the server has closed.
  std::string ReadUntil(std::string_view end) {
    while (received_.find(end) == std::string::npos && ReadSome()) {
    }
    const size_t at = received_.find(end);
    const size_t size = at == std::string::npos ? received_.size() : at + end.size();
    std::string text = received_.substr(0, size);
    received_.erase(0, size);
    return text;
  }
  std::string ReadAll() {
    while (ReadSome()) {
    }
    return std::exchange(received_, {});
  }

 private:
  bool ReadSome() {
    char buffer[4096];
    const ssize_t got = recv(socket_, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    received_.append(buffer, static_cast<size_t>(got));
    return true;
  }

  int socket_;
  bool connected_ = false;
  std::string received_;
};

}  // namespace cairn

#endif  // CAIRN_SERVE_HTTP_CLIENT_FOR_TESTS_H_
