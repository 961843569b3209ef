#include "cairn/state/redis_connection.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/base/env.h"
#include "cairn/base/tcp_server_for_tests.h"

namespace cairn {
namespace {

void Feed(RedisReader& reader, std::string_view text) {
  reader.Feed(std::as_bytes(std::span(text)));
}

RedisReply One(std::string_view text) {
  RedisReader reader;
  Feed(reader, text);
  auto reply = reader.Next();
  REQUIRE(reply);
  REQUIRE(*reply);
  return **reply;
}

bool IsRefused(std::string_view text) {
  RedisReader reader;
  Feed(reader, text);
  return !reader.Next().has_value();
}

TEST_CASE("every kind of reply is read") {
  CHECK(One("+OK\r\n").IsStatus("OK"));
  CHECK(One("-ERR no\r\n").IsError());
  CHECK(One("-ERR no\r\n").text == "ERR no");
  CHECK(One(":-12\r\n").integer == -12);
  CHECK(One("$-1\r\n").kind == RedisReply::Kind::kNil);
  CHECK(One("*-1\r\n").kind == RedisReply::Kind::kNil);
  const RedisReply text = One(std::string_view("$5\r\na\0\r\nb\r\n", 11));
  CHECK(text.kind == RedisReply::Kind::kString);
  CHECK(text.text == std::string_view("a\0\r\nb", 5));
  const RedisReply nested = One("*3\r\n*2\r\n$1\r\na\r\n:7\r\n*0\r\n$0\r\n\r\n");
  REQUIRE(nested.items.size() == 3);
  CHECK(nested.items[0].items[0].text == "a");
  CHECK(nested.items[0].items[1].integer == 7);
  CHECK(nested.items[1].items.empty());
  CHECK(nested.items[2].kind == RedisReply::Kind::kString);
}

TEST_CASE("replies that come byte by byte, several at once, are the same") {
  const std::string_view stream = "+OK\r\n*2\r\n$3\r\nabc\r\n:1\r\n-no\r\n";
  RedisReader reader;
  std::vector<RedisReply> replies;
  for (size_t i = 0; i < stream.size(); ++i) {
    Feed(reader, stream.substr(i, 1));
    while (true) {
      auto reply = reader.Next();
      REQUIRE(reply);
      if (!*reply) break;
      replies.push_back(**reply);
    }
  }
  REQUIRE(replies.size() == 3);
  CHECK(replies[1].items[0].text == "abc");
  CHECK(replies[2].text == "no");
}

TEST_CASE("what is no reply, or asks for more memory than a reply may have, is refused") {
  CHECK(IsRefused("HTTP/1.1 400 Bad Request\r\n"));
  CHECK(IsRefused("$-2\r\n"));
  CHECK(IsRefused("$x\r\n"));
  CHECK(IsRefused(":12a\r\n"));
  CHECK(IsRefused("*2000000000\r\n"));
  CHECK(IsRefused("*99999999999999999999\r\n"));
  std::string wide = "*60000\r\n";  // each is small; together they are not
  for (int i = 0; i < 60'000; ++i) wide += "*1000\r\n";
  CHECK(IsRefused(wide));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "*1\r\n";
  CHECK(IsRefused(deep));
  RedisReader reader;
  const std::string part(1 << 20, 'x');
  Feed(reader, "$9000000000\r\n");
  bool refused = false;
  for (int i = 0; i < 20 && !refused; ++i) {
    Feed(reader, part);
    refused = !reader.Next();
  }
  CHECK(refused);
}

TEST_CASE("commands are encoded as arrays of strings, pieces included") {
  RedisCommands commands;
  commands.Add({"GET", "a"});
  commands.Begin(3);
  commands.Text("SET");
  commands.Text("k");
  const std::string_view one = "xy";
  const std::string_view two = "z";
  const std::span<const std::byte> pieces[] = {
      std::as_bytes(std::span(one)), {}, std::as_bytes(std::span(two))};
  commands.Pieces(pieces);
  commands.Add({"PING"});
  std::string sent;
  for (const auto& piece : commands.Encoded()) {
    sent.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  CHECK(sent ==
        "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\nxyz\r\n"
        "*1\r\n$4\r\nPING\r\n");
  CHECK(commands.bytes() == sent.size());
  CHECK(commands.count() == 3);
}

TEST_CASE("who is not let in says so in the server's words, without the password") {
  std::string received;
  const TcpServer server([&](const TcpClientOfTest& client) {
    received = client.Receive();
    client.Send("-WRONGPASS invalid\x01 pair\r\n-NOAUTH Authentication required.\r\n-NOAUTH\r\n");
    client.Hang();
  });
  RedisUrl url;
  url.host = "127.0.0.1";
  url.port = server.port();
  url.user = "me";
  url.password = "secret";
  url.database = 2;
  const auto opened = RedisConnection::Open(url, NowMicroseconds() + 5'000'000);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message.find("WRONGPASS invalid? pair") != std::string::npos);
  CHECK(opened.error().message.find("secret") == std::string::npos);
  CHECK(received.starts_with("*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n*2\r\n$6\r\nSELECT"));
}

TEST_CASE("a reply that comes a byte at a time, for ever, ends at the deadline") {
  std::atomic<bool> done = false;
  const TcpServer server([&](const TcpClientOfTest& client) {
    client.Send("+");
    while (!done && client.Send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  RedisUrl url;
  url.host = "127.0.0.1";
  url.port = server.port();
  const int64_t begin_us = NowMicroseconds();
  CHECK_FALSE(RedisConnection::Open(url, begin_us + 100'000));
  CHECK(NowMicroseconds() - begin_us < 3'000'000);
  done = true;
}

TEST_CASE("words of a server are printed on one line and not without end") {
  CHECK(Printable("a\r\nb\x7f\xff") == "a??b??");
  CHECK(Printable(std::string(10'000, 'x')).size() == 200);
}

}  // namespace
}  // namespace cairn
