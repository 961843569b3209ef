#include "cairn/base/socket.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/base/tcp_server_for_tests.h"

namespace cairn {
namespace {

int64_t In(int64_t milliseconds) { return NowMicroseconds() + milliseconds * 1000; }

Status SendText(Socket& socket, std::string_view text, int64_t deadline_us) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return socket.Send(std::span(&bytes, 1), deadline_us);
}

TEST_CASE("pieces of any number and length arrive one behind the other, and so does the answer") {
  const TcpServer server([](const TcpClientOfTest& client) {
    while (true) {
      const std::string bytes = client.Receive();
      if (bytes.empty() || !client.Send(bytes)) return;
    }
  });
  auto socket = Socket::Connect("127.0.0.1", server.port(), In(5000));
  REQUIRE(socket);
  std::vector<std::byte> sent(300'000);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 255);
  std::vector<std::byte> received;
  std::vector<std::byte> part(10'000);
  for (size_t at = 0; at < sent.size(); at += 3000) {  // little at a time: both sides must read
    std::vector<std::span<const std::byte>> pieces;
    for (size_t i = 0; i < 3000; i += 30) {
      pieces.emplace_back();
      pieces.push_back(std::span(sent).subspan(at + i, 30));
    }
    REQUIRE(socket->Send(pieces, In(5000)));
  }
  while (received.size() < sent.size()) {
    const auto got = socket->Receive(part, In(5000));
    REQUIRE(got);
    REQUIRE(*got > 0);
    received.insert(received.end(), part.begin(), part.begin() + static_cast<ptrdiff_t>(*got));
  }
  CHECK(received == sent);
}

TEST_CASE("a server that hangs costs no more than the deadline, whichever way the bytes go") {
  const TcpServer server([](const TcpClientOfTest& client) { client.Hang(); });
  auto socket = Socket::Connect("127.0.0.1", server.port(), In(5000));
  REQUIRE(socket);
  std::vector<std::byte> bytes(100);
  const int64_t begin_us = NowMicroseconds();
  const auto got = socket->Receive(bytes, In(50));
  REQUIRE_FALSE(got);
  CHECK(got.error().code == ErrorCode::kIo);
  CHECK(got.error().message.find("no answer in time") != std::string::npos);
  CHECK(got.error().message.starts_with("127.0.0.1:"));
  CHECK(NowMicroseconds() - begin_us < 2'000'000);
}

TEST_CASE("a server that takes nothing makes sending end at the deadline") {
  std::atomic<bool> done = false;
  const TcpServer server([&](const TcpClientOfTest&) {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  auto socket = Socket::Connect("127.0.0.1", server.port(), In(5000));
  REQUIRE(socket);
  const std::string much(64 << 20, 'x');
  const int64_t begin_us = NowMicroseconds();
  CHECK_FALSE(SendText(*socket, much, In(100)));
  CHECK(NowMicroseconds() - begin_us < 5'000'000);
  done = true;
}

TEST_CASE("a connection that the server closes reads as its end") {
  const TcpServer server([](const TcpClientOfTest& client) { client.Send("ab"); });
  auto socket = Socket::Connect("127.0.0.1", server.port(), In(5000));
  REQUIRE(socket);
  std::vector<std::byte> bytes(100);
  CHECK(*socket->Receive(bytes, In(5000)) == 2);
  CHECK(*socket->Receive(bytes, In(5000)) == 0);
}

TEST_CASE("refused connections and unknown hosts are errors that name the server") {
  uint16_t port = 0;
  {
    const TcpServer server([](const TcpClientOfTest&) {});
    port = server.port();
  }
  const auto refused = Socket::Connect("127.0.0.1", port, In(1000));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("refused") != std::string::npos);
  CHECK(refused.error().message.starts_with(fmt::format("127.0.0.1:{}: ", port)));
  const auto unknown = Socket::Connect("no host has spaces", 1, In(1000));
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message.find("cannot find the host") != std::string::npos);
}

}  // namespace
}  // namespace cairn
